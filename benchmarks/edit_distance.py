"""EM over a million pairs: seconds per iteration, scores, scripts and peak memory of the table of operations."""

import resource
import time
from itertools import pairwise

from benchmarks.data import words
from benchmarks.figures import Report, figure
from benchmarks.setting import Setting
from benchmarks.timing import rates
from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance
from nsed.text import Pairs

PAIRS = 1_000_000


def measure(setting: Setting) -> Report:
    """Three iterations over words, repeated to a million; then scores and scripts."""
    known, count = words(setting).pairs, 3000 if setting.quick else PAIRS
    repeats = count // len(known) + 1
    pairs = Pairs((list(known.sources) * repeats)[:count], (list(known.targets) * repeats)[:count])
    ends = [time.perf_counter()]
    model = LearnableEditDistance.fit(
        pairs,
        config=EditDistanceConfig(target_symbols="tokens", iterations=3, tolerance=0.0),
        on_iteration=lambda _: ends.append(time.perf_counter()),
    )
    first, *further = (after - before for before, after in pairwise(ends))
    scored = rates(count, lambda: model.score(pairs), setting, rounds=1)
    aligned = rates(len(known), lambda: model.align_all(known), setting, rounds=1)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    figures = {
        "reading and the first iteration": figure([first], "s"),
        "a further iteration": figure(further, "s"),
        "scores, from strings": figure(scored, "pairs/s"),
        "scripts": figure(aligned, "scripts/s"),
        "peak memory of the whole process": figure([most], "MiB"),
    }
    return {"pairs": count, "data": words(setting).origin, "figures": figures}
