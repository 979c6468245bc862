"""Statistics of rules: sums by key, the best examples, and G² tests, whether two shares differ by more than chance."""

from math import erfc, sqrt
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

MOST_PENDING = 2**22
"""Buffer size: keys that may wait to be added up."""


class Sums(NamedTuple):
    """Grouped sums: different keys in ascending order, and the sum of each."""

    keys: np.ndarray
    values: np.ndarray

    def of(self, keys: np.ndarray) -> np.ndarray:
        """Sums of chosen keys, 0 for those that never came."""
        if not len(self.keys):
            return np.zeros(len(keys))
        places = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.values[places], 0.0)

    def grouped(self, keys: np.ndarray) -> "Sums":
        """Sums regrouped under coarser keys."""
        return summed(keys, self.values)


class KeyedSums:
    """Sum accumulator: adds weights to whole arrays of keys at a time."""

    def __init__(self) -> None:
        self._parts: list[Sums] = []
        self._pending = 0

    def add(self, keys: np.ndarray, weights: np.ndarray) -> None:
        """Add a weight to each key; the same key may come several times."""
        self._parts.append(summed(keys, weights))
        self._pending += len(self._parts[-1].keys)
        if self._pending > MOST_PENDING:
            self._parts, self._pending = [self.total()], 0

    def total(self) -> Sums:
        """Sums of what has been added so far."""
        if not self._parts:
            return Sums(np.zeros(0, dtype=np.int64), np.zeros(0))
        return summed(*(np.concatenate(columns) for columns in zip(*self._parts, strict=True)))


def summed(keys: np.ndarray, weights: np.ndarray) -> Sums:
    """Group-by sum of each different key.

    >>> summed(np.array([7, 3, 7]), np.array([0.5, 1.0, 0.25]))
    Sums(keys=array([3, 7]), values=array([1.  , 0.75]))
    """
    different, places = np.unique(keys, return_inverse=True)
    return Sums(different, np.bincount(places, weights, minlength=len(different)).astype(float))


CLEAR = 0.05
"""Minimum posterior of an example: an operation of a lower one is no example of itself."""
DIGITS = 2
"""Rounding digits: posteriors that differ less are alike; then a source of usual length is the better example."""
MIXER = 2654435761
"""Hash multiplier, odd, so that pairs keep different numbers: examples come from all over the data."""
MOST_PENDING_EXAMPLES = 2**20


class Shown(NamedTuple):
    """Example columns of equal length: operation, word, how unusual its length is, pair, place, posterior."""

    operation: np.ndarray
    word: np.ndarray
    unusual: np.ndarray
    pair: np.ndarray
    i: np.ndarray
    j: np.ndarray
    weight: np.ndarray

    def where(self, chosen: np.ndarray) -> "Shown":
        """Row selection: a mask, or their places in a new order."""
        return Shown(*(column[chosen] for column in self))


class BestExamples:
    """Top-k examples: of each operation, the `most` best ones of different words."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[Shown] = []
        self._pending = 0

    def add(self, shown: Shown) -> None:
        """Add candidates."""
        self._parts.append(best_of(shown.where(shown.weight >= CLEAR), self._most))
        self._pending += len(self._parts[-1].pair)
        if self._pending > MOST_PENDING_EXAMPLES:
            self._parts, self._pending = [self.best()], 0

    def best(self) -> Shown:
        """Top-k examples so far, operation by operation, best first."""
        if not self._parts:
            nothing = np.zeros(0, dtype=np.int64)
            return Shown(nothing, nothing, nothing, nothing, nothing, nothing, np.zeros(0))
        return best_of(Shown(*(np.concatenate(columns) for columns in zip(*self._parts, strict=True))), self._most)


def best_of(shown: Shown, most: int) -> Shown:
    """Top-k rows of each operation, one per word."""
    quality, anyhow = -shown.weight.round(DIGITS), shown.pair * MIXER % 2**32
    order = np.lexsort((shown.j, shown.i, anyhow, shown.unusual, quality, shown.operation))
    shown = shown.where(order)
    _, first = np.unique(np.stack([shown.operation, shown.word]), axis=1, return_index=True)
    shown = shown.where(np.sort(first))
    starts = np.searchsorted(shown.operation, shown.operation)
    return shown.where(np.arange(len(shown.pair)) - starts < most)


Numbers = Float[np.ndarray, " n"]


def g_squared(count: Numbers, tries: Numbers, other_count: Numbers, other_tries: Numbers) -> Numbers:
    """G² (log-likelihood ratio) of each `count` out of `tries` against the other; 0 where one side has no tries.

    Twice the log-likelihood of two proportions above that of a single one; one degree of freedom. Counts may be
    expectations. Half of the tries against none of as many:

    >>> one = np.ones(1)
    >>> g_squared(10 * one, 20 * one, 0 * one, 20 * one).round(2)
    array([17.26])
    """
    count, other_count = np.minimum(count, tries), np.minimum(other_count, other_tries)
    together = (count + other_count) / np.maximum(tries + other_tries, 1e-300)
    parts = [
        _part(count, tries * together),
        _part(tries - count, tries * (1 - together)),
        _part(other_count, other_tries * together),
        _part(other_tries - other_count, other_tries * (1 - together)),
    ]
    return np.asarray(np.maximum(2 * np.sum(parts, axis=0), 0.0))


def chance(g2: float) -> float:
    """P-value of a G², how probable so large a one is by chance; one degree of freedom.

    >>> round(chance(3.84), 3), round(chance(10.83), 4)
    (0.05, 0.001)
    """
    return erfc(sqrt(g2 / 2))


def _part(observed: Numbers, expected: Numbers) -> Numbers:
    """G² summand: `observed * log(observed / expected)`, which is 0 where nothing was observed."""
    positive = (observed > 0) & (expected > 0)
    ratio = np.divide(observed, expected, out=np.ones_like(observed), where=positive)
    return np.where(positive, observed * np.log(ratio), 0.0)
