"""Pair scores of all classes in every cell, and their gradient, on a GPU: a cell's features are never in memory.

`x = dropout(relu(source[i] + target[j]))`, `score = (weight @ x) / deviation of x + constant`; rows of `weight` have
mean 0. Features are made block by block, multiplied and forgotten, and made again for the gradients: by the two sides,
a pair per program, and by the weights, where every program keeps a sum of its own. There are no atomics, so that the
same input always gives the same bits. To torch it is an operation of its own, with a gradient.
"""

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from nsed.kernels.contracts import ClassScores, Constant, SourceVectors, TargetVectors, Weight
from nsed.kernels.torch.pair_scores import features
from nsed.kernels.triton import launch, power_of_two

__all__ = ["features", "pair_scores", "scores_of_all"]  # tables of features are torch's own

PROGRAMS = 66
"""Grid size: programs that share the cells in the weights' gradient, per block of dimensions."""


def pair_scores(
    source: SourceVectors,
    target: TargetVectors,
    weight: Weight,
    constant: Constant,
    *,
    eps: float,
    dropout: float = 0.0,
) -> ClassScores:
    """See `PairScoresKernel.pair_scores`. Dropout draws one seed from torch's generator."""
    seed = torch.randint(2**31, (1,), device=source.device) if dropout else source.new_zeros(1, dtype=torch.long)
    columns = weight.float().T.contiguous()
    scores: Tensor = scores_operation(source.float(), target.float(), columns, constant.float(), seed, eps, dropout)[0]
    return scores


def scores_of_all(
    source: Float[Tensor, "kinds dim"],
    target: Float[Tensor, "others dim"],
    weight: Weight,
    constant: Constant,
    *,
    eps: float,
) -> Float[Tensor, "kinds others classes"]:
    """Pair scores of all pairs of some vectors."""
    return pair_scores(source[None], target[None], weight, constant, eps=eps)[0]


