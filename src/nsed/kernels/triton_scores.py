"""Scores of all classes in every cell, and their gradient, on a GPU: the features of a cell are never in memory.

`x = dropout(relu(source[i] + target[j]))`, `score = (weight @ x) / deviation of x + constant`; rows of `weight` have
mean 0. Features are made block by block, multiplied and forgotten, and made again for the gradients: by the two sides,
a pair per program, and by the weights, where every program keeps a sum of its own. There are no atomics, so that the
same input always gives the same bits.
"""

import triton
import triton.language as tl


@triton.jit
def mixed(number):
    """A number that looks random, the same one for the same number: shifts and odd factors spread every bit."""
    number = (number ^ (number >> 16)) * 0x7FEB352D
    number = (number ^ (number >> 15)) * 0x846CA68B
    return number ^ (number >> 16)


@triton.jit
def features(source, target, s_row, t_row, k, inside, seed, cell, DIM: tl.constexpr, DROPOUT: tl.constexpr):
    """A block of x, and by what each of its numbers was multiplied: 0 where it was cut or dropped."""
    s = tl.load(source + s_row[:, None] * DIM + k[None, :], mask=inside, other=0.0)
    t = tl.load(target + t_row[:, None] * DIM + k[None, :], mask=inside, other=0.0)
    summed = s + t
    factor = tl.where(summed > 0, 1.0, 0.0)
    if DROPOUT > 0:
        drawn = mixed((seed.to(tl.int32) + cell[:, None] * DIM + k[None, :]).to(tl.uint32))
        factor = tl.where(drawn >= DROPOUT * 4294967296.0, factor / (1.0 - DROPOUT), 0.0)
    return summed * factor, factor


