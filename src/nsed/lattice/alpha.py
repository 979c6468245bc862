"""The forward table and its gradient: one recursion, one reverse sweep, for every loss, semiring and backend.

Backends supply two plain functions that autograd does not see. The two autograd functions here turn them into
operations that can be differentiated any number of times.
"""

from typing import Any

import torch

from nsed.kernels.contracts import Backend
from nsed.kernels.semiring import Semiring, incoming, starts
from nsed.types import NEG, Cells, Stack


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
