"""Pair scores of the classes in every cell, every table in full: the readable twin."""

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from nsed.kernels.contracts import ClassScores, Constant, Features, SourceVectors, TargetVectors, Weight
from nsed.types import Table


def pair_scores(
    source: SourceVectors,
    target: TargetVectors,
    weight: Weight,
    constant: Constant,
    *,
    eps: float,
    dropout: float = 0.0,
) -> ClassScores:
    """See `PairScoresKernel.pair_scores`."""
    x, total, squares = features(source, target, dropout=dropout)
    return normed(functional.linear(x, weight), total, squares, constant, size=weight.shape[1], eps=eps)


def features(source: SourceVectors, target: TargetVectors, *, dropout: float = 0.0) -> Features:
    """See `PairScoresKernel.features`."""
    return dropped((source[:, :, None] + target[:, None]).relu(), dropout=dropout)


def dropped(x: Float[Tensor, "batch src tgt dim"], *, dropout: float) -> Features:
    """Dropout of features, with the sums of what is left."""
    x = functional.dropout(x, dropout)
    return Features(x, *moments_of(x))


def moments_of(vectors: Float[Tensor, "*cells dim"]) -> tuple[Float[Tensor, "*cells"], Float[Tensor, "*cells"]]:
    """Moments: sum and sum of squares over the last axis, in single precision at least."""
    vectors = vectors.to(torch.promote_types(vectors.dtype, torch.float32))
    return vectors.sum(-1), vectors.square().sum(-1)


def normed(
    projected: ClassScores, total: Table, squares: Table, constant: Constant, *, size: int, eps: float
) -> ClassScores:
    """Layer normalisation after projection: what was projected over the deviation of the features, plus constant."""
    variance = squares / size - (total / size).square()
    return projected * torch.rsqrt(variance.clamp(min=0) + eps)[..., None] + constant
