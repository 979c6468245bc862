"""Arc normalisation on a CPU, compiled: from scores to log-probabilities of arcs.

The exact normalisation has one distribution per cell, of which only the target's own symbols are kept. `blocked` has
two rows to add to a cell's scores: for cells with some source left, and for those without; NEG for what cannot happen
there. In the Matcher's the arcs that enter a cell compete, and non-match with them. Its tables have the pairs
innermost; what happens in a cell is a loop over pairs without a branch.
"""

import math
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from numba import njit
from torch import Tensor

from nsed.kernels.contracts import ClassScores
from nsed.kernels.numba import Kernel, array, run_kernel, run_light_kernel
from nsed.kernels.numba.math import exp_below_zero, log_sum_of_four
from nsed.kernels.numba.pair_scores import BATCH_FIRST, CLASSES_FIRST
from nsed.kernels.torch.arcs import possible_classes
from nsed.types import END, NEG, Lengths, PerPair, Table

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
compiled_in_order = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz"})


def outgoing_arcs(
    scores: ClassScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]
) -> tuple[Table, Table, Table, PerPair]:
    """See `ArcsKernel.outgoing_arcs`: NEG beyond a pair's own cells."""
    arcs, end = _Outgoing.apply(scores, _blocked(scores), target, *lengths)
    delete, insert, substitute = arcs.permute(0, 3, 1, 2)
    return delete, insert, substitute, end


def _blocked(scores: ClassScores) -> Float[Tensor, "2 classes"]:
    """Additive mask of impossible classes for the scores of a cell: with some source left, and without."""
    nothing = scores.new_zeros(2, scores.shape[-1])
    return nothing.masked_fill(~possible_classes(scores.shape[-1], scores.device), NEG)


class _Outgoing(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, blocked: Tensor, target: Tensor, n: Tensor, m: Tensor
    ) -> tuple[Tensor, Tensor]:
        given, (batch, rows, columns, _) = tuple(map(array, (scores, blocked, target, n, m))), scores.shape
        arcs, totals = (
            np.full((3, rows, columns, batch), NEG, given[0].dtype),
            np.empty(scores.shape[:3], given[0].dtype),
        )
        ends = np.empty(batch, given[0].dtype)
        run_kernel(outgoing_forward, *given, arcs, ends, totals, pairs=batch)
        ctx.arrays = *given, totals
        return torch.from_numpy(arcs), torch.from_numpy(ends)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, to_arcs: Tensor, to_ends: Tensor) -> tuple[Tensor, None, None, None, None]:
        result = np.zeros_like(ctx.arrays[0])
        run_kernel(outgoing_backward, *ctx.arrays, array(to_arcs), array(to_ends), result, pairs=len(result))
        return torch.from_numpy(result), None, None, None, None


def match_arcs(scores: Float[Tensor, "batch src tgt 4"]) -> tuple[Table, Table, Table, Table]:
    """See `ArcsKernel.match_arcs`."""
    tables: tuple[Table, Table, Table, Table] = _Match.apply(scores)
    return tables


