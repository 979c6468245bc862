"""Pair features on a CPU, and the scores of many classes from them, some pairs after the others.

Written for the compiler: slices are taken once per pair (each costs an atomic count of references), and sums may be
taken in any order (`reassoc`), so that they become vector instructions. Random numbers for dropout are made from one
seed and the place of a feature, so that the backward pass can make them again.

Where scores are all that is asked for, the features of a slice of the batch fit the cache: they are made there,
multiplied and overwritten by those of the next slice, and made again for the gradient. So no table of all features is
ever in memory.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from numba import njit
from torch import Tensor

from nsed.kernels.contracts import Features, SourceVectors, TargetVectors
from nsed.kernels.numba import array, run_kernel
from nsed.kernels.numba.math import U, mixed, number_of, places_of

CELLS = 2**14
"""Slice size in cells, about."""
compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


def features(source: SourceVectors, target: TargetVectors, *, dropout: float = 0.0) -> Features:
    """See `PairScoresKernel.features`."""
    return Features(*_Features.apply(source, target, dropout))


class _Features(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, source: Tensor, target: Tensor, dropout: float) -> tuple[Tensor, Tensor, Tensor]:
        sides = array(source), array(target)
        dtype, shape = sides[0].dtype, (*source.shape[:2], target.shape[1])
        made = np.empty((*shape, source.shape[2]), dtype), np.empty(shape, dtype), np.empty(shape, dtype)
        drawn = drops(dropout, dtype)
        run_kernel(table, *sides, *drawn, *made, pairs=len(source))
        ctx.x, ctx.scale = made[0], drawn[2]
        return torch.from_numpy(made[0]), torch.from_numpy(made[1]), torch.from_numpy(made[2])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        batch, rows, columns, dim = ctx.x.shape
        to_source, to_target = (np.zeros((batch, size, dim), ctx.x.dtype) for size in (rows, columns))
        run_kernel(untable, ctx.x, *map(array, gradients), ctx.scale, to_source, to_target, pairs=batch)
        return torch.from_numpy(to_source), torch.from_numpy(to_target), None


def drops(dropout: float, dtype: np.dtype) -> tuple[np.uint32, np.uint32, Any]:
    """Dropout parameters: a seed, the number below which features are dropped, and the factor of those that stay."""
    seed = int(torch.randint(2**31, ())) if dropout else 0
    return np.uint32(seed), np.uint32(dropout * 2**32), dtype.type(1 / (1 - dropout))


class Slice(NamedTuple):
    """Batch slice: some pairs, and the features of their cells."""

    pairs: slice
    x: Float[Tensor, "cells dim"]
    total: np.ndarray
    squares: np.ndarray


def _slices(sides: tuple[np.ndarray, np.ndarray], drawn: tuple[Any, Any, Any]) -> Iterator[Slice]:
    """Batch slices of all pairs; the features of one are gone when the next comes."""
    source, target = sides
    (batch, n, dim), m = source.shape, target.shape[1]
    at_once = max(1, min(batch, CELLS // max(n * m, 1)))
    space = np.empty((at_once, n, m, dim), source.dtype), *(np.empty((at_once, n, m), source.dtype) for _ in range(2))
    seed, dropped, scale = drawn
    for first in range(0, batch, at_once):
        pairs = slice(first, min(first + at_once, batch))
        x, total, squares = (part[: pairs.stop - first] for part in space)
        own = np.uint32((int(seed) + first) % 2**32)
        run_kernel(table, source[pairs], target[pairs], own, dropped, scale, x, total, squares, pairs=len(x))
        yield Slice(pairs, torch.from_numpy(x.reshape(-1, dim)), total, squares)


class SlicedScores(torch.autograd.Function):
    """Pair scores in batch slices: `PairScoresKernel.pair_scores` for any number of classes."""

    @staticmethod
    def forward(
        ctx: Any, source: Tensor, target: Tensor, weight: Tensor, constant: Tensor, eps: float, dropout: float
    ) -> Tensor:
        """Forward pass: the scores; features of a slice are made, multiplied and forgotten."""
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
        """Backward pass: the gradients; features are made again (recomputation)."""
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
            sides_of_slice = (side[part.pairs] for side in to_sides)
            run_kernel(untable, x, by_x, mean * share, -share / 2, drawn[2], *sides_of_slice, pairs=len(x))
        by_source, by_target = map(torch.from_numpy, to_sides)
        return by_source, by_target, to_weight, gradient.sum((0, 1, 2)), None, None


@compiled
def _table_pair(source, target, x, total, squares, places, seed, dropped, scale):
    zero = source.dtype.type(0)
    for i in range(source.shape[0]):
        for j in range(target.shape[0]):
            if dropped:
                cell = mixed(U(seed + U(i * target.shape[0] + j)))
                for k in range(source.shape[1]):
                    kept = number_of(cell, places[0, k]) >= dropped
                    x[i, j, k] = max(source[i, k] + target[j, k], zero) * (scale if kept else zero)
            else:
                for k in range(source.shape[1]):
                    x[i, j, k] = max(source[i, k] + target[j, k], zero)
            first, second = zero, zero
            for k in range(source.shape[1]):
                first += x[i, j, k]
                second += x[i, j, k] * x[i, j, k]
            total[i, j], squares[i, j] = first, second


@compiled
def table(source, target, seed, dropped, scale, x, total, squares, part, first, last):
    """The table of features with its sums and sums of squares, where many classes are scored."""
    places = places_of(source.shape[2])
    for pair in range(first, last):
        own = mixed(U(seed + U(pair)))
        _table_pair(source[pair], target[pair], x[pair], total[pair], squares[pair], places, own, dropped, scale)


@compiled
def _untable_pair(x, by_x, by_total, by_squares, scale, to_source, to_target):
    zero = x.dtype.type(0)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            linear, square = by_total[i, j], by_squares[i, j] + by_squares[i, j]
            for k in range(x.shape[2]):
                value = (by_x[i, j, k] + linear + square * x[i, j, k]) * scale
                value = value if x[i, j, k] > zero else zero
                to_source[i, k] += value
                to_target[j, k] += value


@compiled
def untable(x, by_x, by_total, by_squares, scale, to_source, to_target, part, first, last):
    """Adds the gradients by source and target of `table`."""
    for pair in range(first, last):
        _untable_pair(x[pair], by_x[pair], by_total[pair], by_squares[pair], scale, to_source[pair], to_target[pair])
