"""Forward and backward table (alpha and beta): one recursion, one reverse sweep, for every loss, semiring and backend.

Backends supply two plain functions that autograd does not see. The two autograd functions here turn them into
operations that can be differentiated any number of times. The backward table is the forward table of the two strings
read from their ends.
"""

from typing import Any

import torch

from nsed.kernels.contracts import Backend
from nsed.kernels.semiring import Semiring, incoming, starts
from nsed.types import NEG, Cells, Lengths, Stack


def forward_table(weights: Stack, *, backend: Backend, semiring: Semiring) -> Cells:
    """Log-sum (or maximum) over all derivations of each prefix pair; 0 at (0, 0), NEG where there is none.

    Paper: Equation 1 and Algorithm "Forward evaluation". Ours starts both loops at 0, theirs at 1.
    """
    alpha: Cells = _Forward.apply(weights, backend, semiring)  # type: ignore[no-untyped-call]  # torch's apply
    return alpha


def ratios_of(alpha: Cells, weights: Stack, *, semiring: Semiring) -> Stack:
    """How much each arc contributes to the cell it enters: exp(alpha at its start + weight - alpha), in [0, 1]."""
    return semiring.ratios(incoming(alpha, weights))


def sweep(injection: Cells, ratios: Stack, *, backend: Backend, reverse: bool) -> Cells:
    """Solve the linear recursion over cells that is the lattice's derivative.

    Forward: `x[c] = injection[c] + sum over arcs a into c of ratios[a] * x[start of a]`.
    Reverse: `x[c] = injection[c] + sum over arcs a out of c of ratios[a] * x[end of a]`.
    The two are each other's transpose, hence each other's gradient.
    """
    solved: Cells = _Sweep.apply(injection, ratios, backend, reverse)  # type: ignore[no-untyped-call]  # torch's apply
    return solved


class _Forward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Stack, backend: Backend, semiring: Semiring) -> Cells:
        alpha = backend.forward(weights, semiring).clamp_(min=NEG)
        ctx.save_for_backward(weights, alpha)
        ctx.backend, ctx.semiring = backend, semiring
        return alpha

    @staticmethod
    def backward(ctx: Any, injection: Cells) -> tuple[Stack, None, None]:
        weights, alpha = ctx.saved_tensors
        if not torch.is_grad_enabled():  # nobody is going to differentiate this once more
            return ctx.backend.gradient(injection, weights, alpha, ctx.semiring), None, None
        ratios = ratios_of(alpha, weights, semiring=ctx.semiring)
        return sweep(injection, ratios, backend=ctx.backend, reverse=True) * ratios, None, None


class _Sweep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, injection: Cells, ratios: Stack, backend: Backend, reverse: bool) -> Cells:
        solved = backend.sweep(injection, ratios, reverse)
        ctx.save_for_backward(ratios, solved)
        ctx.backend, ctx.reverse = backend, reverse
        return solved

    @staticmethod
    def backward(ctx: Any, gradient: Cells) -> tuple[Cells, Stack, None, None]:
        ratios, solved = ctx.saved_tensors
        transposed = sweep(gradient, ratios, backend=ctx.backend, reverse=not ctx.reverse)
        end, start = (solved, transposed) if ctx.reverse else (transposed, solved)
        return transposed, end * starts(start, 0.0), None, None


def backward_table(
    weights: Stack, source_lengths: Lengths, target_lengths: Lengths, *, backend: Backend, semiring: Semiring
) -> Cells:
    """Log-sum (or maximum) over all derivations of each suffix pair; 0 at the pair's own (n, m), NEG in the padding.

    Paper: section 3, "the same algorithm with the reversed order of iteration". Ours has `beta[0, 0] = alpha[n, m]`,
    theirs `beta[1, 1]`.
    """
    n, m = source_lengths, target_lengths
    # the arc from (i-1, j) to (i, j) enters, read backwards, the cell (n - (i-1), m - j)
    ends = ((n + 1, m), (n, m + 1), (n + 1, m + 1))
    mirrored = torch.stack([mirror(cells, *end) for cells, end in zip(weights, ends, strict=True)])
    return mirror(forward_table(mirrored, backend=backend, semiring=semiring), n, m)


def mirror(cells: Cells, last_row: Lengths, last_column: Lengths) -> Cells:
    """`result[i, j, b] = cells[last_row[b] - i, last_column[b] - j, b]`, NEG where that is outside the table."""
    height, width, batch = cells.shape
    rows = last_row - torch.arange(height, device=cells.device)[:, None, None]
    columns = last_column - torch.arange(width, device=cells.device)[:, None]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    pairs = torch.arange(batch, device=cells.device)
    return torch.where(inside, cells[rows.clamp(0, height - 1), columns.clamp(0, width - 1), pairs], NEG)
