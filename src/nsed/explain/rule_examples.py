"""The pairs that show an operation best, found while batches pass by."""

from typing import NamedTuple

import numpy as np

CLEAR = 0.05
"""An operation of lower posterior is no example of itself."""
DIGITS = 2
"""Posteriors that differ less are alike: then a source of usual length is the better example, else any one."""
MIXER = 2654435761
"""Odd, so that pairs keep different numbers: examples come from all over the data and not from its beginning."""
MOST_PENDING = 2**20


class Shown(NamedTuple):
    """Columns of equal length: numbers of operation and word, how unusual its length is, pair, place, posterior."""

    operation: np.ndarray
    word: np.ndarray
    unusual: np.ndarray
    pair: np.ndarray
    i: np.ndarray
    j: np.ndarray
    weight: np.ndarray

    def where(self, chosen: np.ndarray) -> "Shown":
        """Some of the rows: a mask, or their places in a new order."""
        return Shown(*(column[chosen] for column in self))


class BestExamples:
    """Keeps, of each operation, the `most` best examples of different words."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parts: list[Shown] = []
        self._pending = 0

    def add(self, shown: Shown) -> None:
        """More candidates."""
        self._parts.append(best_of(shown.where(shown.weight >= CLEAR), self._most))
        self._pending += len(self._parts[-1].pair)
        if self._pending > MOST_PENDING:
            self._parts, self._pending = [self.best()], 0

    def best(self) -> Shown:
        """The best so far, operation by operation, best first."""
        if not self._parts:
            nothing = np.zeros(0, dtype=np.int64)
            return Shown(nothing, nothing, nothing, nothing, nothing, nothing, np.zeros(0))
        return best_of(Shown(*(np.concatenate(columns) for columns in zip(*self._parts, strict=True))), self._most)


def best_of(shown: Shown, most: int) -> Shown:
    """The `most` best rows of each operation, one per word."""
    quality, anyhow = -shown.weight.round(DIGITS), shown.pair * MIXER % 2**32
    order = np.lexsort((shown.j, shown.i, anyhow, shown.unusual, quality, shown.operation))
    shown = shown.where(order)
    _, first = np.unique(np.stack([shown.operation, shown.word]), axis=1, return_index=True)
    shown = shown.where(np.sort(first))
    starts = np.searchsorted(shown.operation, shown.operation)
    return shown.where(np.arange(len(shown.pair)) - starts < most)
