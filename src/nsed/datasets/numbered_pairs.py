"""Pairs as numbers, so that millions of them are compared quickly."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from nsed.text import Pairs

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class NumberedPairs:
    """Rows of sources and targets; the same number is the same string, in all parts that were numbered together."""

    sources: Numbers
    targets: Numbers
    labels: Flags | None
    all_strings: int
    """How many different strings there are in all parts."""

    @cached_property
    def keys(self) -> Numbers:
        """A number for each pair."""
        return self.sources * self.all_strings + self.targets

    @cached_property
    def reversed_keys(self) -> Numbers:
        """The number of each pair's reverse."""
        return self.targets * self.all_strings + self.sources

    @cached_property
    def unordered_keys(self) -> Numbers:
        """A number for each pair that is also its reverse's."""
        return np.minimum(self.keys, self.reversed_keys)

    @cached_property
    def sorted_keys(self) -> Numbers:
        """The pairs' numbers in order, where others are found quickly."""
        return np.sort(self.keys)

    @cached_property
    def has_source(self) -> Flags:
        """For each string of all parts, whether it is a source here."""
        return _marked(self.sources, self.all_strings)

    @cached_property
    def has_string(self) -> Flags:
        """For each string of all parts, whether it is here."""
        return self.has_source | _marked(self.targets, self.all_strings)

    def sorted_with(self, label: bool) -> Numbers:
        """The unordered keys of all pairs with this label, in order."""
        return np.sort(self.unordered_keys[self.labels == label])


def number_together(parts: Sequence[Pairs]) -> list[NumberedPairs]:
    """The same numbers for the same strings in all parts.

    >>> one, other = number_together([Pairs(["a"], ["b"]), Pairs(["b"], ["a"])])
    >>> one.keys == other.reversed_keys
    array([ True])
    """
    numbers: dict[str, int] = {}
    columns = [(_numbered(pairs.sources, numbers), _numbered(pairs.targets, numbers)) for pairs in parts]
    labels = [None if pairs.labels is None else np.array(pairs.labels, dtype=bool) for pairs in parts]
    return [NumberedPairs(*both, label, len(numbers)) for both, label in zip(columns, labels, strict=True)]


def among(keys: Numbers, ordered: Numbers) -> Flags:
    """For each key whether it is one of those in order; much faster than `np.isin` where these are many.

    >>> among(np.array([3, 1, 9]), np.array([1, 2, 3]))
    array([ True,  True, False])
    """
    if not len(ordered):
        return np.zeros(len(keys), dtype=bool)
    places = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    found: Flags = ordered[places] == keys
    return found


def _numbered(column: Sequence[str], numbers: dict[str, int]) -> Numbers:
    return np.fromiter((numbers.setdefault(text, len(numbers)) for text in column), np.int64, len(column))


def _marked(places: Numbers, size: int) -> Flags:
    marks = np.zeros(size, dtype=bool)
    marks[places] = True
    return marks
