"""Arguments of `EditLattice`, checked before anything is computed, with errors that name the culprit."""

import torch
from torch import Tensor

from nsed.errors import DeviceError, DTypeError, ShapeError
from nsed.lattice.arcs import Arcs

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