@triton.jit(do_not_specialize=["n", "m", "cells", "classes"])
def scores_forward(
    source, target, weight, constant, seeds, scores, means, inverses, n, m, cells, classes, eps,
    DIM: tl.constexpr, DROPOUT: tl.constexpr, CELLS: tl.constexpr, CLASSES: tl.constexpr, CHUNK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip  # an argument a line would be a page
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


@triton.jit(do_not_specialize=["cells", "classes"])
def score_shares(scores, constant, gradient, shares, cells, classes, CELLS: tl.constexpr, CLASSES: tl.constexpr):
    """What the gradient of a cell's x has in common with x itself: the deviation's part of it."""
    cell, label = tl.program_id(0) * CELLS + tl.arange(0, CELLS), tl.arange(0, CLASSES)
    place, known = cell[:, None] * classes + label[None, :], (cell < cells)[:, None] & (label < classes)[None, :]
    z = tl.load(scores + place, mask=known, other=0.0)
    z -= tl.load(constant + label, mask=label < classes, other=0.0)[None, :]
    share = tl.sum(tl.load(gradient + place, mask=known, other=0.0) * z, 1)
    tl.store(shares + cell, share, mask=cell < cells)


@triton.jit(do_not_specialize=["n", "m", "classes"])
def sides_backward(
    source, target, weight, seeds, means, inverses, shares, gradient, to_source, to_target, n, m, classes,
    DIM: tl.constexpr, DROPOUT: tl.constexpr, CELLS: tl.constexpr, CLASSES: tl.constexpr, CHUNK: tl.constexpr,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip  # an argument a line would be a page
    """Gradients by source and target, some dimensions of one pair per program."""
    pair, k = tl.program_id(0), tl.program_id(1) * CHUNK + tl.arange(0, CHUNK)
    label, row, column, seed, is_k = (
        tl.arange(0, CLASSES),
        tl.arange(0, ROWS),
        tl.arange(0, COLUMNS),
        tl.load(seeds),
        k < DIM,
    )
    w_inside = is_k[None, :] & (label < classes)[:, None]
    w = tl.load(weight + k[None, :] * classes + label[:, None], mask=w_inside, other=0.0)
    source_sum, target_sum = tl.zeros((ROWS, CHUNK), tl.float32), tl.zeros((COLUMNS, CHUNK), tl.float32)
    first = 0
    while first < n * m:
        here = first + tl.arange(0, CELLS)
        is_cell, i, j, cell = here < n * m, here // m, here % m, pair * n * m + here
        known = is_cell[:, None] & (label < classes)[None, :]
        g = tl.load(gradient + cell[:, None] * classes + label[None, :], mask=known, other=0.0)
        inverse = tl.load(inverses + cell, mask=is_cell, other=0.0)
        share = tl.load(shares + cell, mask=is_cell, other=0.0) * inverse / DIM
        mean = tl.load(means + cell, mask=is_cell, other=0.0)
        inside = is_cell[:, None] & is_k[None, :]
        x, factor = features(source, target, pair * n + i, pair * m + j, k, inside, seed, cell, DIM, DROPOUT)
        product = tl.dot(g, w, input_precision=PRECISION)
        to_x = (product - (x - mean[:, None]) * share[:, None]) * inverse[:, None] * factor
        in_row = tl.where(row[:, None] == i[None, :], 1.0, 0.0)
        in_column = tl.where(column[:, None] == j[None, :], 1.0, 0.0)
        source_sum = tl.dot(in_row, to_x, source_sum, input_precision=PRECISION)
        target_sum = tl.dot(in_column, to_x, target_sum, input_precision=PRECISION)
        first += CELLS
    s_place, t_place = (pair * n + row)[:, None] * DIM + k[None, :], (pair * m + column)[:, None] * DIM + k[None, :]
    tl.store(to_source + s_place, source_sum, mask=(row < n)[:, None] & is_k[None, :])
    tl.store(to_target + t_place, target_sum, mask=(column < m)[:, None] & is_k[None, :])


@triton.jit(do_not_specialize=["n", "m", "cells", "classes"])
def weight_backward(
    source, target, seeds, inverses, gradient, to_weight, to_constant, n, m, cells, classes,
    DIM: tl.constexpr, DROPOUT: tl.constexpr, CELLS: tl.constexpr, CLASSES: tl.constexpr, CHUNK: tl.constexpr,
    PRECISION: tl.constexpr,
):  # fmt: skip  # an argument a line would be a page
    """This program's part of the gradients by weight and constant: some dimensions of some cells."""
    k, label, seed = tl.program_id(1) * CHUNK + tl.arange(0, CHUNK), tl.arange(0, CLASSES), tl.load(seeds)
    is_k, is_class = k < DIM, label < classes
    weight_sum, constant_sum = tl.zeros((CLASSES, CHUNK), tl.float32), tl.zeros((CLASSES,), tl.float32)
    first = tl.program_id(0) * CELLS
    while first < cells:
        cell = first + tl.arange(0, CELLS)
        is_cell, pair, i, j = cell < cells, cell // (n * m), cell % (n * m) // m, cell % m
        known = is_cell[None, :] & is_class[:, None]
        g = tl.load(gradient + cell[None, :] * classes + label[:, None], mask=known, other=0.0)
        inside = is_cell[:, None] & is_k[None, :]
        x, _ = features(source, target, pair * n + i, pair * m + j, k, inside, seed, cell, DIM, DROPOUT)
        scaled = x * tl.load(inverses + cell, mask=is_cell, other=0.0)[:, None]
        weight_sum = tl.dot(g, scaled, weight_sum, input_precision=PRECISION)
        constant_sum += tl.sum(g, 1)
        first += tl.num_programs(0) * CELLS
    part = tl.program_id(0) * classes
    place = part * DIM + k[None, :] * classes + label[:, None]
    tl.store(to_weight + place, weight_sum, mask=is_k[None, :] & is_class[:, None])
    if tl.program_id(1) == 0:
        tl.store(to_constant + part + label, constant_sum, mask=is_class)
