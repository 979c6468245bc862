"""Padded batches: from strings to tensors of symbol numbers, in batches of similar lengths."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from nsed.errors import TooLongError
from nsed.types import PAD, UNKNOWN, Lengths

BATCH_CELLS, MAX_CELLS = 2**17, 2**22
"""Batch size in lattice cells that are computed together, about, and the maximum of a single lattice."""


def at_place(pair: int) -> str:
    """Place of a pair in error messages: its number, from 0."""
    return f"at place {pair}"


def placed_in(rows: Sequence[int] | np.ndarray, place: Callable[[int], str] = at_place) -> Callable[[int], str]:
    """Place of a pair in error messages, where the pairs at hand are some rows of those that were given.

    >>> placed_in([3, 7])(1)
    'at place 7'
    """
    return lambda pair: place(int(rows[pair]))


class EncodedStrings:
    """Ragged array of many strings: symbol numbers and the places where each starts; a few bytes per symbol.

    >>> strings = EncodedStrings([[4, 5], [6]])
    >>> strings[0], strings.lengths.tolist(), strings.padded(np.array([1, 0])).tolist()
    ([4, 5], [2, 1], [[6, 0], [4, 5]])
    """

    def __init__(self, numbers: Iterable[Sequence[int]]) -> None:
        flat, starts = array("i"), array("q", [0])
        for one in numbers:
            flat.extend(one)
            starts.append(len(flat))
        self._set(np.asarray(flat, dtype=np.int32), np.asarray(starts, dtype=np.int64))

    @classmethod
    def of_flat(cls, flat: np.ndarray, lengths: np.ndarray) -> "EncodedStrings":
        """Encoded strings from all their numbers, one string after the other, and the length of each."""
        strings = cls.__new__(cls)
        strings._set(flat.astype(np.int32, copy=False), np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]))
        return strings

    def _set(self, flat: np.ndarray, starts: np.ndarray) -> None:
        self.flat, self.starts = flat, starts
        self.lengths: np.ndarray = np.diff(starts)
        """Symbols in each string."""
        self.longest = int(self.lengths.max(initial=0))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def chosen(self, rows: np.ndarray) -> "EncodedStrings":
        """Selected strings, any of them any number of times."""
        lengths = self.lengths[rows]
        before = np.repeat(self.starts[rows] - np.cumsum(lengths) + lengths, lengths)
        return EncodedStrings.of_flat(self.flat[before + np.arange(len(before))], lengths)

    def followed_by(self, others: "EncodedStrings") -> "EncodedStrings":
        """These strings, and then the others."""
        both = ((self.flat, others.flat), (self.lengths, others.lengths))
        return EncodedStrings.of_flat(*(np.concatenate(parts) for parts in both))

    def replaced(self, rows: np.ndarray, others: "EncodedStrings") -> "EncodedStrings":
        """These strings, but others in some rows."""
        order = np.arange(len(self))
        order[rows] = np.arange(len(self), len(self) + len(others))
        return self.followed_by(others).chosen(order)

    def turned(self) -> "EncodedStrings":
        """Reversed strings: the symbols of each from right to left."""
        last_and_first = np.repeat(self.starts[1:] + self.starts[:-1] - 1, self.lengths)
        return self._with(self.flat[last_and_first - np.arange(len(self.flat))])

    def renumbered(self, numbers: np.ndarray) -> "EncodedStrings":
        """The same strings under the numbers of another vocabulary: `numbers` has its number of each of ours."""
        return self._with(numbers[self.flat])

    def _with(self, flat: np.ndarray) -> "EncodedStrings":
        other = copy(self)
        other.flat = np.asarray(flat, dtype=np.int32)
        return other

    def __getitem__(self, row: int) -> list[int]:
        numbers: list[int] = self.flat[self.starts[row] : self.starts[row + 1]].tolist()
        return numbers

    @property
    def has_unknown(self) -> bool:
        """Out-of-vocabulary test: whether some symbol is not in the vocabulary."""
        return bool((self.flat == UNKNOWN).any())

    @property
    def unknown_rows(self) -> np.ndarray:
        """Rows of the strings that have out-of-vocabulary symbols."""
        return np.unique(np.searchsorted(self.starts, np.flatnonzero(self.flat == UNKNOWN), side="right") - 1)

    @property
    def different(self) -> int:
        """Number of different strings."""
        cuts = zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True)
        return len({self.flat[start:end].tobytes() for start, end in cuts})

    def width(self, rows: np.ndarray, *, multiple: int = 1) -> int:
        """Padded width of the chosen strings: a `multiple` of a number, or as long as the longest string of all."""
        rounded = -(-int(self.lengths[rows].max(initial=0)) // multiple) * multiple
        return min(rounded, self.longest)

    def padded(self, rows: np.ndarray) -> Int[Tensor, "batch width"]:
        """Padded tensor of the chosen strings, filled up with PAD to the longest of them."""
        lengths = self.lengths[rows]
        places = np.arange(self.width(rows))
        inside = places < lengths[:, None]
        at = np.where(inside, self.starts[rows][:, None] + places, 0)
        taken = self.flat[at] if len(self.flat) else np.zeros_like(at)
        return torch.from_numpy(np.where(inside, taken, PAD).astype(np.int64))


class PaddedStrings(NamedTuple):
    """Padded strings of one side of a batch: symbols, lengths, and perhaps categories (a language, a source).

    >>> PaddedStrings(torch.tensor([[4, 5], [6, PAD]]), lengths=torch.tensor([2, 1])).symbols.tolist()
    [[4, 5], [6, 0]]
    """

    symbols: Int[Tensor, "batch length"]
    lengths: Lengths
    category: Int[Tensor, " batch"] | None = None


class PairBatch(NamedTuple):
    """Padded batch of pairs as tensors, and which pairs they are.

    >>> EncodedPairs(EncodedStrings([[4, 5], [6]]), EncodedStrings([[7], [8]])).batch(np.array([1, 0]))
    PairBatch(rows=tensor([1, 0]), source=tensor([[6, 0], [4, 5]]), target=tensor([[8], [7]]), ...)
    """

    rows: Int[Tensor, " batch"]
    """Row indices: places of the pairs in the data, to put results back in order."""
    source: Int[Tensor, "batch n"]
    target: Int[Tensor, "batch m"]
    source_lengths: Lengths
    target_lengths: Lengths
    labels: Bool[Tensor, " batch"]
    """Match labels."""
    languages: Int[Tensor, "batch sides"]
    """Language ids, a column for sources and one for targets, or one for pairs; none where the model knows none."""

    @property
    def category(self) -> Int[Tensor, " batch"] | None:
        """Language of each pair, of a model that has one for both sides; None where it knows none."""
        return self.languages[:, 0] if self.languages.shape[1] else None

    def to(self, device: torch.device) -> "PairBatch":
        """Batch on another device."""
        return PairBatch(*(part.to(device, non_blocking=True) for part in self))

    @property
    def lengths(self) -> tuple[Lengths, Lengths]:
        """Lengths of sources and of targets."""
        return self.source_lengths, self.target_lengths

    @property
    def sides(self) -> tuple[PaddedStrings, PaddedStrings]:
        """Padded strings of both sides, with their languages."""
        of_source, of_target = self.languages.unbind(1) if self.languages.shape[1] else (None, None)
        return (
            PaddedStrings(self.source, self.source_lengths, of_source),
            PaddedStrings(self.target, self.target_lengths, of_target),
        )


class EncodedPairs:
    """Encoded pairs, with what is known of them; without labels all count as matches, without languages none.

    >>> pairs = EncodedPairs(EncodedStrings([[4, 5], [6]]), EncodedStrings([[7], [8, 9, 4]]))
    >>> len(pairs), pairs.sizes.tolist(), pairs.labels.tolist()
    (2, [3, 4], [True, True])
    """

    def __init__(
        self,
        source: EncodedStrings,
        target: EncodedStrings,
        *,
        labels: np.ndarray | None = None,
        languages: np.ndarray | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        self.source, self.target = source, target
        self.labels = np.ones(len(source), dtype=bool) if labels is None else labels
        """Whether each pair matches."""
        self.languages = np.zeros((len(source), 0), dtype=np.int64) if languages is None else languages
        """The languages' numbers, a column for sources and one for targets, one for both, or no column."""
        self.weights = weights
        """Loss weight of each pair, see `Pairs.weights`; None where all count alike."""

    def __len__(self) -> int:
        return len(self.source)

    def chosen(self, rows: np.ndarray) -> "EncodedPairs":
        """Selected pairs."""
        weights = None if self.weights is None else self.weights[rows]
        sides = (side.chosen(rows) for side in (self.source, self.target))
        return EncodedPairs(*sides, labels=self.labels[rows], languages=self.languages[rows], weights=weights)

    def turned(self) -> "EncodedPairs":
        """Pairs of reversed strings."""
        known = {"labels": self.labels, "languages": self.languages, "weights": self.weights}
        return EncodedPairs(self.source.turned(), self.target.turned(), **known)

    @property
    def sizes(self) -> np.ndarray:
        """Pair sizes: symbols of each pair, both strings together."""
        sizes: np.ndarray = self.source.lengths + self.target.lengths
        return sizes

    def batch(self, rows: np.ndarray) -> PairBatch:
        """Padded batch of the chosen pairs, no wider than they must be."""
        parts = (self.source.lengths, self.target.lengths, self.labels, self.languages)
        lengths_and_more = (torch.from_numpy(part[rows]) for part in parts)
        return PairBatch(torch.from_numpy(rows), self.source.padded(rows), self.target.padded(rows), *lengths_and_more)

    def joined(self, other: "EncodedPairs") -> "EncodedPairs":
        """These pairs and the others."""
        sides = (self.source.followed_by(other.source), self.target.followed_by(other.target))
        labels, languages = (
            np.concatenate(both) for both in ((self.labels, other.labels), (self.languages, other.languages))
        )
        return EncodedPairs(*sides, labels=labels, languages=languages)

    def reversed(self) -> "EncodedPairs":
        """The same pairs, from target to source."""
        return EncodedPairs(self.target, self.source, labels=self.labels, languages=self.languages[:, ::-1].copy())

    def batches(
        self, *, batch_cells: int = BATCH_CELLS, max_cells: int = MAX_CELLS, place: Callable[[int], str] = at_place
    ) -> "PairBatches":
        """Length-bucketed batches: all pairs, sorted by length; can be gone through any number of times.

        A batch's lattices have at most `batch_cells` cells together, unless a single pair needs more; a pair that needs
        more than `max_cells` raises `TooLongError`, which says its `place`.
        """
        heights, widths = self.source.lengths + 1, self.target.lengths + 1
        check_cells(heights, widths, max_cells, place=place)
        order = np.lexsort((self.target.lengths, self.source.lengths))
        cuts = _cuts(heights[order].tolist(), widths[order].tolist(), batch_cells)
        return PairBatches(self, np.split(order, cuts))


