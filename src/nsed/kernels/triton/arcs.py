"""Arc normalisation on a GPU, forward and backward: scores in the cells that arcs leave to log-probabilities of arcs.

Scores are [batch, n, m, classes], a cell after the other; arcs [kinds, n, m, batch], as the lattice reads them. The
first kind is delete, then insert, substitute and, for the Matcher, non-match. To torch both are operations of their
own, with gradients.
"""

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

from nsed.kernels.contracts import ClassScores
from nsed.kernels.triton import launch, power_of_two
from nsed.types import END, NEG, PAD, START, Lengths, PerPair, Table

LOWEST = tl.constexpr(NEG)
NOTHING, FIRST, LAST = tl.constexpr(PAD), tl.constexpr(START), tl.constexpr(END)
BLOCK = 256
"""Block size: cells that a program does at once where there are four classes."""


def outgoing_arcs(
    scores: ClassScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]
) -> tuple[Table, Table, Table, PerPair]:
    """See `ArcsKernel.outgoing_arcs`: NEG beyond a pair's own cells."""
    arcs, end, _ = outgoing_operation(scores, target, *lengths)
    delete, insert, substitute = arcs.permute(0, 3, 1, 2)
    return delete, insert, substitute, end


def match_arcs(scores: Float[Tensor, "batch src tgt 4"]) -> tuple[Table, Table, Table, Table]:
    """See `ArcsKernel.match_arcs`."""
    delete, insert, substitute, non_match = match_operation(scores).permute(0, 3, 1, 2)
    return delete, insert, substitute, non_match


