"""From strings to padded tensors of symbol numbers, in batches of similar lengths."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nsed.errors import TooLongError
from nsed.types import PAD, UNKNOWN, Lengths


class EncodedStrings:
    """Many strings as one array of symbol numbers and the places where each starts: a few bytes per symbol."""

    def __init__(self, numbers: Iterable[Sequence[int]]) -> None:
        flat, starts = array("i"), array("q", [0])
        for one in numbers:
            flat.extend(one)
            starts.append(len(flat))
        self.flat, self.starts = np.asarray(flat, dtype=np.int32), np.asarray(starts, dtype=np.int64)
        self.lengths: np.ndarray = np.diff(self.starts)
        """Symbols in each string."""
        self.longest = int(self.lengths.max(initial=0))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, row: int) -> list[int]:
        numbers: list[int] = self.flat[self.starts[row] : self.starts[row + 1]].tolist()
        return numbers

    @property
    def has_unknown(self) -> bool:
        """Whether some symbol is not in the vocabulary."""
        return bool((self.flat == UNKNOWN).any())

    def width(self, rows: np.ndarray, *, multiple: int = 1) -> int:
        """Of the longest of the chosen strings: a `multiple` of a number, or as long as the longest string of all."""
        rounded = -(-int(self.lengths[rows].max(initial=0)) // multiple) * multiple
        return min(rounded, self.longest)

    def padded(self, rows: np.ndarray) -> Int[Tensor, "batch width"]:
        """The chosen strings, filled up with PAD to the longest of them."""
        lengths = self.lengths[rows]
        places = np.arange(self.width(rows))
        inside = places < lengths[:, None]
        at = np.where(inside, self.starts[rows][:, None] + places, 0)
        taken = self.flat[at] if len(self.flat) else np.zeros_like(at)
        return torch.from_numpy(np.where(inside, taken, PAD).astype(np.int64))


class PairBatch(NamedTuple):
    """Some pairs as tensors, and which pairs they are."""

    rows: Int[Tensor, " batch"]
    """Places of the pairs in the data, to put results back in order."""
    source: Int[Tensor, "batch n"]
    target: Int[Tensor, "batch m"]
    source_lengths: Lengths
    target_lengths: Lengths

    def to(self, device: torch.device) -> "PairBatch":
        """The same on another device."""
        return PairBatch(*(part.to(device, non_blocking=True) for part in self))


def batch_of(source: EncodedStrings, target: EncodedStrings, rows: np.ndarray) -> PairBatch:
    """The chosen pairs as tensors."""
    return PairBatch(
        torch.from_numpy(rows),
        source.padded(rows),
        target.padded(rows),
        torch.from_numpy(source.lengths[rows]),
        torch.from_numpy(target.lengths[rows]),
    )


class PairBatches:
    """All pairs, sorted by length, in batches; can be gone through any number of times.

    A batch's lattices have at most `batch_cells` cells together, unless a single pair needs more; a pair that needs
    more than `max_cells` raises `TooLongError`.
    """

    def __init__(self, source: EncodedStrings, target: EncodedStrings, *, batch_cells: int, max_cells: int) -> None:
        self._source, self._target = source, target
        heights, widths = source.lengths + 1, target.lengths + 1
        check_cells(heights, widths, max_cells)
        order = np.lexsort((target.lengths, source.lengths))
        self._rows = np.split(order, _cuts(heights[order].tolist(), widths[order].tolist(), batch_cells))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[PairBatch]:
        for rows in self._rows:
            yield batch_of(self._source, self._target, rows)


def _cuts(heights: list[int], widths: list[int], batch_cells: int) -> list[int]:
    """Where to begin a new batch, so that `pairs * highest * widest` stays within bounds."""
    cuts, first, highest, widest = [], 0, 0, 0
    for place, (height, width) in enumerate(zip(heights, widths, strict=True)):
        highest, widest = max(highest, height), max(widest, width)
        if place > first and (place - first + 1) * highest * widest > batch_cells:
            cuts.append(place)
            first, highest, widest = place, height, width
    return cuts


def check_cells(heights: np.ndarray, widths: np.ndarray, max_cells: int) -> None:
    """Raise `TooLongError` for the pair with the largest table, if that has too many cells."""
    if not len(heights) or (heights * widths).max() <= max_cells:
        return
    pair = int((heights * widths).argmax())
    height, width = int(heights[pair]), int(widths[pair])
    raise TooLongError(
        "pairs",
        got=f"{height - 1:,} x {width - 1:,} symbols at place {pair}, a table of {height * width:,} cells",
        expected=f"at most {max_cells:,} cells",
        advice="Shorten the strings, or raise max_cells: a cell takes about 100 bytes.",
    )


class StringTable(NamedTuple):
    """Many strings as one row of symbol numbers, the places where each starts, and how long each is."""

    flat: Int[Tensor, " symbols"]
    starts: Int[Tensor, " strings"]
    lengths: Lengths

    @classmethod
    def of(cls, strings: EncodedStrings, device: torch.device) -> "StringTable":
        """The same strings on a device."""
        flat = strings.flat if len(strings.flat) else np.zeros(1, np.int32)  # so that every place can be looked at
        parts = (flat, strings.starts[:-1], strings.lengths)
        return cls(*(torch.from_numpy(np.array(part)).to(device) for part in parts))

    def padded(self, rows: Int[Tensor, " batch"], width: int) -> Int[Tensor, "batch {width}"]:
        """The chosen strings, filled up with PAD; nothing waits for the device."""
        places = torch.arange(width, device=rows.device)
        at = (self.starts[rows][:, None] + places).clamp(max=len(self.flat) - 1)
        return torch.where(places < self.lengths[rows][:, None], self.flat[at].long(), PAD)


class PairTable:
    """Pairs of strings where a network is, and batches of them."""

    def __init__(self, source: EncodedStrings, target: EncodedStrings, device: torch.device) -> None:
        self._source, self._target = source, target
        self._tables = StringTable.of(source, device), StringTable.of(target, device)

    @property
    def sizes(self) -> np.ndarray:
        """Symbols of each pair, both strings together."""
        sizes: np.ndarray = self._source.lengths + self._target.lengths
        return sizes

    def widths(self, rows: np.ndarray, *, multiple: int = 1) -> tuple[int, int]:
        """Of a batch of these pairs, see `EncodedStrings.width`."""
        return self._source.width(rows, multiple=multiple), self._target.width(rows, multiple=multiple)

    def batch(self, rows: Int[Tensor, " batch"], widths: tuple[int, ...]) -> PairBatch:
        """The chosen pairs, padded to these widths; nothing waits for the device."""
        source, target = (table.padded(rows, width) for table, width in zip(self._tables, widths, strict=True))
        return PairBatch(rows, source, target, *(table.lengths[rows] for table in self._tables))
