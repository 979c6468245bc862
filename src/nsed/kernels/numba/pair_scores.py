"""Pair scores of the classes in every cell on a CPU: of the Matcher's four in one compiled pass, of more in slices.

Four classes: no table of features ever exists. Per cell: x = relu(s + t); the classes' products with x, and the
deviation of x, in one pass over the features. The backward pass computes x again. All sums are kept in registers:
forward those of three neighbouring cells, so that the weights are read once for all of them; backward those of the
weights, sixteen features of all cells after the others.

Tables of scores are [4, n, m, pairs]: the batch innermost in memory, as the kernels that read them want it. The number
of features is a multiple of sixteen; beyond the real `size` they are 0. With dropout the features that stay are not
scaled: the deviation, by which all is divided, takes any scale out again, and `eps` is that of unscaled ones.
"""

import math
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor
from torch.nn import functional

from nsed.kernels.contracts import ClassScores, Constant, SourceVectors, TargetVectors, Weight
from nsed.kernels.numba import array, parts_of, run_kernel
from nsed.kernels.numba.math import U, mixed, places_of
from nsed.kernels.numba.pair_features import SlicedScores, drops, features
from nsed.kernels.numba.vectors import LANES, kept_at_random, load, rectified, spread, store, total, where_positive

__all__ = ["features", "fused_scores", "pair_scores"]

CLASSES = 4
"""Class count that the kernels of this file are written for."""
CLASSES_FIRST = BATCH_FIRST = (3, 1, 2, 0)
"""Axis permutation from [batch, src, tgt, classes] to how tables lie in memory, and back."""
FASTMATH = {"reassoc", "contract", "nsz"}
ONE = np.float32(1)
compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath=FASTMATH)
inlined = njit(nogil=True, inline="always", error_model="numpy", fastmath=FASTMATH)


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
    if len(weight) != CLASSES:
        scores: ClassScores = SlicedScores.apply(source, target, weight, constant, eps, dropout)
        return scores
    return fused_scores(source, target, weight, constant, eps=eps, dropout=dropout)


def fused_scores(
    source: SourceVectors,
    target: TargetVectors,
    weight: Weight,
    constant: Constant,
    *,
    eps: float,
    dropout: float = 0.0,
) -> ClassScores:
    """Fused pair scores of four classes."""
    size = source.shape[-1]
    padded = (functional.pad(part, (0, -size % LANES)) if size % LANES else part for part in (source, target, weight))
    scores: ClassScores = _Scores.apply(*padded, constant, size, eps, dropout)
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
        places = places_of(source.shape[-1]) if dropout else None  # compiled once for dropout and once for none
        given = *arrays, dtype.type(size), dtype.type(eps) / scale**2, seed, dropped, places
        scores, moments = source.new_empty(CLASSES, *shape[1:], shape[0]), source.new_empty(*shape, 2)
        run_kernel(scores_forward, *given, scores.numpy(), moments.numpy(), pairs=len(source))
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
        run_kernel(scores_backward, *ctx.given, *arrays, pairs=len(source))
        return *made[:2], by_weight.sum(0), by_constant.sum(0), None, None, None


@inlined
def _feature(symbol, target, j, k, cell, places, dropped):
    """Some features of a cell; with `places` each is dropped if its own random number is below `dropped`."""
    x = rectified(symbol + load(target, j, k))
    if places is not None:
        x = kept_at_random(x, load(places, 0, k), cell, dropped)
    return x


@inlined
def added(sums, x, weights):
    """Sum, sum of squares, and the products with the weights."""
    a, b, c, d = weights
    return sums[0] + x, sums[1] + x * x, sums[2] + x * a, sums[3] + x * b, sums[4] + x * c, sums[5] + x * d


@inlined
def four(weight, k):
    """Some weights of all four classes."""
    return load(weight, 0, k), load(weight, 1, k), load(weight, 2, k), load(weight, 3, k)


@inlined
def _finish(scores, moments, pair, i, j, sums, constant, size, eps, zero):
    """What a cell's sums say: its scores, and the mean and inverse deviation of its features."""
    mean = total(sums[0]) / size
    inverse = ONE / math.sqrt(max(total(sums[1]) / size - mean * mean, zero) + eps)
    for c in range(4):
        scores[c, i, j, pair] = total(sums[2 + c]) * inverse + constant[c]
    moments[pair, i, j, 0], moments[pair, i, j, 1] = mean, inverse


