"""Scores of all classes in every cell, and their gradient, on a GPU: the features of a cell are never in memory.

`x = dropout(relu(source[i] + target[j]))`, `score = (weight @ x) / deviation of x + constant`; rows of `weight` have
mean 0. Features are made block by block, multiplied and forgotten, and made again for the gradient. A program of the
gradient does some of the dimensions of some pairs, one pair after the other, and keeps its own sum for the weights:
no atomics, so that the same input always gives the same bits.
"""

import triton
import triton.language as tl


@triton.jit
def features(source, target, s_row, t_row, k, inside, seed, cell, DIM: tl.constexpr, DROPOUT: tl.constexpr):
    """A block of x, and by what each of its numbers was multiplied: 0 where it was cut or dropped."""
    s = tl.load(source + s_row[:, None] * DIM + k[None, :], mask=inside, other=0.0)
    t = tl.load(target + t_row[:, None] * DIM + k[None, :], mask=inside, other=0.0)
    summed = s + t
    factor = tl.where(summed > 0, 1.0, 0.0)
    if DROPOUT > 0:
        drawn = tl.rand(seed, cell[:, None] * DIM + k[None, :])
        factor = tl.where(drawn >= DROPOUT, factor / (1.0 - DROPOUT), 0.0)
    return summed * factor, factor


@triton.jit(do_not_specialize=["n", "m", "cells", "classes"])
def scores_forward(
    source, target, weight, constant, seeds, scores, means, inverses, n, m, cells, classes, eps,
    DIM: tl.constexpr, DROPOUT: tl.constexpr, CELLS: tl.constexpr, CLASSES: tl.constexpr, CHUNK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip
    """Scores [cells, classes] with the mean and the inverse deviation of each cell's x; `weight` is [DIM, classes]."""
    cell = tl.program_id(0) * CELLS + tl.arange(0, CELLS)
    is_cell = cell < cells
    pair, i, j = cell // (n * m), cell % (n * m) // m, cell % m
    label = tl.arange(0, CLASSES)
    seed = tl.load(seeds)
    total, squares = tl.zeros((CELLS,), tl.float32), tl.zeros((CELLS,), tl.float32)
    product = tl.zeros((CELLS, CLASSES), tl.float32)
    for start in range(0, DIM, CHUNK):
        k = start + tl.arange(0, CHUNK)
        inside = is_cell[:, None] & (k < DIM)[None, :]
        x, _ = features(source, target, pair * n + i, pair * m + j, k, inside, seed, cell, DIM, DROPOUT)
        total += tl.sum(x, 1)
        squares += tl.sum(x * x, 1)
        w_inside = (k < DIM)[:, None] & (label < classes)[None, :]
        w = tl.load(weight + k[:, None] * classes + label[None, :], mask=w_inside, other=0.0)
        product = tl.dot(x, w, product, input_precision=PRECISION)
    mean = total / DIM
    inverse = tl.rsqrt(tl.maximum(squares / DIM - mean * mean, 0.0) + eps)
    result = product * inverse[:, None] + tl.load(constant + label, mask=label < classes, other=0.0)[None, :]
    tl.store(
        scores + cell[:, None] * classes + label[None, :], result, mask=is_cell[:, None] & (label < classes)[None, :]
    )
    tl.store(means + cell, mean, mask=is_cell)
    tl.store(inverses + cell, inverse, mask=is_cell)


@triton.jit(do_not_specialize=["n", "m", "batch", "classes"])
def scores_backward(
    source, target, weight, constant, seeds, scores, means, inverses, gradient,
    to_source, to_target, to_weight, to_constant, n, m, batch, classes,
    DIM: tl.constexpr, DROPOUT: tl.constexpr, CELLS: tl.constexpr, CLASSES: tl.constexpr, CHUNK: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Gradients by source and target, and this program's part of those by weight and constant."""
    k = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    label, row, column = tl.arange(0, CLASSES), tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    seed, is_class, is_k = tl.load(seeds), label < classes, k < DIM
    w_place = k[None, :] * classes + label[:, None]
    w = tl.load(weight + w_place, mask=is_k[None, :] & is_class[:, None], other=0.0)
    base = tl.load(constant + label, mask=is_class, other=0.0)
    weight_sum, constant_sum = tl.zeros((CLASSES, CHUNK), tl.float32), tl.zeros((CLASSES,), tl.float32)
    pair = tl.program_id(0)
    while pair < batch:
        source_sum, target_sum = tl.zeros((ROWS, CHUNK), tl.float32), tl.zeros((COLUMNS, CHUNK), tl.float32)
        first = 0
        while first < n * m:
            here = first + tl.arange(0, CELLS)
            is_cell = here < n * m
            i, j, cell = here // m, here % m, pair * n * m + here
            place, known = cell[:, None] * classes + label[None, :], is_cell[:, None] & is_class[None, :]
            g = tl.load(gradient + place, mask=known, other=0.0)
            z = tl.load(scores + place, mask=known, other=0.0)
            mean = tl.load(means + cell, mask=is_cell, other=0.0)
            inverse = tl.load(inverses + cell, mask=is_cell, other=0.0)
            share = tl.sum(g * (z - base[None, :]), 1) / DIM
            inside = is_cell[:, None] & is_k[None, :]
            x, factor = features(source, target, pair * n + i, pair * m + j, k, inside, seed, cell, DIM, DROPOUT)
            scaled = g * inverse[:, None]
            weight_sum = tl.dot(tl.trans(scaled), x, weight_sum, input_precision=PRECISION)
            constant_sum += tl.sum(g, 0)
            normed = (x - mean[:, None]) * (inverse * inverse * share)[:, None]
            to_x = (tl.dot(scaled, w, input_precision=PRECISION) - normed) * factor
            in_row = tl.where(row[:, None] == i[None, :], 1.0, 0.0)
            in_column = tl.where(column[:, None] == j[None, :], 1.0, 0.0)
            source_sum = tl.dot(in_row, to_x, source_sum, input_precision=PRECISION)
            target_sum = tl.dot(in_column, to_x, target_sum, input_precision=PRECISION)
            first += CELLS
        s_place, t_place = (pair * n + row)[:, None] * DIM + k[None, :], (pair * m + column)[:, None] * DIM + k[None, :]
        tl.store(to_source + s_place, source_sum, mask=(row < n)[:, None] & is_k[None, :])
        tl.store(to_target + t_place, target_sum, mask=(column < m)[:, None] & is_k[None, :])
        pair += tl.num_programs(0)
    part = tl.program_id(0) * classes
    tl.store(to_weight + part * DIM + w_place, weight_sum, mask=is_k[None, :] & is_class[:, None])
    if tl.program_id(1) == 0:
        tl.store(to_constant + part + label, constant_sum, mask=is_class)
