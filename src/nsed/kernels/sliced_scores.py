"""Scores of many classes on a CPU, some pairs after the others (extra `cpu`).

The features of a slice of the batch fit the cache: they are made there, multiplied and overwritten by those of the next
slice, and made again for the gradient. So no table of all features is ever in memory.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nsed.kernels.compiled import array
from nsed.kernels.compiled_features import drops, run

CELLS = 2**14
"""Cells of a slice, about."""


def sliced_scores(
    source: Float[Tensor, "batch src dim"],
    target: Float[Tensor, "batch tgt dim"],
    weight: Float[Tensor, "classes dim"],
    constant: Float[Tensor, " classes"],
    *,
    eps: float,
    dropout: float = 0.0,
) -> Float[Tensor, "batch src tgt classes"]:
    """`weight @ x` over the deviation of x, plus constant, where `x = dropout(relu(source[i] + target[j]))`.

    The rows of `weight` must have mean 0.
    """
    scores: Tensor = _Scores.apply(source, target, weight, constant, eps, dropout)  # type: ignore[no-untyped-call]  # torch's
    return scores


class Slice(NamedTuple):
    """Some pairs, and the features of their cells."""

    pairs: slice
    x: Float[Tensor, "cells dim"]
    total: np.ndarray
    squares: np.ndarray


def _slices(sides: tuple[np.ndarray, np.ndarray], drawn: tuple[Any, Any, Any]) -> Iterator[Slice]:
    """All pairs; the features of one slice are gone when the next comes."""
    source, target = sides
    (batch, n, dim), m = source.shape, target.shape[1]
    at_once = max(1, min(batch, CELLS // max(n * m, 1)))
    space = np.empty((at_once, n, m, dim), source.dtype), *(np.empty((at_once, n, m), source.dtype) for _ in range(2))
    seed, dropped, scale = drawn
    for first in range(0, batch, at_once):
        pairs = slice(first, min(first + at_once, batch))
        x, total, squares = (part[: pairs.stop - first] for part in space)
        own = np.uint32((int(seed) + first) % 2**32)
        run("table", source[pairs], target[pairs], own, dropped, scale, x, total, squares)
        yield Slice(pairs, torch.from_numpy(x.reshape(-1, dim)), total, squares)


class _Scores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, source: Tensor, target: Tensor, weight: Tensor, constant: Tensor, eps: float, dropout: float
    ) -> Tensor:
        sides, dim = (array(source), array(target)), source.shape[2]
        drawn, shape = drops(dropout, sides[0].dtype), (*source.shape[:2], target.shape[1])
        scores = source.new_empty(*shape, len(weight))
        means, inverses = np.empty(shape, sides[0].dtype), source.new_empty(*shape, 1)
        for part in _slices(sides, drawn):
            means[part.pairs] = part.total / dim
            variance = torch.from_numpy(np.maximum(part.squares / dim - means[part.pairs] ** 2, 0)) + eps
            inverses[part.pairs] = variance.rsqrt()[..., None]
            some = scores[part.pairs]
            torch.mm(part.x, weight.detach().T, out=some.view(len(part.x), len(weight)))
            some.mul_(inverses[part.pairs]).add_(constant.detach())
        ctx.save_for_backward(weight, constant, scores, inverses)
        ctx.kept = sides, drawn, means
        return scores

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None, None]:
        weight, constant, scores, inverses = ctx.saved_tensors
        sides, drawn, means = ctx.kept
        to_sides = np.zeros_like(sides[0]), np.zeros_like(sides[1])
        to_weight, dim = torch.zeros_like(weight), weight.shape[1]
        for part in _slices(sides, drawn):
            given, inverse = gradient[part.pairs], inverses[part.pairs]
            share = array(((scores[part.pairs] - constant) * given).sum(-1) * inverse[..., 0] ** 2 / dim)
            scaled = (given * inverse).view(len(part.x), len(weight))
            to_weight.addmm_(scaled.T, part.x)
            by_x = array(scaled @ weight).reshape(*share.shape, dim)
            x, mean = part.x.numpy().reshape(by_x.shape), means[part.pairs]
            run("untable", x, by_x, mean * share, -share / 2, drawn[2], *(side[part.pairs] for side in to_sides))
        by_source, by_target = map(torch.from_numpy, to_sides)
        return by_source, by_target, to_weight, gradient.sum((0, 1, 2)), None, None
