"""Lattice recursions on a GPU: log-sums and gradient as kernels, one program per few pairs, a row of cells per step.

Within a row the recursion is first order, so a scan does it. The scan is over pairs (weight, value) and only ever adds
log-weights, so nothing cancels; running sums that are subtracted would (`benchmarks/row_scan.py`). What a row needs of
its neighbour one column on is read back from memory, behind a barrier of the program. Everything else is torch's.
"""

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from nsed.kernels.contracts import MOST_NUMBERS, Backend
from nsed.kernels.semiring import LOG, Semiring
from nsed.kernels.switch import devices_of
from nsed.kernels.torch.lattice import TorchBackend
from nsed.kernels.triton import launch, power_of_two
from nsed.types import NEG, REACHABLE, Cells, Stack

LOWEST = tl.constexpr(NEG)
REACHED = tl.constexpr(REACHABLE)
WIDEST, LANES = 1024, 256
"""Columns of a table at most, and cells that a program works on at once, unless a row needs more."""


class TritonBackend(Backend):
    """Lattice backend in Triton: log-sums in float32; float64, best paths, wide tables, second derivatives in torch."""

    def __init__(self) -> None:
        self._torch = TorchBackend()

    def forward(self, weights: Stack, semiring: Semiring) -> Cells:
        """See `Backend.forward`."""
        if not _can_run(weights, semiring):
            return self._torch.forward(weights, semiring)
        alpha: Cells = lattice_forward(weights.detach())
        return alpha

    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """See `Backend.sweep`."""
        return self._torch.sweep(injection, ratios, reverse)

    def gradient(self, injection: Cells, weights: Stack, alpha: Cells, semiring: Semiring) -> Stack:
        """See `Backend.gradient`."""
        if not _can_run(weights, semiring):
            return self._torch.gradient(injection, weights, alpha, semiring)
        result: Stack = lattice_gradient(weights.detach(), alpha.detach(), injection.detach())
        return result


@torch.library.custom_op("nsed::lattice_forward", mutates_args=())
def lattice_forward(weights: Tensor) -> Tensor:
    """Forward table `[rows, columns, batch]` of log-weights `[3, rows, columns, batch]`."""
    alpha = weights.new_empty(weights.shape[1:])
    _run(log_forward, weights.contiguous(), alpha)
    return alpha


@torch.library.custom_op("nsed::lattice_gradient", mutates_args=())
def lattice_gradient(weights: Tensor, alpha: Tensor, injection: Tensor) -> Tensor:
    """Gradient by the weights of what has the gradient `injection` by the forward table."""
    result = torch.empty_like(weights, memory_format=torch.contiguous_format)
    _run(log_gradient, weights.contiguous(), alpha.contiguous(), injection.contiguous(), result)
    return result


@lattice_forward.register_fake
def _(weights):
    return weights.new_empty(weights.shape[1:])


@lattice_gradient.register_fake
def _(weights, alpha, injection):
    return torch.empty_like(weights, memory_format=torch.contiguous_format)


