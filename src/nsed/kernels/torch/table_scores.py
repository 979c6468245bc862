"""Table scores of many pairs of strings, whose arc weights come from a table of operations: the readable twin.

Pairs of similar lengths go together: the weights of all arcs, and the recursion over the cells. A pair's last cell
depends on those before it alone, so it does not matter which symbols the shorter strings are filled up with.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Int
from torch import Tensor

from nsed.kernels.contracts import Rows, Score, SubstitutionTable, TableStrings
from nsed.kernels.semiring import LOG
from nsed.kernels.torch.lattice import TorchBackend
from nsed.types import NEG, PerPair, Stack

CELLS_AT_ONCE = {"cuda": 2**22}
FEWER_CELLS = 2**17
"""Batch sizes in cells whose arcs are in memory together: on a GPU, and elsewhere."""

SourceKinds = Int[Tensor, "pairs n"]
TargetKinds = Int[Tensor, "pairs m"]
"""Kinds of the symbols of strings, the shorter ones filled up."""


def scorer(source: TableStrings, target: TableStrings, table: SubstitutionTable, *, pairs: int) -> Score:
    """See `TableScoresKernel.scorer`."""
    cells = CELLS_AT_ONCE.get(table.device.type, FEWER_CELLS)

    def score(rows: Rows, columns: Rows) -> PerPair:
        result, n, m = table.new_empty(len(rows)), source.lengths[rows], target.lengths[columns]
        for some in _alike(n, m, cells):
            kinds = source.rows_of(rows[some], int(n[some].amax())), target.rows_of(columns[some], int(m[some].amax()))
            alpha = TorchBackend().forward(arc_weights(source, target, table, *kinds), LOG)
            result[some] = alpha[n[some], m[some], torch.arange(len(some), device=rows.device)].clamp(min=NEG)
        return result

    return score


def _alike(n: Rows, m: Rows, cells: int) -> Iterator[Rows]:
    """Length buckets: pairs of similar lengths, as many at once as there is room for, padding included."""
    order = (n * (m.amax() + 1) + m).argsort() if len(n) else n
    while len(order):
        some = order[:cells]
        padded = (n[some].cummax(0).values + 1) * (m[some].cummax(0).values + 1)
        numbers = torch.arange(1, len(some) + 1, device=n.device)
        count = max(1, int((padded * numbers <= cells).sum()))
        yield order[:count]
        order = order[count:]


def arc_weights(
    source: TableStrings, target: TableStrings, table: SubstitutionTable, rows: SourceKinds, columns: TargetKinds
) -> Stack:
    """Log-weights of the arcs of pairs; NEG where none can be."""
    (pairs, n), m = rows.shape, columns.shape[1]
    weights = table.new_full((3, n + 1, m + 1, pairs), NEG)
    weights[0, 1:] = source.gap[rows].T[:, None]
    weights[1, :, 1:] = target.gap[columns].T
    of_table = table[source.row[rows][:, :, None], target.row[columns][:, None]]
    factor = source.factor[rows][:, :, None] * target.factor[columns][:, None]
    shift = source.shift[rows][:, :, None] + target.shift[columns][:, None]
    weights[2, 1:, 1:] = (factor * of_table + shift).permute(1, 2, 0)
    return weights.clamp_(min=NEG)
