"""Sums by key, for more keys than a dense table could hold."""

from typing import NamedTuple

import numpy as np

MOST_PENDING = 2**22
"""Keys that may wait to be added up."""


class Sums(NamedTuple):
    """Different keys in ascending order, and the sum of each."""

    keys: np.ndarray
    values: np.ndarray

    def of(self, keys: np.ndarray) -> np.ndarray:
        """The sums of chosen keys, 0 for those that never came."""
        if not len(self.keys):
            return np.zeros(len(keys))
        places = np.searchsorted(self.keys, keys).clip(max=len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.values[places], 0.0)

    def grouped(self, keys: np.ndarray) -> "Sums":
        """The same sums under coarser keys."""
        return summed(keys, self.values)


class KeyedSums:
    """Adds weights to whole arrays of keys at a time."""

    def __init__(self) -> None:
        self._parts: list[Sums] = []
        self._pending = 0

    def add(self, keys: np.ndarray, weights: np.ndarray) -> None:
        """A weight to each key; the same key may come several times."""
        self._parts.append(summed(keys, weights))
        self._pending += len(self._parts[-1].keys)
        if self._pending > MOST_PENDING:
            self._parts, self._pending = [self.total()], 0

    def total(self) -> Sums:
        """What has been added so far."""
        if not self._parts:
            return Sums(np.zeros(0, dtype=np.int64), np.zeros(0))
        return summed(*(np.concatenate(columns) for columns in zip(*self._parts, strict=True)))


def summed(keys: np.ndarray, weights: np.ndarray) -> Sums:
    """The sum of each different key.

    >>> summed(np.array([7, 3, 7]), np.array([0.5, 1.0, 0.25]))
    Sums(keys=array([3, 7]), values=array([1.  , 0.75]))
    """
    different, places = np.unique(keys, return_inverse=True)
    return Sums(different, np.bincount(places, weights, minlength=len(different)).astype(float))
