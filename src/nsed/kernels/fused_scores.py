"""Pair features and the scores of the Matcher's four classes in one compiled pass on a CPU (extra `cpu`).

Equal to `PairFeatures.rectified`, dropout and `NormedProjection`, without similarities (`sliced_scores.py` has the
Transducer's many classes). Tables of scores have the batch innermost in memory, as the kernels that read them want it.
"""

from importlib import import_module
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from nsed.kernels.compiled import array, parts_of, run_kernel
from nsed.kernels.compiled_features import can_compile, drops

Classes = Float[Tensor, "batch src tgt classes"]
CLASSES, LANES = 4, 16
"""What the kernels are written for: so many classes, and a number of features that is a multiple of so many."""
KERNELS = "nsed.kernels.numba_scores"
CLASSES_FIRST = BATCH_FIRST = (3, 1, 2, 0)
"""From [batch, src, tgt, classes] to how tables lie in memory, and back."""


def can_fuse(source: Float[Tensor, "batch src dim"], weight: Float[Tensor, "classes dim"]) -> bool:
    """Whether there is a kernel for that many classes too."""
    return can_compile(source) and len(weight) == CLASSES


def fused_scores(
    source: Float[Tensor, "batch src dim"],
    target: Float[Tensor, "batch tgt dim"],
    weight: Float[Tensor, "classes dim"],
    constant: Float[Tensor, " classes"],
    *,
    eps: float,
    dropout: float = 0.0,
) -> Classes:
    """`weight @ x` over the deviation of x, plus constant, where `x = dropout(relu(source[i] + target[j]))`.

    The rows of `weight` must have mean 0.
    """
    size = source.shape[-1]
    padded = (functional.pad(part, (0, -size % LANES)) if size % LANES else part for part in (source, target, weight))
    scores: Classes = _Scores.apply(*padded, constant, size, eps, dropout)  # type: ignore[no-untyped-call]  # torch's
    return scores


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        source: Tensor,
        target: Tensor,
        weight: Tensor,
        constant: Tensor,
        size: int,
        eps: float,
        dropout: float,
    ) -> Tensor:
        arrays = [array(part) for part in (source, target, weight, constant)]
        dtype, shape = arrays[0].dtype, (*source.shape[:2], target.shape[1])
        seed, dropped, scale = drops(dropout, dtype)
        places = _places(source.shape[-1]) if dropout else None
        given = *arrays, dtype.type(size), dtype.type(eps) / scale**2, seed, dropped, places
        scores, moments = source.new_empty(CLASSES, *shape[1:], shape[0]), source.new_empty(*shape, 2)
        run_kernel(KERNELS, "forward", *given, scores.numpy(), moments.numpy(), pairs=len(source))
        ctx.given, ctx.made = given, (scores, moments)
        return scores.permute(BATCH_FIRST)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        source, target, weight, _ = (torch.from_numpy(part) for part in ctx.given[:4])
        parts = len(parts_of(len(source)))
        by_weight, by_constant = weight.new_zeros(parts, *weight.shape), weight.new_zeros(parts, CLASSES)
        made = torch.empty_like(source), torch.empty_like(target), by_weight, by_constant
        arrays = map(array, (*ctx.made, gradient.permute(CLASSES_FIRST), *made))
        run_kernel(KERNELS, "backward", *ctx.given, *arrays, pairs=len(source))
        return *made[:2], by_weight.sum(0), by_constant.sum(0), None, None, None


def _places(size: int) -> Any:
    """The random numbers of features; the kernels are compiled once for dropout and once for none."""
    return import_module("nsed.kernels.numba_random").places_of(size)
