"""The arcs of an edit lattice: three numbers per cell, one for each arc that enters it.

    delete     s_i        (i-1, j)   -> (i, j)
    insert     t_j        (i, j-1)   -> (i, j)
    substitute s_i -> t_j (i-1, j-1) -> (i, j)

Users see them as a record of three tables (`Arcs`), the recursions as one tensor with the batch innermost (`Stack`).
Tables and lengths are checked before anything is computed, with errors that name the culprit.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nsed.errors import DeviceError, DTypeError, ShapeError
from nsed.types import NEG, Cells, Lengths, PerPair, Stack, Table


class Arcs(NamedTuple):
    """One table per operation: log-weights, probabilities, gradients, whatever belongs to arcs.

    >>> arcs = Arcs(*torch.full((3, 1, 2, 2), 0.25))
    >>> arcs.total().tolist(), arcs.map(torch.log).insert[0, 0, 1].exp().item()
    ([[[0.75, 0.75], [0.75, 0.75]]], 0.25)
    """

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


_FLOATS = (torch.float32, torch.float64)
_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64)


def check_tables(arcs: Arcs) -> None:
    """Three tensors `[batch, n+1, m+1]` of one shape, one float dtype (float32 or float64) and one device."""
    for name, table in arcs._asdict().items():
        if not isinstance(table, Tensor):
            raise DTypeError(name, got=type(table).__name__, expected="a torch.Tensor")
        if table.dtype not in _FLOATS:
            raise DTypeError(name, got=table.dtype, expected="torch.float32 or torch.float64", advice="Cast it first.")
        if table.ndim != 3 or 0 in table.shape[1:]:
            raise ShapeError(
                name, got=_shape(table), expected="[batch, n+1, m+1], where 0 symbols make 1 row or column"
            )
        _check_like(name, table, arcs.delete)


def check_lengths(name: str, lengths: object, table: Tensor, *, axis: int) -> None:
    """One integer per pair, on the tables' device."""
    if not isinstance(lengths, Tensor) or lengths.dtype not in _INTEGERS:
        got = lengths.dtype if isinstance(lengths, Tensor) else type(lengths).__name__
        raise DTypeError(name, got=got, expected="a torch.Tensor of integers")
    if lengths.shape != (len(table),):
        raise ShapeError(name, got=_shape(lengths), expected=f"[{len(table)}], one length per pair")
    if lengths.device != table.device:
        raise DeviceError(name, got=lengths.device, expected=f"{table.device}, where the tables are")
    check_range(name, lengths, limit=table.shape[axis] - 1)


def check_range(name: str, lengths: Tensor, *, limit: int) -> None:
    """Lengths between 0 and what the tables hold. On a GPU this waits for the device once."""
    wrong = ((lengths < 0) | (lengths > limit)).nonzero()
    if len(wrong):
        pair = int(wrong[0])
        expected = f"between 0 and {limit}, for which the tables have cells"
        raise ShapeError(name, got=f"{int(lengths[pair])} at pair {pair}", expected=expected)


def _check_like(name: str, table: Tensor, first: Tensor) -> None:
    if table.shape != first.shape:
        raise ShapeError(name, got=_shape(table), expected=f"{_shape(first)}, the shape of delete")
    if table.dtype != first.dtype:
        raise DTypeError(name, got=table.dtype, expected=f"{first.dtype}, the dtype of delete")
    if table.device != first.device:
        raise DeviceError(name, got=table.device, expected=f"{first.device}, the device of delete")


def _shape(tensor: Tensor) -> str:
    return str(list(tensor.shape))
