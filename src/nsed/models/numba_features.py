"""Scores of four classes per cell from the symbols' projections, compiled: no table of features ever exists.

Per cell: x = relu(s + t); the classes' products with x, and the deviation of x, in one pass over the features. The
backward pass computes x again. Written for the compiler: slices are taken once per pair (each costs an atomic count of
references), inner loops have few arrays (so that it can see that these do not overlap), and sums may be taken in any
order (`reassoc`), so that they become vector instructions.
"""

import math

import numpy as np
from numba import njit

U = np.uint32
compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@njit(nogil=True, inline="always", error_model="numpy")
def mixed(number):
    """A number that looks random, the same one for the same number: shifts and odd factors spread every bit."""
    number = U((number ^ (number >> U(16))) * U(0x7FEB352D))
    number = U((number ^ (number >> U(15))) * U(0x846CA68B))
    return U(number ^ (number >> U(16)))


@njit(nogil=True, inline="always", error_model="numpy")
def _rectify(source, target, i, j, x, seed, dropped, scale):
    """Features of a cell; with dropout each is dropped if its own random number is below `dropped`."""
    zero = source.dtype.type(0)
    if dropped:
        start = U(seed + U((i * target.shape[0] + j) * x.size))
        for k in range(x.size):
            kept = mixed(U(start + U(k))) >= dropped
            x[k] = max(source[i, k] + target[j, k], zero) * (scale if kept else zero)
    else:
        for k in range(x.size):
            x[k] = max(source[i, k] + target[j, k], zero)


@compiled
def _forward_pair(source, target, weight, eps, products, moments, seed, dropped, scale):
    zero, one, size = source.dtype.type(0), source.dtype.type(1), source.dtype.type(source.shape[1])
    for i in range(source.shape[0]):
        for j in range(target.shape[0]):
            start = U(seed + U((i * target.shape[0] + j) * source.shape[1]))
            total, squares, a, b, c, d = zero, zero, zero, zero, zero, zero
            for k in range(source.shape[1]):
                x = max(source[i, k] + target[j, k], zero)
                if dropped:
                    x *= scale if mixed(U(start + U(k))) >= dropped else zero
                total += x
                squares += x * x
                a += x * weight[0, k]
                b += x * weight[1, k]
                c += x * weight[2, k]
                d += x * weight[3, k]
            mean = total / size
            inverse = one / math.sqrt(max(squares / size - mean * mean, zero) + eps)
            products[i, j, 0], products[i, j, 1] = a * inverse, b * inverse
            products[i, j, 2], products[i, j, 3] = c * inverse, d * inverse
            moments[i, j, 0], moments[i, j, 1] = mean, inverse


@compiled
def forward(source, target, weight, eps, seed, dropped, scale, products, moments, part, first, last):
    """All cells of some pairs; `moments` keeps the mean and the inverse deviation of the features of each."""
    for pair in range(first, last):
        own = mixed(U(seed + U(pair)))
        _forward_pair(source[pair], target[pair], weight, eps, products[pair], moments[pair], own, dropped, scale)


@compiled
def _backward_pair(
    source, target, weight, gradient, products, moments, to_source, to_target, to_weight, x, by_x, seed, dropped, scale
):
    zero, size = source.dtype.type(0), source.dtype.type(source.shape[1])
    for i in range(source.shape[0]):
        for j in range(target.shape[0]):
            mean, inverse, along = moments[i, j, 0], moments[i, j, 1], zero
            for c in range(4):
                along += gradient[i, j, c] * products[i, j, c]
            slope = along / size * inverse * inverse
            g0, g1 = gradient[i, j, 0] * inverse, gradient[i, j, 1] * inverse
            g2, g3 = gradient[i, j, 2] * inverse, gradient[i, j, 3] * inverse
            _rectify(source, target, i, j, x, seed, dropped, scale)
            for k in range(x.size):
                value = g0 * weight[0, k] + g1 * weight[1, k] + g2 * weight[2, k] + g3 * weight[3, k]
                by_x[k] = (value - (x[k] - mean) * slope) * scale if x[k] > zero else zero
            for k in range(x.size):
                to_source[i, k] += by_x[k]
                to_target[j, k] += by_x[k]
            for k in range(x.size):
                to_weight[0, k] += g0 * x[k]
                to_weight[1, k] += g1 * x[k]
            for k in range(x.size):
                to_weight[2, k] += g2 * x[k]
                to_weight[3, k] += g3 * x[k]


@compiled
def backward(
    source,
    target,
    weight,
    seed,
    dropped,
    scale,
    gradient,
    products,
    moments,
    to_source,
    to_target,
    to_weight,
    part,
    first,
    last,
):
    """Adds the gradients by source, target and weight; each part of the work has weights of its own to add to."""
    x, by_x = np.empty_like(weight[0]), np.empty_like(weight[0])
    for pair in range(first, last):
        _backward_pair(
            source[pair],
            target[pair],
            weight,
            gradient[pair],
            products[pair],
            moments[pair],
            to_source[pair],
            to_target[pair],
            to_weight[part],
            x,
            by_x,
            mixed(U(seed + U(pair))),
            dropped,
            scale,
        )


@compiled
def _table_pair(source, target, x, total, squares, seed, dropped, scale):
    zero = source.dtype.type(0)
    for i in range(source.shape[0]):
        for j in range(target.shape[0]):
            if dropped:
                start = U(seed + U((i * target.shape[0] + j) * source.shape[1]))
                for k in range(source.shape[1]):
                    kept = mixed(U(start + U(k))) >= dropped
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
    for pair in range(first, last):
        own = mixed(U(seed + U(pair)))
        _table_pair(source[pair], target[pair], x[pair], total[pair], squares[pair], own, dropped, scale)


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