@dataclass(frozen=True)
class DistinctPairs:
    """Pairs of deduplicated strings: each different string encoded once, and which two strings each pair is of."""

    source: EncodedStrings
    target: EncodedStrings
    rows: tuple[np.ndarray, np.ndarray]
    """Row of each pair's source among the sources, and of its target among the targets."""
    languages: np.ndarray | None = None
    """Numbers of the languages, see `EncodedPairs.languages`."""

    @classmethod
    def of(cls, pairs: EncodedPairs) -> "DistinctPairs":
        """Encoded pairs, whose strings count as different."""
        rows = np.arange(len(pairs))
        return cls(pairs.source, pairs.target, (rows, rows), pairs.languages)

    def __len__(self) -> int:
        return len(self.rows[0])

    @property
    def lengths(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of each pair's source and target."""
        return self.source.lengths[self.rows[0]], self.target.lengths[self.rows[1]]

    @property
    def identical(self) -> np.ndarray:
        """Whether each pair's source and target have the same symbol numbers."""
        same: np.ndarray = np.equal(*self.lengths)
        places = np.flatnonzero(same)
        source, target = (
            side.chosen(rows[places]) for side, rows in zip((self.source, self.target), self.rows, strict=True)
        )
        differing = np.concatenate([[0], np.cumsum(source.flat != target.flat)])
        same[places] = differing[source.starts[1:]] == differing[source.starts[:-1]]
        return same

    def expanded(self) -> EncodedPairs:
        """Encoded pairs, with the strings of each."""
        sides = (side.chosen(rows) for side, rows in zip((self.source, self.target), self.rows, strict=True))
        return EncodedPairs(*sides, languages=self.languages)


class PairBatches:
    """Batch iterable over encoded pairs, cut when they are asked for.

    >>> pairs = EncodedPairs(EncodedStrings([[4, 5], [6], [7]]), EncodedStrings([[7], [8], [9]]))
    >>> batches: PairBatches = pairs.batches(batch_cells=8)
    >>> len(batches), [batch.rows.tolist() for batch in batches]
    (2, [[1, 2], [0]])
    """

    def __init__(self, pairs: EncodedPairs, rows: list[np.ndarray]) -> None:
        self._pairs, self._rows = pairs, rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[PairBatch]:
        return map(self._pairs.batch, self._rows)


class PairTable:
    """Device-resident pairs, so that batches are cut where the network is and not sent one by one."""

    def __init__(self, pairs: EncodedPairs, device: torch.device) -> None:
        self._pairs = pairs
        self._strings = [_on_device(strings, device) for strings in (pairs.source, pairs.target)]
        self._known = [torch.from_numpy(part).to(device) for part in (pairs.labels, pairs.languages)]

    def widths(self, rows: np.ndarray, *, multiple: int = 1) -> tuple[int, int]:
        """Padded widths of a batch of these pairs, see `EncodedStrings.width`."""
        source, target = self._pairs.source, self._pairs.target
        return source.width(rows, multiple=multiple), target.width(rows, multiple=multiple)

    def batch(self, rows: Int[Tensor, " batch"], widths: tuple[int, ...]) -> PairBatch:
        """Padded batch of the chosen pairs, of these widths; nothing waits for the device."""
        source, target = (_padded(strings, rows, width) for strings, width in zip(self._strings, widths, strict=True))
        return PairBatch(
            rows, source.symbols, target.symbols, source.lengths, target.lengths, *(part[rows] for part in self._known)
        )


class _Flat(NamedTuple):
    """Device copy of `EncodedStrings`."""

    flat: Int[Tensor, " symbols"]
    starts: Int[Tensor, " strings"]
    lengths: Lengths


def _on_device(strings: EncodedStrings, device: torch.device) -> _Flat:
    flat = strings.flat if len(strings.flat) else np.zeros(1, np.int32)  # so that every place can be looked at
    parts = (flat, strings.starts[:-1], strings.lengths)
    return _Flat(*(torch.from_numpy(np.array(part)).to(device) for part in parts))


def _padded(strings: _Flat, rows: Int[Tensor, " batch"], width: int) -> PaddedStrings:
    """Padded tensor of the chosen strings, filled up with PAD; nothing waits for the device."""
    places, lengths = torch.arange(width, device=rows.device), strings.lengths[rows]
    at = (strings.starts[rows][:, None] + places).clamp(max=len(strings.flat) - 1)
    return PaddedStrings(torch.where(places < lengths[:, None], strings.flat[at].long(), PAD), lengths)


def _cuts(heights: list[int], widths: list[int], batch_cells: int) -> list[int]:
    """Batch boundaries: where to begin a new batch, so that `pairs * highest * widest` stays within bounds."""
    cuts, first, highest, widest = [], 0, 0, 0
    for place, (height, width) in enumerate(zip(heights, widths, strict=True)):
        highest, widest = max(highest, height), max(widest, width)
        if place > first and (place - first + 1) * highest * widest > batch_cells:
            cuts.append(place)
            first, highest, widest = place, height, width
    return cuts


def check_cells(
    heights: np.ndarray,
    widths: np.ndarray,
    max_cells: int,
    *,
    name: str = "pairs",
    place: Callable[[int], str] = at_place,
    advice: str = "Shorten the strings, or raise max_cells: a cell takes 150 to 300 bytes.",
) -> None:
    """Lattice size check: raise `TooLongError` for the pair with the largest table, if that has too many cells."""
    if not len(heights) or (heights * widths).max() <= max_cells:
        return
    pair = int((heights * widths).argmax())
    height, width = int(heights[pair]), int(widths[pair])
    raise TooLongError(
        name,
        got=f"{height - 1:,} x {width - 1:,} symbols {place(pair)}, a table of {height * width:,} cells",
        expected=f"at most {max_cells:,} cells",
        advice=advice,
    )
