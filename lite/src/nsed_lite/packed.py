"""Packed strings: strings of different lengths side by side, without any padding to compute on.

The longest string comes first, and the first symbols of all strings come before the second ones. So the symbols at one
place of all strings that have it are a slice, and rows of everything that belongs to strings stay in order:

    strings  c a t s     symbols  c a o | a t f | t | s
             a t         starts   0       3       6   7   8
             o f
"""

import ctypes
import sys
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import chain

import numpy as np

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Parameters of glibc's `mallopt`."""


def reuse_freed_memory() -> bool:
    """Let malloc keep what is freed, for good and for the whole process; whether that could be done (glibc only).

    Otherwise large arrays are given back to the system, and the next ones come from it page by page: transducing many
    words takes some percent more time. The command `nsed-lite` does this; a program decides for itself.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    return mallopt is not None and bool(mallopt(M_TRIM_THRESHOLD, 2**31 - 1) and mallopt(M_MMAP_MAX, 0))


class Packed:
    """Packed strings, from the longest to the shortest: `symbols` in one array, `starts[t]` where symbol t begins."""

    def __init__(self, strings: Sequence[Sequence[int]]) -> None:
        self.lengths = np.array([len(string) for string in strings], dtype=np.int64)
        width = int(self.lengths[0]) if len(strings) else 0
        counts = (self.lengths[:, None] > np.arange(width)).sum(0)
        self.starts = np.concatenate([[0], np.cumsum(counts)])
        self.symbols = np.empty(self.starts[-1], dtype=np.int64)
        self.symbols[self._places_in_order()] = list(chain.from_iterable(strings))

    @property
    def width(self) -> int:
        """Length of the longest string."""
        return len(self.starts) - 1

    def steps(self) -> Iterator[tuple[slice, int]]:
        """For each place its slice, and how many strings have it."""
        return ((slice(a, b), int(b - a)) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True))

    @cached_property
    def rows(self) -> np.ndarray:
        """String that each symbol is of."""
        return np.arange(self.starts[-1]) - self.starts[self.times]

    @cached_property
    def times(self) -> np.ndarray:
        """Place in its string of each symbol."""
        return np.repeat(np.arange(self.width), np.diff(self.starts))

    @cached_property
    def real(self) -> np.ndarray:
        """Mask of a table, strings by places: True where a string has a symbol."""
        return self.lengths[:, None] > np.arange(self.width)

    def padded(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors of symbols as a table, strings by places, with zeros after each string's end."""
        table = np.zeros((len(self.lengths), self.width, *vectors.shape[1:]), dtype=vectors.dtype)
        table[self.rows, self.times] = vectors
        return table

    def unpadded(self, table: np.ndarray) -> np.ndarray:
        """Vectors of symbols of such a table."""
        return table[self.rows, self.times]

    def _places_in_order(self) -> np.ndarray:
        """Where each symbol stands, one string after the other."""
        rows = np.repeat(np.arange(len(self.lengths)), self.lengths)
        times = np.arange(len(rows)) - np.repeat(np.cumsum(self.lengths) - self.lengths, self.lengths)
        return self.starts[times] + rows