class _Match(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> tuple[Tensor, ...]:
        given = scores.detach().permute(CLASSES_FIRST).contiguous()
        arcs = torch.empty_like(given)
        _run(match_forward, given.numpy(), arcs.numpy())
        ctx.arcs = arcs
        return tuple(table.permute(2, 0, 1) for table in arcs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        result, total = torch.zeros_like(ctx.arcs), ctx.arcs.new_empty(ctx.arcs.shape[-1])
        given = (array(gradient.permute(1, 2, 0)) for gradient in gradients)
        _run(match_backward, ctx.arcs.numpy(), *given, total.numpy(), result.numpy())
        return result.permute(BATCH_FIRST)


def _run(kernel: Kernel, *arrays: Any) -> None:
    _, rows, columns, pairs = arrays[0].shape
    run_light_kernel(kernel, *arrays, pairs=pairs, cells=rows * columns)


@compiled
def _log_total(scores, blocked):
    highest = scores[1] + blocked[1]
    for c in range(scores.size):
        highest = max(highest, scores[c] + blocked[c])
    total = scores.dtype.type(0)
    for c in range(scores.size):
        total += exp_below_zero(scores[c] + blocked[c] - highest)
    return highest + scores.dtype.type(math.log(total))


@compiled
def outgoing_forward(scores, blocked, target, n, m, arcs, ends, totals, part, first, last):
    """Arcs [3, n, m, batch] into real cells, the end's log-probability, and the logarithm of each cell's sum."""
    symbols = (scores.shape[3] - 1) // 2
    for pair in range(first, last):
        rows, columns, own = n[pair], m[pair], scores[pair]
        for i in range(rows + 1):
            closed = blocked[1 if i == rows else 0]
            for j in range(columns + 1):
                total = _log_total(own[i, j], closed)
                totals[pair, i, j] = total
                if i < rows:
                    arcs[0, i + 1, j, pair] = own[i, j, 0] - total
                if j < columns:
                    insert = 1 + target[pair, j]
                    arcs[1, i, j + 1, pair] = max(own[i, j, insert] + closed[insert] - total, blocked[1, 0])
                if i < rows and j < columns:
                    substitute = 1 + symbols + target[pair, j]
                    arcs[2, i + 1, j + 1, pair] = max(own[i, j, substitute] + closed[substitute] - total, blocked[1, 0])
        ends[pair] = own[rows, columns, 1 + END] - totals[pair, rows, columns]


@compiled
def _shares(scores, blocked, total, factor, result):
    for c in range(scores.size):
        result[c] = exp_below_zero(min(scores[c] + blocked[c] - total, scores.dtype.type(0))) * factor


@compiled
def outgoing_backward(scores, blocked, target, n, m, totals, to_arcs, to_ends, result, part, first, last):
    """The gradient by the scores; `result` comes full of zeros."""
    symbols, zero = (scores.shape[3] - 1) // 2, scores.dtype.type(0)
    for pair in range(first, last):
        rows, columns = n[pair], m[pair]
        for i in range(rows + 1):
            closed = blocked[1 if i == rows else 0]
            for j in range(columns + 1):
                delete = to_arcs[0, i + 1, j, pair] if i < rows else zero
                insert = to_arcs[1, i, j + 1, pair] if j < columns else zero
                substitute = to_arcs[2, i + 1, j + 1, pair] if i < rows and j < columns else zero
                end = to_ends[pair] if i == rows and j == columns else zero
                own = result[pair, i, j]
                _shares(scores[pair, i, j], closed, totals[pair, i, j], -(delete + insert + substitute + end), own)
                own[0] += delete
                own[1 + END] += end
                if j < columns:
                    own[1 + target[pair, j]] += insert
                    own[1 + symbols + target[pair, j]] += substitute


@compiled_in_order
def _copy(result, given, is_there):
    """The scores of arcs, NEG where there are none."""
    if is_there:
        for b in range(result.size):
            result[b] = given[b]
    else:
        result[:] = given.dtype.type(NEG)


@compiled_in_order
def _normalise(delete, insert, substitute, non_match):
    """The scores of one cell become log-probabilities, in place."""
    for b in range(delete.size):
        total = log_sum_of_four(delete[b], insert[b], substitute[b], non_match[b])
        delete[b] -= total
        insert[b] -= total
        substitute[b] -= total
        non_match[b] -= total


@compiled_in_order
def match_forward(scores, arcs, part, first, last):
    """Log-probabilities in the cells that arcs enter, from scores in those that they leave; both [4, n, m, pairs]."""
    _, rows, columns, _ = scores.shape
    for i in range(rows):
        for j in range(columns):
            above, left = max(i - 1, 0), max(j - 1, 0)
            delete, insert = arcs[0, i, j, first:last], arcs[1, i, j, first:last]
            substitute, non_match = arcs[2, i, j, first:last], arcs[3, i, j, first:last]
            _copy(delete, scores[0, above, j, first:last], i > 0)
            _copy(insert, scores[1, i, left, first:last], j > 0)
            _copy(substitute, scores[2, above, left, first:last], i > 0 and j > 0)
            _copy(non_match, scores[3, above, left, first:last], True)
            _normalise(delete, insert, substitute, non_match)


@compiled_in_order
def _add_share(result, gradient, total, log_probability, nothing):
    for b in range(result.size):
        result[b] += gradient[b] - exp_below_zero(min(log_probability[b], nothing)) * total[b]


@compiled_in_order
def _add_up(total, delete, insert, substitute, non_match):
    for b in range(total.size):
        total[b] = delete[b] + insert[b] + substitute[b] + non_match[b]


@compiled_in_order
def match_backward(arcs, delete, insert, substitute, non_match, total, result, part, first, last):
    """The gradient by the scores, from those by the four tables; `result` comes full of zeros, `total` is for notes."""
    _, rows, columns, _ = arcs.shape
    nothing, whole = arcs.dtype.type(0), total[first:last]
    for i in range(rows):
        for j in range(columns):
            above, left = max(i - 1, 0), max(j - 1, 0)
            given = (
                delete[i, j, first:last],
                insert[i, j, first:last],
                substitute[i, j, first:last],
                non_match[i, j, first:last],
            )
            _add_up(whole, *given)
            if i:
                _add_share(result[0, above, j, first:last], given[0], whole, arcs[0, i, j, first:last], nothing)
            if j:
                _add_share(result[1, i, left, first:last], given[1], whole, arcs[1, i, j, first:last], nothing)
            if i and j:
                _add_share(result[2, above, left, first:last], given[2], whole, arcs[2, i, j, first:last], nothing)
            _add_share(result[3, above, left, first:last], given[3], whole, arcs[3, i, j, first:last], nothing)