def _run(kernel: Any, *tables: Tensor) -> None:
    _, rows, columns, batch = tables[0].shape
    width = power_of_two(columns, least=2)
    pairs = max(1, LANES // width)
    launch(kernel, (-(-batch // pairs),), *tables, rows, columns, batch, WIDTH=width, PAIRS=pairs)


def _can_run(weights: Stack, semiring: Semiring) -> bool:
    fits = 0 < weights.shape[2] <= WIDEST and 0 < weights.numel() < MOST_NUMBERS
    runs = weights.device.type in (devices_of("triton") or ())
    return runs and semiring is LOG and weights.dtype == torch.float32 and fits


@triton.jit
def log_add(a, b):
    """log(exp(a) + exp(b))."""
    return tl.maximum(a, b) + tl.log(1.0 + tl.exp(-tl.abs(a - b)))


@triton.jit
def then_log(weight, value, next_weight, next_value):
    """Two stretches of a row, one after the other, in logarithms."""
    return tl.maximum(weight + next_weight, LOWEST), log_add(value + next_weight, next_value)


@triton.jit
def then_linear(factor, value, next_factor, next_value):
    """Two stretches of a row, one after the other, of the linear recursion."""
    return factor * next_factor, value * next_factor + next_value


@triton.jit(do_not_specialize=["rows", "columns", "batch"])
def log_forward(weights, alpha, rows, columns, batch, WIDTH: tl.constexpr, PAIRS: tl.constexpr):
    """The forward table; `weights` is [3, rows, columns, batch], `alpha` [rows, columns, batch]."""
    pair = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)[None, :]
    column = tl.arange(0, WIDTH)[:, None]
    inside = (column < columns) & (pair < batch)
    line, table = columns * batch, rows * columns * batch
    previous = tl.full((WIDTH, PAIRS), LOWEST, tl.float32)
    i = 0
    while i < rows:
        here = i * line + column * batch + pair
        delete = tl.load(weights + here, mask=inside, other=LOWEST)
        insert = tl.load(weights + table + here, mask=inside, other=LOWEST)
        substitute = tl.load(weights + 2 * table + here, mask=inside, other=LOWEST)
        corner = tl.load(alpha + here - line - batch, mask=inside & (column > 0) & (i > 0), other=LOWEST)
        reached = log_add(previous + delete, corner + substitute)
        reached = tl.where((column == 0) & (i == 0), 0.0, reached)
        _, value = tl.associative_scan((insert, reached), 0, then_log)
        previous = tl.maximum(value, LOWEST)
        tl.store(alpha + here, previous, mask=inside)
        tl.debug_barrier()
        i += 1


@triton.jit
def share(start, weight, end):
    """How much an arc contributes to the cell where it ends; 0 in cells that nothing reaches."""
    return tl.where(end > REACHED, tl.exp(tl.minimum(start + weight - end, 0.0)), 0.0)


@triton.jit(do_not_specialize=["rows", "columns", "batch"])
def log_gradient(weights, alpha, injection, result, rows, columns, batch, WIDTH: tl.constexpr, PAIRS: tl.constexpr):
    """The gradient by the weights, from the last row to the first; lanes run from the last column to the first."""
    pair = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)[None, :]
    column = columns - 1 - tl.arange(0, WIDTH)[:, None]
    inside = (column >= 0) & (pair < batch)
    line, table = columns * batch, rows * columns * batch
    deleted = tl.zeros((WIDTH, PAIRS), tl.float32)
    i = rows - 1
    while i >= 0:
        here = i * line + column * batch + pair
        above, left, right = inside & (i > 0), inside & (column > 0), inside & (column < columns - 1)
        end = tl.load(alpha + here, mask=inside, other=LOWEST)
        onward = share(
            end,
            tl.load(weights + table + here + batch, mask=right, other=LOWEST),
            tl.load(alpha + here + batch, mask=right, other=LOWEST),
        )
        substituted = tl.load(result + 2 * table + here + line + batch, mask=right & (i < rows - 1), other=0.0)
        base = tl.load(injection + here, mask=inside, other=0.0) + deleted + substituted
        _, solved = tl.associative_scan((onward, base), 0, then_linear)
        from_above = tl.load(alpha + here - line, mask=above, other=LOWEST)
        from_left = tl.load(alpha + here - batch, mask=left, other=LOWEST)
        from_corner = tl.load(alpha + here - line - batch, mask=above & left, other=LOWEST)
        delete = tl.load(weights + here, mask=inside, other=LOWEST)
        insert = tl.load(weights + table + here, mask=inside, other=LOWEST)
        substitute = tl.load(weights + 2 * table + here, mask=inside, other=LOWEST)
        deleted = solved * share(from_above, delete, end)
        tl.store(result + here, deleted, mask=inside)
        tl.store(result + table + here, solved * share(from_left, insert, end), mask=inside)
        tl.store(result + 2 * table + here, solved * share(from_corner, substitute, end), mask=inside)
        tl.debug_barrier()
        i -= 1