@torch.library.custom_op("nsed::outgoing_arcs", mutates_args=())
def outgoing_operation(
    scores: Tensor, target: Tensor, source_lengths: Tensor, target_lengths: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Outgoing normalisation: arcs `[3, n, m, batch]` of the target's symbols, the end's log-probability, log-sums."""
    given = [part.contiguous() for part in (scores, target, source_lengths, target_lengths)]
    arcs, ends, totals = _empty(scores)
    launch(outgoing_forward, _grid(scores), *given, arcs, ends, totals, *_sizes(scores), **_blocks(scores))
    return arcs, ends, totals


@torch.library.custom_op("nsed::outgoing_arcs_backward", mutates_args=())
def outgoing_backward_operation(
    scores: Tensor, target: Tensor, source_lengths: Tensor, target_lengths: Tensor, totals: Tensor, to_arcs: Tensor,
    to_ends: Tensor,
) -> Tensor:  # fmt: skip  # an argument a line would be a page
    """Backward pass of the outgoing normalisation: the gradient by the scores."""
    everything = (scores, target, source_lengths, target_lengths, totals, to_arcs, to_ends)
    given, result = [part.contiguous() for part in everything], torch.empty_like(scores.contiguous())
    launch(outgoing_backward, _grid(scores), *given, result, *_sizes(scores), **_blocks(scores))
    return result


@torch.library.custom_op("nsed::match_arcs", mutates_args=())
def match_operation(scores: Tensor) -> Tensor:
    """Incoming normalisation: log-probabilities `[4, n, m, batch]` of delete, insert, substitute and non-match."""
    batch, n, m, _ = scores.shape
    arcs = scores.new_empty(4, n, m, batch)
    launch(match_forward, (-(-n * m * batch // BLOCK),), scores.contiguous(), arcs, n, m, batch, BLOCK=BLOCK)
    return arcs


@torch.library.custom_op("nsed::match_arcs_backward", mutates_args=())
def match_backward_operation(arcs: Tensor, to_arcs: Tensor) -> Tensor:
    """Backward pass of the Matcher's normalisation: the gradient by the scores."""
    _, n, m, batch = arcs.shape
    result, given = arcs.new_empty(batch, n, m, 4), (arcs.contiguous(), to_arcs.contiguous())
    launch(match_backward, (-(-n * m * batch // BLOCK),), *given, result, n, m, batch, BLOCK=BLOCK)
    return result


def _empty(scores: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    batch, n, m, _ = scores.shape
    return scores.new_empty(3, n, m, batch), scores.new_empty(batch), scores.new_empty(batch, n, m)


def _sizes(scores: Tensor) -> tuple[int, int, int, int]:
    batch, n, m, classes = scores.shape
    return n, m, batch, (classes - 1) // 2


def _blocks(scores: Tensor) -> dict[str, int]:
    classes = power_of_two(scores.shape[-1], least=16)
    return {"CELLS": max(1, 512 // classes), "CLASSES": classes, "num_warps": 2}


def _grid(scores: Tensor) -> tuple[int]:
    return (-(-scores.shape[:-1].numel() // _blocks(scores)["CELLS"]),)


@outgoing_operation.register_fake
def _(scores, *_):
    return _empty(scores)


@outgoing_backward_operation.register_fake
def _(scores, *_):
    return torch.empty_like(scores, memory_format=torch.contiguous_format)


@match_operation.register_fake
def _(scores):
    batch, n, m, _ = scores.shape
    return scores.new_empty(4, n, m, batch)


@match_backward_operation.register_fake
def _(arcs, to_arcs):
    _, n, m, batch = arcs.shape
    return arcs.new_empty(batch, n, m, 4)


def _keep_scores(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs, output[2])
    ctx.set_materialize_grads(True)


def _outgoing_gradient(ctx, to_arcs, to_ends, _):
    return outgoing_backward_operation(*ctx.saved_tensors, to_arcs, to_ends), None, None, None


def _keep_arcs(ctx, inputs, output) -> None:
    ctx.save_for_backward(output)


def _match_gradient(ctx, to_arcs):
    return match_backward_operation(*ctx.saved_tensors, to_arcs)


outgoing_operation.register_autograd(_outgoing_gradient, setup_context=_keep_scores)
match_operation.register_autograd(_match_gradient, setup_context=_keep_arcs)


@triton.jit
def possible(label, symbols, is_last):
    """Which classes can happen in a cell: `is_last` says whether its source is consumed."""
    is_insert, is_substitute = (label > 0) & (label <= symbols), (label > symbols) & (label <= 2 * symbols)
    symbol = tl.where(is_insert, label - 1, label - 1 - symbols)
    written = (symbol != NOTHING) & (symbol != FIRST)
    inserts = is_insert[None, :] & written[None, :] & ((symbol != LAST)[None, :] | is_last[:, None])
    others = (label == 0) | (is_substitute & written & (symbol != LAST))
    return inserts | (others[None, :] & ~is_last[:, None])


@triton.jit(do_not_specialize=["n", "m", "batch", "symbols"])
def outgoing_forward(
    scores, target, source_lengths, target_lengths, arcs, ends, totals, n, m, batch, symbols,
    CELLS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip  # an argument a line would be a page
    """One distribution per cell; of it the arcs of the target's own symbols, and the end in each pair's last cell."""
    cell = tl.program_id(0) * CELLS + tl.arange(0, CELLS)
    is_cell, classes, label = cell < batch * n * m, 2 * symbols + 1, tl.arange(0, CLASSES)
    pair, i, j = cell // (n * m), cell % (n * m) // m, cell % m
    rows, columns = (
        tl.load(source_lengths + pair, mask=is_cell, other=0),
        tl.load(target_lengths + pair, mask=is_cell, other=0),
    )
    place, known = cell[:, None] * classes + label[None, :], is_cell[:, None] & (label < classes)[None, :]
    z = tl.load(scores + place, mask=known, other=LOWEST)
    z = tl.where(possible(label, symbols, i == rows), z, LOWEST)
    highest = tl.max(z, 1)
    total = highest + tl.log(tl.sum(tl.exp(z - highest[:, None]), 1))
    symbol = tl.load(target + pair * (m - 1) + j, mask=is_cell & (j < m - 1), other=0).to(tl.int32)
    first, written = scores + cell * classes, is_cell & (symbol != NOTHING) & (symbol != FIRST) & (symbol != LAST)
    delete = tl.load(first, mask=is_cell, other=LOWEST) - total
    insert = tl.load(first + 1 + symbol, mask=written, other=LOWEST) - total
    substitute = tl.load(first + 1 + symbols + symbol, mask=written, other=LOWEST) - total
    down, right, table = (i + 1) % n, (j + 1) % m, n * m * batch
    kept = tl.where((i < rows) & (j <= columns), tl.maximum(delete, LOWEST), LOWEST)
    tl.store(arcs + (down * m + j) * batch + pair, kept, mask=is_cell)
    kept = tl.where((i <= rows) & (j < columns), tl.maximum(insert, LOWEST), LOWEST)
    tl.store(arcs + table + (i * m + right) * batch + pair, kept, mask=is_cell)
    kept = tl.where((i < rows) & (j < columns), tl.maximum(substitute, LOWEST), LOWEST)
    tl.store(arcs + 2 * table + (down * m + right) * batch + pair, kept, mask=is_cell)
    is_end = is_cell & (i == rows) & (j == columns)
    tl.store(ends + pair, tl.load(first + 1 + LAST, mask=is_end, other=LOWEST) - total, mask=is_end)
    tl.store(totals + cell, total, mask=is_cell)


@triton.jit(do_not_specialize=["n", "m", "batch", "symbols"])
def outgoing_backward(
    scores, target, source_lengths, target_lengths, totals, to_arcs, to_ends, result, n, m, batch, symbols,
    CELLS: tl.constexpr, CLASSES: tl.constexpr,
):  # fmt: skip  # an argument a line would be a page
    """The gradient by the scores."""
    cell = tl.program_id(0) * CELLS + tl.arange(0, CELLS)
    is_cell, classes, label = cell < batch * n * m, 2 * symbols + 1, tl.arange(0, CLASSES)
    pair, i, j = cell // (n * m), cell % (n * m) // m, cell % m
    rows, columns = (
        tl.load(source_lengths + pair, mask=is_cell, other=0),
        tl.load(target_lengths + pair, mask=is_cell, other=0),
    )
    place, known = cell[:, None] * classes + label[None, :], is_cell[:, None] & (label < classes)[None, :]
    can_be = possible(label, symbols, i == rows) & known
    z = tl.load(scores + place, mask=known, other=LOWEST)
    share = tl.where(can_be, tl.exp(tl.minimum(z - tl.load(totals + cell, mask=is_cell, other=0.0)[:, None], 0.0)), 0.0)
    table, below, beside = n * m * batch, (i < rows) & is_cell, (j < columns) & is_cell
    here = (i * m + j) * batch + pair
    delete = tl.load(to_arcs + here + m * batch, mask=below & (j <= columns), other=0.0)
    insert = tl.load(to_arcs + table + here + batch, mask=beside & (i <= rows), other=0.0)
    substitute = tl.load(to_arcs + 2 * table + here + (m + 1) * batch, mask=below & beside, other=0.0)
    end = tl.load(to_ends + pair, mask=is_cell & (i == rows) & (j == columns), other=0.0)
    symbol = tl.load(target + pair * (m - 1) + j, mask=is_cell & (j < m - 1), other=0).to(tl.int32)
    own = tl.where(label[None, :] == 0, delete[:, None], 0.0)
    own += tl.where(label[None, :] == (1 + symbol)[:, None], insert[:, None], 0.0)
    own += tl.where(label[None, :] == (1 + symbols + symbol)[:, None], substitute[:, None], 0.0)
    own += tl.where(label[None, :] == 1 + LAST, end[:, None], 0.0)
    given = tl.where(can_be, own, 0.0) - share * (delete + insert + substitute + end)[:, None]
    tl.store(result + place, given, mask=known)


@triton.jit(do_not_specialize=["n", "m", "batch"])
def match_forward(scores, arcs, n, m, batch, BLOCK: tl.constexpr):
    """The Matcher's four classes, normalised over what enters a cell; NEG where no arc enters."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_cell, table = place < n * m * batch, n * m * batch
    pair, i, j = place % batch, place // batch // m, place // batch % m
    here, down, right = (pair * n + i) * m + j, tl.where(i > 0, m, 0), tl.where(j > 0, 1, 0)
    delete = tl.load(scores + 4 * (here - down), mask=is_cell & (i > 0), other=LOWEST)
    insert = tl.load(scores + 4 * (here - right) + 1, mask=is_cell & (j > 0), other=LOWEST)
    substitute = tl.load(scores + 4 * (here - down - right) + 2, mask=is_cell & (i > 0) & (j > 0), other=LOWEST)
    non_match = tl.load(scores + 4 * (here - down - right) + 3, mask=is_cell, other=0.0)
    highest = tl.maximum(tl.maximum(delete, insert), tl.maximum(substitute, non_match))
    total = tl.exp(delete - highest) + tl.exp(insert - highest) + tl.exp(substitute - highest)
    total = highest + tl.log(total + tl.exp(non_match - highest))
    tl.store(arcs + place, delete - total, mask=is_cell)
    tl.store(arcs + table + place, insert - total, mask=is_cell)
    tl.store(arcs + 2 * table + place, substitute - total, mask=is_cell)
    tl.store(arcs + 3 * table + place, non_match - total, mask=is_cell)


@triton.jit
def given_back(arcs, to_arcs, place, kind, table, mask):
    """What the class of one arc gets from the cell that the arc enters."""
    total = tl.load(to_arcs + place, mask=mask, other=0.0) + tl.load(to_arcs + table + place, mask=mask, other=0.0)
    total += tl.load(to_arcs + 2 * table + place, mask=mask, other=0.0)
    total += tl.load(to_arcs + 3 * table + place, mask=mask, other=0.0)
    share = tl.exp(tl.load(arcs + kind * table + place, mask=mask, other=LOWEST))
    return tl.load(to_arcs + kind * table + place, mask=mask, other=0.0) - share * total


@triton.jit(do_not_specialize=["n", "m", "batch"])
def match_backward(arcs, to_arcs, result, n, m, batch, BLOCK: tl.constexpr):
    """The gradient by the scores: of each class, from the cells whose arcs it weighs."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_cell, table = place < n * m * batch, n * m * batch
    pair, i, j = place % batch, place // batch // m, place // batch % m
    below, beside, line = is_cell & (i < n - 1), is_cell & (j < m - 1), m * batch
    corner = place + line + batch
    non_match = given_back(arcs, to_arcs, corner, 3, table, below & beside)
    non_match += given_back(arcs, to_arcs, place + batch, 3, table, beside & (i == 0))
    non_match += given_back(arcs, to_arcs, place + line, 3, table, below & (j == 0))
    non_match += given_back(arcs, to_arcs, place, 3, table, is_cell & (i == 0) & (j == 0))
    here = 4 * ((pair * n + i) * m + j)
    tl.store(result + here, given_back(arcs, to_arcs, place + line, 0, table, below), mask=is_cell)
    tl.store(result + here + 1, given_back(arcs, to_arcs, place + batch, 1, table, beside), mask=is_cell)
    tl.store(result + here + 2, given_back(arcs, to_arcs, corner, 2, table, below & beside), mask=is_cell)
    tl.store(result + here + 3, non_match, mask=is_cell)
