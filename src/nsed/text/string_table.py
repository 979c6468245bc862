"""Encoded strings where a network is, so that batches are cut there and not sent one by one."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nsed.text.batch import EncodedStrings, PairBatch
from nsed.types import PAD, Lengths


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
