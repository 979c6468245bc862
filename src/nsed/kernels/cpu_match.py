"""Arcs of the Matcher from scores, by compiled kernels (extra `cpu`)."""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from nsed.kernels.compiled import array, run_light_kernel
from nsed.kernels.fused_scores import BATCH_FIRST, CLASSES_FIRST
from nsed.types import Table


def compiled_match(scores: Float[Tensor, "batch src tgt classes"]) -> tuple[Table, Table, Table, Table]:
    """Log-probabilities of delete, insert, substitute and non-match in the cells that they enter."""
    tables: tuple[Table, Table, Table, Table] = _Match.apply(scores)  # type: ignore[no-untyped-call]  # torch's
    return tables


class _Match(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> tuple[Tensor, ...]:
        given = scores.detach().permute(CLASSES_FIRST).contiguous()
        arcs = torch.empty_like(given)
        _run("forward", given.numpy(), arcs.numpy())
        ctx.arcs = arcs
        return tuple(table.permute(2, 0, 1) for table in arcs)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        result, total = torch.zeros_like(ctx.arcs), ctx.arcs.new_empty(ctx.arcs.shape[-1])
        given = (array(gradient.permute(1, 2, 0)) for gradient in gradients)
        _run("backward", ctx.arcs.numpy(), *given, total.numpy(), result.numpy())
        return result.permute(BATCH_FIRST)


def _run(name: str, *arrays: Any) -> None:
    _, rows, columns, pairs = arrays[0].shape
    run_light_kernel("nsed.kernels.numba_match", name, *arrays, pairs=pairs, cells=rows * columns)
