"""The arcs of an edit lattice: three numbers per cell, one for each arc that enters it.

    delete     s_i        (i-1, j)   -> (i, j)
    insert     t_j        (i, j-1)   -> (i, j)
    substitute s_i -> t_j (i-1, j-1) -> (i, j)

Users see them as a record of three tables (`Arcs`), the recursions as one tensor with the batch innermost (`Stack`).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from nsed.types import NEG, Cells, Lengths, PerPair, Stack, Table


class Arcs(NamedTuple):
    """One table per operation: log-weights, probabilities, gradients, whatever belongs to arcs."""

    delete: Table
    insert: Table
    substitute: Table

    def map(self, function: Callable[[Table], Table]) -> "Arcs":
        """The same function applied to each table."""
        return Arcs(*(function(table) for table in self))

    def total(self) -> Table:
        """Sum over the arcs that enter each cell."""
        return self.delete + self.insert + self.substitute


def unstacked(stack: Stack) -> Arcs:
    """The three tables as users want them."""
    return Arcs(*(batch_first(cells) for cells in stack))


def batch_first(cells: Cells) -> Table:
    """A view with the axes in the order that users see."""
    return cells.permute(2, 0, 1)


def usable(arcs: Arcs, source_lengths: Lengths, target_lengths: Lengths) -> Stack:
    """The log-weights of real arcs; NEG where no arc can be (borders, padding), whatever stood there.

    Arcs of weight minus infinity become NEG too.
    """
    weights: Stack = _Usable.apply(*arcs, source_lengths, target_lengths)  # type: ignore[no-untyped-call]  # torch's apply
    return weights


class _Usable(torch.autograd.Function):
    """The gradient passes through unchanged: nothing that is computed from an arc of weight NEG depends on it."""

    @staticmethod
    def forward(ctx: Any, delete: Table, insert: Table, substitute: Table, n: Lengths, m: Lengths) -> Stack:
        weights = torch.stack([table.permute(1, 2, 0) for table in (delete, insert, substitute)])
        rows = torch.arange(weights.shape[1], device=weights.device)[:, None, None]
        columns = torch.arange(weights.shape[2], device=weights.device)[:, None]
        weights.masked_fill_((rows > n) | (columns > m), NEG).clamp_(min=NEG)
        weights[::2, 0] = NEG  # no delete or substitute enters row 0
        weights[1:, :, 0] = NEG  # no insert or substitute enters column 0
        return weights

    @staticmethod
    def backward(ctx: Any, gradient: Stack) -> tuple[Table, Table, Table, None, None]:
        return *unstacked(gradient), None, None


def turned(arcs: Arcs, source_lengths: Lengths, target_lengths: Lengths) -> Arcs:
    """Arcs of the reversed strings: cell (i, j) becomes (n - i, m - j), and every arc the one that goes the other way.

    A derivation of the reversed pair, from its end, is one of the pair: the sum over all of them is the same.
    """
    rows, columns = (torch.arange(size, device=arcs.delete.device) for size in arcs.delete.shape[1:])
    pairs = torch.arange(len(source_lengths), device=rows.device)[:, None, None]

    def table(weights: Table, reads: int, writes: int) -> Table:
        i = (source_lengths[:, None] + reads - rows).clamp(0, len(rows) - 1)
        j = (target_lengths[:, None] + writes - columns).clamp(0, len(columns) - 1)
        return weights[pairs, i[:, :, None], j[:, None]]

    return Arcs(table(arcs.delete, 1, 0), table(arcs.insert, 0, 1), table(arcs.substitute, 1, 1))


def final_cell(cells: Cells, source_lengths: Lengths, target_lengths: Lengths) -> PerPair:
    """The value at each pair's own (n, m)."""
    places = source_lengths * cells.shape[1] + target_lengths
    return cells.flatten(0, 1).gather(0, places[None])[0]  # an index with three parts would sort in its gradient


def one_hot_final(like: Cells, source_lengths: Lengths, target_lengths: Lengths) -> Cells:
    """1 at each pair's own (n, m), 0 elsewhere."""
    rows = torch.arange(like.shape[0], device=like.device)[:, None, None]
    columns = torch.arange(like.shape[1], device=like.device)[:, None]
    return ((rows == source_lengths) & (columns == target_lengths)).to(like.dtype)
