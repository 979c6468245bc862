"""Table scores of many pairs of strings, whose arc weights come from a table of operations: the readable twin.

Pairs of the same lengths need no padding and go together: the weights of all arcs, and the recursion over the cells.
"""

from functools import partial

from jaxtyping import Int
from torch import Tensor

from nsed.kernels.contracts import Score, SubstitutionTable, TableStrings
from nsed.kernels.semiring import LOG
from nsed.kernels.torch.lattice import TorchBackend
from nsed.kernels.torch.match_scores import by_lengths
from nsed.types import NEG, PerPair, Stack

CELLS_AT_ONCE = {"cuda": 2**22}
FEWER_CELLS = 2**17
"""Batch sizes in cells whose arcs are in memory together: on a GPU, and elsewhere."""

SourceKinds = Int[Tensor, "pairs n"]
TargetKinds = Int[Tensor, "pairs m"]
"""Kinds of the symbols of strings of one length."""


def scorer(source: TableStrings, target: TableStrings, table: SubstitutionTable, *, pairs: int) -> Score:
    """See `TableScoresKernel.scorer`."""

    def log_alpha(rows: SourceKinds, columns: TargetKinds) -> PerPair:
        return TorchBackend().forward(arc_weights(source, target, table, rows, columns), LOG)[-1, -1].clamp(min=NEG)

    cells = CELLS_AT_ONCE.get(table.device.type, FEWER_CELLS)
    return partial(by_lengths, log_alpha, source, target, cells=cells, like=table)


def arc_weights(
    source: TableStrings, target: TableStrings, table: SubstitutionTable, rows: SourceKinds, columns: TargetKinds
) -> Stack:
    """Log-weights of the arcs of pairs without padding; NEG where none can be."""
    (pairs, n), m = rows.shape, columns.shape[1]
    weights = table.new_full((3, n + 1, m + 1, pairs), NEG)
    weights[0, 1:] = source.gap[rows].T[:, None]
    weights[1, :, 1:] = target.gap[columns].T
    of_table = table[source.row[rows][:, :, None], target.row[columns][:, None]]
    factor = source.factor[rows][:, :, None] * target.factor[columns][:, None]
    shift = source.shift[rows][:, :, None] + target.shift[columns][:, None]
    weights[2, 1:, 1:] = (factor * of_table + shift).permute(1, 2, 0)
    return weights.clamp_(min=NEG)
