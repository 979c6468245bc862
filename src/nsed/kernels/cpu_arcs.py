"""Arcs of the exact normalisation from scores, by compiled kernels (extra `cpu`)."""

from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from nsed.kernels.compiled import array, has_numba, run_kernel
from nsed.types import NEG, Lengths, PerPair, Stack

KERNELS = "nsed.kernels.numba_arcs"


def can_run(scores: Float[Tensor, "batch src tgt classes"]) -> bool:
    """Whether there are kernels for a table like this one."""
    return scores.device.type == "cpu" and scores.dtype in (torch.float32, torch.float64) and has_numba()


def compiled_arcs(
    scores: Float[Tensor, "batch src tgt classes"],
    blocked: Float[Tensor, "2 classes"],
    target: Int[Tensor, "batch m"],
    lengths: tuple[Lengths, Lengths],
) -> tuple[Stack, PerPair]:
    """Log-probabilities of the arcs of the target's symbols, NEG beyond a pair's own cells, and of the target's end.

    `blocked` is NEG for what cannot happen in a cell with some source left, and in one without.
    """
    arcs, end = _Arcs.apply(scores, blocked, target, *lengths)  # type: ignore[no-untyped-call]  # torch's
    return arcs, end


class _Arcs(torch.autograd.Function):
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
        run_kernel(KERNELS, "forward", *given, arcs, ends, totals, pairs=batch)
        ctx.arrays = *given, totals
        return torch.from_numpy(arcs), torch.from_numpy(ends)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, to_arcs: Tensor, to_ends: Tensor) -> tuple[Tensor, None, None, None, None]:
        result = np.zeros_like(ctx.arrays[0])
        run_kernel(KERNELS, "backward", *ctx.arrays, array(to_arcs), array(to_ends), result, pairs=len(result))
        return torch.from_numpy(result), None, None, None, None
