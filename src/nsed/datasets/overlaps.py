"""Split overlaps: pairs, concepts and cognate classes that the parts of a data set have in common."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nsed.datasets.word_list import Word
from nsed.text import Pairs
from nsed.text.texts import Texts

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