@compiled
def _forward_pair(source, target, weight, constant, size, eps, scores, moments, pair, places, seed, dropped):
    columns, zero = target.shape[0], source.dtype.type(0)
    nothing = spread(zero)
    for i in range(source.shape[0]):
        for j in range(0, columns, 3):
            second, third = min(j + 1, columns - 1), min(j + 2, columns - 1)
            row = i * columns
            a, b, c = mixed(U(seed + U(row + j))), mixed(U(seed + U(row + second))), mixed(U(seed + U(row + third)))
            one = other = last = (nothing, nothing, nothing, nothing, nothing, nothing)
            for k in range(0, source.shape[1], LANES):
                symbol, weights = load(source, i, k), four(weight, k)
                one = added(one, _feature(symbol, target, j, k, a, places, dropped), weights)
                other = added(other, _feature(symbol, target, second, k, b, places, dropped), weights)
                last = added(last, _feature(symbol, target, third, k, c, places, dropped), weights)
            _finish(scores, moments, pair, i, j, one, constant, size, eps, zero)
            _finish(scores, moments, pair, i, second, other, constant, size, eps, zero)
            _finish(scores, moments, pair, i, third, last, constant, size, eps, zero)


@compiled
def scores_forward(
    source, target, weight, constant, size, eps, seed, dropped, places, scores, moments, part, first, last
):
    """All cells of some pairs; `moments` keeps the mean and the inverse deviation of the features of each."""
    for pair in range(first, last):
        own = mixed(U(seed + U(pair)))
        _forward_pair(
            source[pair], target[pair], weight, constant, size, eps, scores, moments, pair, places, own, dropped
        )


@compiled
def _slopes(gradient, scores, constant, moments, pair, size, cells, to_constant):
    """What the gradient of a feature is made of, per cell: four factors of weights, one of the feature, and a rest."""
    _, rows, columns, _ = scores.shape
    for i in range(rows):
        for j in range(columns):
            cell, along = i * columns + j, constant[0] * 0
            mean, inverse = moments[pair, i, j, 0], moments[pair, i, j, 1]
            for c in range(4):
                slope = gradient[c, i, j, pair]
                to_constant[c] += slope
                along += slope * (scores[c, i, j, pair] - constant[c])
                cells[cell, c] = slope * inverse
            cells[cell, 4] = along / size * inverse * inverse
            cells[cell, 5] = mean * cells[cell, 4]


@compiled
def _backward_pair(source, target, weight, cells, to_source, to_target, to_weight, numbers, places, dropped):
    rows, columns, nothing = source.shape[0], target.shape[0], spread(source.dtype.type(0))
    for k in range(0, source.shape[1], LANES):
        w0, w1, w2, w3 = four(weight, k)
        d0 = d1 = d2 = d3 = nothing
        for j in range(columns):
            store(to_target, j, k, nothing)
        for i in range(rows):
            symbol, by_symbol = load(source, i, k), nothing
            for j in range(columns):
                cell = i * columns + j
                x = _feature(symbol, target, j, k, numbers[cell], places, dropped)
                g0, g1 = spread(cells[cell, 0]), spread(cells[cell, 1])
                g2, g3 = spread(cells[cell, 2]), spread(cells[cell, 3])
                value = spread(cells[cell, 5]) - spread(cells[cell, 4]) * x + g0 * w0 + g1 * w1 + g2 * w2 + g3 * w3
                value = where_positive(x, value)
                by_symbol = by_symbol + value
                store(to_target, j, k, load(to_target, j, k) + value)
                d0, d1, d2, d3 = d0 + g0 * x, d1 + g1 * x, d2 + g2 * x, d3 + g3 * x
            store(to_source, i, k, by_symbol)
        store(to_weight, 0, k, load(to_weight, 0, k) + d0)
        store(to_weight, 1, k, load(to_weight, 1, k) + d1)
        store(to_weight, 2, k, load(to_weight, 2, k) + d2)
        store(to_weight, 3, k, load(to_weight, 3, k) + d3)


@compiled
def scores_backward(
    source,
    target,
    weight,
    constant,
    size,
    eps,
    seed,
    dropped,
    places,
    scores,
    moments,
    gradient,
    to_source,
    to_target,
    to_weight,
    to_constant,
    part,
    first,
    last,
):
    """The gradients; each part of the work has weights and constants of its own to add to."""
    cells = np.empty((source.shape[1] * target.shape[1], 6), source.dtype)
    numbers = np.empty(len(cells), np.uint32)
    for pair in range(first, last):
        own = mixed(U(seed + U(pair)))
        for cell in range(len(cells)):
            numbers[cell] = mixed(U(own + U(cell)))
        _slopes(gradient, scores, constant, moments, pair, size, cells, to_constant[part])
        _backward_pair(
            source[pair],
            target[pair],
            weight,
            cells,
            to_source[pair],
            to_target[pair],
            to_weight[part],
            numbers,
            places,
            dropped,
        )
