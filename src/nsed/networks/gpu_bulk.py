"""Match scores of many pairs on a GPU: every string is encoded once, a pair costs its cells.

Pairs are sorted by their lengths on the device. Where there are few different vectors, as in a network without context,
all their scores are a table, and one kernel looks them up and does the lattice; else pairs of equal lengths go through
pair features, arcs and lattices together.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from nsed.kernels.gpu import launch, runs_triton
from nsed.kernels.gpu_scores import gpu_scores, scores_of_all
from nsed.networks.matcher import MatcherNetwork, lattice_of
from nsed.networks.operations import match_scores
from nsed.networks.string_vectors import LARGEST_TABLE, Vectors
from nsed.progress import OnBatch
from nsed.text.batch import check_cells

KERNELS = "nsed.kernels.triton_scoring"
PAIRS_AT_ONCE, CELLS_AT_ONCE, WIDEST = 2**22, 2**20, 1024
"""Pairs that are sorted together, cells that are computed together, and columns that the table's kernel can do."""
MAX_CELLS = 2**22
"""Of the table of a pair."""

Rows = Int[Tensor, " pairs"]
Score = Callable[[Rows, Rows], Float[Tensor, " pairs"]]


class Places(NamedTuple):
    """Where the vectors of each string are; `lengths` does not count `</s>`."""

    vectors: Float[Tensor, "kinds dim"]
    flat: Int[Tensor, " symbols"]
    starts: Int[Tensor, " strings"]
    lengths: Int[Tensor, " strings"]

    @classmethod
    def of(cls, vectors: Vectors) -> "Places":
        """On the device where the vectors are."""
        parts = (vectors.flat, vectors.starts, np.diff(vectors.starts) - 1)
        return cls(vectors.rows, *(torch.from_numpy(part.astype(np.int32)).to(vectors.rows.device) for part in parts))

    def of_rows(self, rows: Rows, length: int) -> Float[Tensor, "pairs symbols dim"]:
        """The vectors of strings of one length, `</s>` included."""
        places = torch.arange(length + 1, device=rows.device)
        return self.vectors[self.flat[self.starts[rows][:, None] + places]]


def can_run(network: MatcherNetwork) -> bool:
    """Whether there are kernels for this network, where it is."""
    weight = network.features.source.weight
    return network.features.interaction == 0 and weight.dtype == torch.float32 and runs_triton(weight)


@torch.no_grad()
def gpu_bulk_scores(
    network: MatcherNetwork, sides: tuple[Vectors, Vectors], pairs: tuple[np.ndarray, np.ndarray], *, on_batch: OnBatch
) -> np.ndarray:
    """Log alpha_{n,m} of pairs (row of source, row of target)."""
    if not len(pairs[0]):
        return np.empty(0)
    check_lengths(sides, pairs)
    source, target = map(Places.of, sides)
    score, result = scorer(network, source, target), np.empty(len(pairs[0]))
    for start in range(0, len(result), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        rows, columns = (torch.from_numpy(side[part]).to(source.flat.device) for side in pairs)
        result[part] = score(rows, columns).cpu().numpy()
        on_batch(len(result[part]))
    return result


def check_lengths(sides: tuple[Vectors, Vectors], pairs: tuple[np.ndarray, np.ndarray]) -> None:
    """Raise `TooLongError` for a pair whose table would have too many cells."""
    lengths = [np.diff(side.starts) for side in sides]
    if lengths[0].max() * lengths[1].max() > MAX_CELLS:
        check_cells(lengths[0][pairs[0]], lengths[1][pairs[1]], MAX_CELLS)


def scorer(network: MatcherNetwork, source: Places, target: Places) -> Score:
    """The faster way for these strings."""
    if len(source.vectors) * len(target.vectors) <= LARGEST_TABLE and int(target.lengths.amax()) < WIDEST:
        weight, constant = network.projection.folded()
        table = scores_of_all(source.vectors, target.vectors, weight, constant, eps=network.projection.norm.eps)
        return partial(by_table, table, source, target)
    return partial(by_vectors, network, source, target)


def by_table(
    table: Float[Tensor, "kinds others classes"], source: Places, target: Places, rows: Rows, columns: Rows
) -> Float[Tensor, " pairs"]:
    """Pairs whose targets need blocks of the same width are done together, sorted by the lengths of their sources."""
    n, m = source.lengths[rows], target.lengths[columns]
    bounds = 2 ** torch.arange(1, WIDEST.bit_length(), device=rows.device)  # targets below 2 need blocks of 2 columns
    block = torch.bucketize(m, bounds, right=True)
    order = (block * (n.amax() + 1) + n).argsort()
    result, first = torch.empty(len(rows), device=rows.device), 0
    for width, count in enumerate(torch.bincount(block).tolist()):
        some = order[first : first + count]
        if count:
            result[some] = _run(table, source, target, rows[some], columns[some], 2 ** (width + 1))
        first += count
    return result


def _run(
    table: Tensor, source: Places, target: Places, rows: Rows, columns: Rows, width: int
) -> Float[Tensor, " pairs"]:
    found, at_once = torch.empty(len(rows), device=rows.device), max(1, 256 // width)
    launch(KERNELS, "by_table", (-(-len(rows) // at_once),),
        rows, columns, table, source.flat, source.starts, target.flat, target.starts, found, len(rows), table.shape[1],
        WIDTH=width, PAIRS=at_once, num_warps=4,
    )  # fmt: skip  # an argument a line would be a page
    return found


def by_vectors(
    network: MatcherNetwork, source: Places, target: Places, rows: Rows, columns: Rows
) -> Float[Tensor, " pairs"]:
    """Pairs of the same lengths are done together."""
    weight, constant = network.projection.folded()
    result, eps = torch.empty(len(rows), device=rows.device), network.projection.norm.eps
    for some, n, m in _alike(source.lengths[rows], target.lengths[columns]):
        vectors = source.of_rows(rows[some], n), target.of_rows(columns[some], m)
        scores = match_scores(gpu_scores(*vectors, weight, constant, eps=eps))
        lengths = (torch.full_like(some, length) for length in (n, m))
        result[some] = lattice_of(scores, *lengths).log_prob
    return result


def _alike(n: Int[Tensor, " pairs"], m: Int[Tensor, " pairs"]) -> Iterator[tuple[Rows, int, int]]:
    """Which pairs have the same two lengths, as many at once as there is room for."""
    base = int(m.amax()) + 1
    keys, order = (n.long() * base + m).sort()
    first = 0
    for key, count in zip(*(part.tolist() for part in torch.unique_consecutive(keys, return_counts=True)), strict=True):
        lengths = divmod(key, base)
        at_once = max(1, CELLS_AT_ONCE // ((lengths[0] + 1) * (lengths[1] + 1)))
        for start in range(first, first + count, at_once):
            yield order[start : min(start + at_once, first + count)], *lengths
        first += count