@torch.library.custom_op("nsed::pair_scores", mutates_args=())
def scores_operation(
    source: Tensor, target: Tensor, weight: Tensor, constant: Tensor, seed: Tensor, eps: float, dropout: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Forward pass: scores `[batch, n, m, classes]`, and the mean and inverse deviation of each cell's features."""
    source, target, weight, constant = (part.contiguous() for part in (source, target, weight, constant))
    scores, means, inverses = _empty(source, target, constant)
    cells, classes, block = means.numel(), len(constant), power_of_two(len(constant), least=16)
    launch(scores_forward, (-(-cells // 32),),
        source, target, weight, constant, seed, scores, means, inverses,
        source.shape[1], target.shape[1], cells, classes, eps,
        DIM=source.shape[2], DROPOUT=dropout, CELLS=32, CLASSES=block, CHUNK=_chunk(source.shape[2], 32),
        PRECISION=_precision(), num_warps=_warps(block),
    )  # fmt: skip  # an argument a line would be a page
    return scores, means, inverses


@torch.library.custom_op("nsed::pair_scores_backward", mutates_args=())
def scores_backward_operation(
    source: Tensor, target: Tensor, weight: Tensor, constant: Tensor, seed: Tensor, scores: Tensor, means: Tensor,
    inverses: Tensor, gradient: Tensor, dropout: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip  # an argument a line would be a page
    """Backward pass: gradients by source, target, weight and constant."""
    given = (source, target, weight, constant, seed, scores, means, inverses, gradient)
    source, target, weight, constant, seed, scores, means, inverses, gradient = (part.contiguous() for part in given)
    shares, sides = _shares(constant, scores, gradient), (torch.empty_like(source), torch.empty_like(target))
    sizes, classes, block = (source.shape[1], target.shape[1]), len(constant), power_of_two(len(constant), least=16)
    chunk, programs = _chunk(source.shape[2], 64 if block <= 128 else 32), min(-(-means.numel() // 32), PROGRAMS)
    same = {"DIM": source.shape[2], "CLASSES": block, "CHUNK": chunk, "DROPOUT": dropout, "PRECISION": _precision()}
    grid, warps = -(-source.shape[2] // chunk), _warps(block)
    launch(sides_backward, (len(source), grid),
        source, target, weight, seed, means, inverses, shares, gradient, *sides, *sizes, classes,
        ROWS=power_of_two(sizes[0], least=16), COLUMNS=power_of_two(sizes[1], least=16), CELLS=16, **same,
        num_warps=warps,
    )  # fmt: skip  # an argument a line would be a page
    parts = source.new_empty(programs, source.shape[2], classes), source.new_empty(programs, classes)
    launch(weight_backward, (programs, grid),
        source, target, seed, inverses, gradient, *parts, *sizes, means.numel(), classes,
        CELLS=32, **same, num_warps=warps,
    )  # fmt: skip  # an argument a line would be a page
    return *sides, parts[0].sum(0), parts[1].sum(0)


def _shares(constant: Tensor, scores: Tensor, gradient: Tensor) -> Tensor:
    block = power_of_two(len(constant), least=16)
    shares, at_once = scores.new_empty(scores.shape[:-1]), max(1, 2048 // block)
    launch(
        score_shares,
        (-(-shares.numel() // at_once),),
        scores,
        constant,
        gradient,
        shares,
        shares.numel(),
        len(constant),
        CELLS=at_once,
        CLASSES=block,
    )
    return shares


def _warps(block: int) -> int:
    return 4 if block <= 128 else 8


def _empty(source: Tensor, target: Tensor, constant: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    cells = (*source.shape[:2], target.shape[1])
    return source.new_empty(*cells, len(constant)), source.new_empty(cells), source.new_empty(cells)


def _chunk(dim: int, most: int) -> int:
    """Block size: dimensions that are done at once."""
    return min(power_of_two(dim, least=16), most)


def _precision() -> str:
    """Input precision of products (tf32 or ieee), as torch computes its own."""
    return "ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32"


@scores_operation.register_fake
def _(source: Tensor, target: Tensor, weight: Tensor, constant: Tensor, seed: Tensor, eps: float, dropout: float):
    return _empty(source, target, constant)


@scores_backward_operation.register_fake
def _(source, target, weight, constant, *_):
    return tuple(torch.empty_like(part) for part in (source, target, weight, constant))


def _keep(ctx, inputs, output) -> None:
    *tensors, _, ctx.dropout = inputs
    ctx.save_for_backward(*tensors, *output)


def _gradient(ctx, gradient, *_):
    return *scores_backward_operation(*ctx.saved_tensors, gradient, ctx.dropout), None, None, None


scores_operation.register_autograd(_gradient, setup_context=_keep)


@triton.jit
def mixed(number):
    """A number that looks random, the same one for the same number: shifts and odd factors spread every bit."""
    number = (number ^ (number >> 16)) * 0x7FEB352D
    number = (number ^ (number >> 15)) * 0x846CA68B
    return number ^ (number >> 16)


@triton.jit
def feature_block(source, target, s_row, t_row, k, inside, seed, cell, DIM: tl.constexpr, DROPOUT: tl.constexpr):
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
        x, _ = feature_block(source, target, pair * n + i, pair * m + j, k, inside, seed, cell, DIM, DROPOUT)
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
        x, factor = feature_block(source, target, pair * n + i, pair * m + j, k, inside, seed, cell, DIM, DROPOUT)
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
        x, _ = feature_block(source, target, pair * n + i, pair * m + j, k, inside, seed, cell, DIM, DROPOUT)
        scaled = x * tl.load(inverses + cell, mask=is_cell, other=0.0)[:, None]
        weight_sum = tl.dot(g, scaled, weight_sum, input_precision=PRECISION)
        constant_sum += tl.sum(g, 1)
        first += tl.num_programs(0) * CELLS
    part = tl.program_id(0) * classes
    place = part * DIM + k[None, :] * classes + label[:, None]
    tl.store(to_weight + place, weight_sum, mask=is_k[None, :] & is_class[:, None])
    if tl.program_id(1) == 0:
        tl.store(to_constant + part + label, constant_sum, mask=is_class)
