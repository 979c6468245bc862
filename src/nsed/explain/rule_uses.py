"""Operation posteriors of a batch of lattices, as flat arrays: operation, neighbours, how probable, in which pair."""

from typing import NamedTuple

import numpy as np

from nsed.lattice import EditLattice
from nsed.types import END, PAD, REACHABLE, START

LEAST = 1e-7
"""Minimum posterior: what is below is rounding."""


class Uses(NamedTuple):
    """Operation uses: columns of equal length, a row per operation and place.

    `source` is PAD for an insertion, `target` for a deletion; `left` and `right` are the neighbours in the source,
    START and END at its edges. `pair` is a row of the batch, `i` and `j` the symbols before the operation.
    """

    source: np.ndarray
    target: np.ndarray
    left: np.ndarray
    right: np.ndarray
    weight: np.ndarray
    pair: np.ndarray
    i: np.ndarray
    j: np.ndarray

    def where(self, chosen: np.ndarray) -> "Uses":
        """Row selection: a mask, or their places in a new order."""
        return Uses(*(column[chosen] for column in self))


def with_edges(source: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Edge symbols around each padded source, START and END: symbol i, from 1, stands in column i."""
    framed = np.pad(source, ((0, 0), (1, 1)), constant_values=PAD)
    framed[:, 0] = START
    framed[np.arange(len(framed)), lengths + 1] = END
    return framed


def uses_of(lattice: EditLattice, framed: np.ndarray, target: np.ndarray) -> Uses:
    """Operation uses of a batch of lattices, with their posteriors."""
    tables = [table.detach().cpu().double().numpy() for table in lattice.posteriors]
    deleted, inserted, substituted = tables
    parts = [_deletions(deleted, framed), _insertions(inserted, framed, target)]
    parts.append(_substitutions(substituted, framed, target))
    return Uses(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def derivable(lattice: EditLattice) -> np.ndarray:
    """Derivability mask: which pairs of the batch some operations make."""
    reached: np.ndarray = (lattice.log_prob > REACHABLE).cpu().numpy()
    return reached


def opportunities_of(framed: np.ndarray, lengths: np.ndarray) -> Uses:
    """Opportunities: every source symbol between its neighbours and (source PAD) every place between symbols, once."""
    symbol_pair, i = np.nonzero(np.arange(1, framed.shape[1] - 1) <= lengths[:, None])
    symbols = framed[symbol_pair, i], framed[symbol_pair, i + 1], framed[symbol_pair, i + 2]
    gap_pair, gap = np.nonzero(np.arange(framed.shape[1] - 1) <= lengths[:, None])
    gaps = framed[gap_pair, gap], framed[gap_pair, gap + 1]
    count = len(i) + len(gap)
    return Uses(
        np.concatenate([symbols[1], np.full(len(gap), PAD)]),
        np.full(count, PAD),
        np.concatenate([symbols[0], gaps[0]]),
        np.concatenate([symbols[2], gaps[1]]),
        np.ones(count),
        np.concatenate([symbol_pair, gap_pair]),
        np.concatenate([i, gap]),
        np.zeros(count, dtype=np.int64),
    )


def _deletions(posteriors: np.ndarray, framed: np.ndarray) -> Uses:
    """Deletions, a row per source symbol, however much of the target is written: `j` is the most probable place."""
    total = posteriors.sum(2)
    pair, i = np.nonzero(total > LEAST)
    j, nothing = posteriors[pair, i].argmax(1), np.full(len(pair), PAD)
    neighbours = framed[pair, i - 1], framed[pair, i + 1]
    return Uses(framed[pair, i], nothing, *neighbours, total[pair, i], pair, i - 1, j)


def _insertions(posteriors: np.ndarray, framed: np.ndarray, target: np.ndarray) -> Uses:
    pair, i, j = np.nonzero(posteriors > LEAST)
    nothing, neighbours = np.full(len(pair), PAD), (framed[pair, i], framed[pair, i + 1])
    return Uses(nothing, target[pair, j - 1], *neighbours, posteriors[pair, i, j], pair, i, j - 1)


def _substitutions(posteriors: np.ndarray, framed: np.ndarray, target: np.ndarray) -> Uses:
    pair, i, j = np.nonzero(posteriors > LEAST)
    neighbours = framed[pair, i - 1], framed[pair, i + 1]
    return Uses(framed[pair, i], target[pair, j - 1], *neighbours, posteriors[pair, i, j], pair, i - 1, j - 1)
