"""The lattice on a CPU: compiled loops over cells; what happens in a cell is a loop over pairs.

The batch is the innermost axis. The loops over pairs run over slices that begin at their first element and have no
branch, so that the compiler makes vector instructions of them; each thread takes its own pairs. The threads are our own
and hold no lock: numba's parallel loops abort when they are entered twice.
"""

from typing import Any

import numpy as np
import torch
from numba import njit

from nsed.kernels.contracts import Backend
from nsed.kernels.numba import Kernel, array, run_light_kernel
from nsed.kernels.numba.math import exp_below_zero, log_sum
from nsed.kernels.semiring import LOG, Semiring
from nsed.types import NEG, REACHABLE, Cells, Stack

compiled = njit(nogil=True, cache=True, error_model="numpy")


class NumbaBackend(Backend):
    """Lattice backend compiled by numba, for float32 and float64 on a CPU."""

    def forward(self, weights: Stack, semiring: Semiring) -> Cells:
        """See `Backend.forward`."""
        stack = array(weights)
        alpha = _bordered(np.full(stack.shape[1:], NEG, dtype=stack.dtype), NEG)
        alpha[1, 1] = 0.0
        _run(forward_cells, stack, alpha, semiring is LOG)
        return _inner(alpha)

    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """See `Backend.sweep`."""
        solved = _bordered(array(injection), 0.0)
        _run(sweep_up if reverse else sweep_down, array(ratios), solved)
        return _inner(solved)

    def gradient(self, injection: Cells, weights: Stack, alpha: Cells, semiring: Semiring) -> Stack:
        """See `Backend.gradient`: ratios and sweep in one pass, where sums are log-sums."""
        if semiring is not LOG:
            return super().gradient(injection, weights, alpha, semiring)
        stack = array(weights)
        result = np.zeros_like(stack)
        _run(add_gradient, stack, _bordered(array(alpha), NEG), _bordered(array(injection), 0.0), result)
        return torch.from_numpy(result)


def _bordered(table: Any, fill: float) -> Any:
    """Bordered table: with one more row above and one more column to the left, so that every arc starts somewhere."""
    rows, columns, batch = table.shape
    wider = np.full((rows + 1, columns + 1, batch), fill, dtype=table.dtype)
    wider[1:, 1:] = table
    return wider


def _inner(table: Any) -> Cells:
    return torch.from_numpy(np.ascontiguousarray(table[1:, 1:]))


def _run(kernel: Kernel, *arrays: Any) -> None:
    _, rows, columns, pairs = arrays[0].shape
    run_light_kernel(kernel, *arrays, pairs=pairs, cells=rows * columns)


@compiled
def _log_cell(result, above, left, corner, delete, insert, substitute, lowest):
    for b in range(result.size):
        total = log_sum(above[b] + delete[b], left[b] + insert[b], corner[b] + substitute[b])
        result[b] = max(total, lowest)


@compiled
def _max_cell(result, above, left, corner, delete, insert, substitute, lowest):
    for b in range(result.size):
        best = max(above[b] + delete[b], left[b] + insert[b], corner[b] + substitute[b])
        result[b] = max(best, lowest)


@compiled
def forward_cells(weights, alpha, sums, part, first, last):
    """The forward table, of sums in logarithms or of maxima; `alpha` has a border above and to the left."""
    _, rows, columns, _ = weights.shape
    lowest = alpha.dtype.type(NEG)
    for cell in range(1, rows * columns):
        i, j = cell // columns, cell % columns
        here, above = alpha[i + 1, j + 1, first:last], alpha[i, j + 1, first:last]
        left, corner = alpha[i + 1, j, first:last], alpha[i, j, first:last]
        delete, insert = weights[0, i, j, first:last], weights[1, i, j, first:last]
        substitute = weights[2, i, j, first:last]
        if sums:
            _log_cell(here, above, left, corner, delete, insert, substitute, lowest)
        else:
            _max_cell(here, above, left, corner, delete, insert, substitute, lowest)


@compiled
def _add_product(result, ratio, given):
    for b in range(result.size):
        result[b] += ratio[b] * given[b]


@compiled
def sweep_down(ratios, solved, part, first, last):
    """x[c] += ratios of the arcs into c times x where they start; `solved` has a border above and to the left."""
    _, rows, columns, _ = ratios.shape
    for i in range(rows):
        for j in range(columns):
            here = solved[i + 1, j + 1, first:last]
            _add_product(here, ratios[0, i, j, first:last], solved[i, j + 1, first:last])
            _add_product(here, ratios[1, i, j, first:last], solved[i + 1, j, first:last])
            _add_product(here, ratios[2, i, j, first:last], solved[i, j, first:last])


@compiled
def sweep_up(ratios, solved, part, first, last):
    """x[start of arc] += ratio times x[c], from the last cell to the first; the border collects what is nobody's."""
    _, rows, columns, _ = ratios.shape
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            here = solved[i + 1, j + 1, first:last]
            _add_product(solved[i, j + 1, first:last], ratios[0, i, j, first:last], here)
            _add_product(solved[i + 1, j, first:last], ratios[1, i, j, first:last], here)
            _add_product(solved[i, j, first:last], ratios[2, i, j, first:last], here)


@compiled
def _hand_on(start, result, here, alpha_start, alpha, weights, nothing, reachable):
    """One kind of arc: its gradient, which is also what the cell where it starts gets."""
    for b in range(result.size):
        ratio = exp_below_zero(min(alpha_start[b] + weights[b] - alpha[b], nothing))
        part = (ratio if alpha[b] > reachable else nothing) * here[b]
        result[b] = part
        start[b] += part


@compiled
def add_gradient(weights, alpha, solved, result, part, first, last):
    """Ratios, reverse sweep and their product in one pass; `solved` starts as the injection. Both have a border."""
    _, rows, columns, _ = weights.shape
    zero, reachable = alpha.dtype.type(0), alpha.dtype.type(REACHABLE)
    for cell in range(rows * columns - 1, 0, -1):
        i, j = cell // columns, cell % columns
        here, known = solved[i + 1, j + 1, first:last], alpha[i + 1, j + 1, first:last]
        for arc, k, m in ((0, i, j + 1), (1, i + 1, j), (2, i, j)):
            _hand_on(
                solved[k, m, first:last],
                result[arc, i, j, first:last],
                here,
                alpha[k, m, first:last],
                known,
                weights[arc, i, j, first:last],
                zero,
                reachable,
            )
