"""Match scores of many pairs on a GPU: pairs are sorted by their lengths on the device.

Where there are few different vectors, as in a network without context, all their scores are a table, and one kernel
looks them up and does the lattice, a row per step, of several pairs at once. Else pairs of equal lengths go through
pair scores, arcs and lattices together.
"""

from functools import partial

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor

from nsed.kernels.contracts import Constant, HeadWeights, Rows, Score, StringVectors, Weight
from nsed.kernels.semiring import LOG
from nsed.kernels.torch.match_scores import LARGEST_TABLE, by_lengths, score_table, scores_of_rows
from nsed.kernels.triton import launch
from nsed.kernels.triton.arcs import match_operation
from nsed.kernels.triton.lattice import LOWEST, TritonBackend, log_add, then_log
from nsed.kernels.triton.pair_scores import pair_scores, scores_of_all
from nsed.types import NEG, PerPair

CELLS_AT_ONCE, WIDEST = 2**20, 1024
"""Batch size in cells that are computed together, and columns that the table's kernel can do."""


def scorer(
    source: StringVectors,
    target: StringVectors,
    weight: Weight,
    constant: Constant,
    *,
    eps: float,
    pairs: int,
    heads: HeadWeights | None = None,
) -> Score:
    """See `MatchScoresKernel.scorer`: features with similarity heads are torch's."""
    if len(source.vectors) * len(target.vectors) <= LARGEST_TABLE and int(target.lengths.amax()) < WIDEST:
        if heads is None:
            table = scores_of_all(source.vectors, target.vectors, weight, constant, eps=eps)
        else:
            table = score_table(source, target, weight, constant, eps=eps, heads=heads)
        return partial(of_table, table, _narrow(source), _narrow(target))

    def log_alpha(rows: Tensor, columns: Tensor) -> PerPair:
        if heads is None:
            return _log_alpha(pair_scores(source.vectors[rows], target.vectors[columns], weight, constant, eps=eps))
        return _log_alpha(scores_of_rows(source, target, rows, columns, weight, constant, eps=eps, heads=heads))

    return partial(by_lengths, log_alpha, source, target, cells=CELLS_AT_ONCE)


def _narrow(strings: StringVectors) -> StringVectors:
    """Int32 indices: places in 32 bits, as the kernel counts them."""
    return StringVectors(strings.vectors, strings.flat.int(), strings.starts.int())


def _log_alpha(scores: Float[Tensor, "pairs src tgt 4"]) -> PerPair:
    """Forward log-probability: log alpha in the last cell of pairs without padding."""
    weights = match_operation(scores)[:3]
    return TritonBackend().forward(weights, LOG)[-1, -1].clamp(min=NEG)


def of_table(
    table: Float[Tensor, "kinds others classes"],
    source: StringVectors,
    target: StringVectors,
    rows: Rows,
    columns: Rows,
) -> Float[Tensor, " pairs"]:
    """Length bucketing: pairs whose targets need blocks of the same width go together, sorted by source length."""
    n, m = source.lengths[rows], target.lengths[columns]
    bounds = 2 ** torch.arange(1, WIDEST.bit_length(), device=rows.device)  # targets below 2 need blocks of 2 columns
    block = torch.bucketize(m, bounds, right=True)
    order = (block * (n.amax() + 1) + n).argsort()
    result, first = torch.empty(len(rows), device=rows.device), 0
    for width, count in enumerate(torch.bincount(block).tolist()):
        some = order[first : first + count]
        if count:
            result[some] = _run(table, source, target, rows[some], columns[some], 2 ** (width + 1))
        first += count
    return result


def _run(
    table: Tensor, source: StringVectors, target: StringVectors, rows: Rows, columns: Rows, width: int
) -> Float[Tensor, " pairs"]:
    found, at_once = torch.empty(len(rows), device=rows.device), max(1, 256 // width)
    launch(by_table, (-(-len(rows) // at_once),),
        rows, columns, table, source.flat, source.starts, target.flat, target.starts, found, len(rows), table.shape[1],
        WIDTH=width, PAIRS=at_once, num_warps=4,
    )  # fmt: skip  # an argument a line would be a page
    return found


@triton.jit(do_not_specialize=["pairs", "kinds"])
def by_table(
    rows, columns, table, flat_s, starts_s, flat_t, starts_t, result, pairs, kinds,
    WIDTH: tl.constexpr, PAIRS: tl.constexpr,
):  # fmt: skip  # an argument a line would be a page
    """Log alpha[n, m] of pairs (row, column) of strings; `table` has four scores for each pair of kinds of symbols."""
    pair = tl.program_id(0) * PAIRS + tl.arange(0, PAIRS)[None, :]
    is_pair, column = pair < pairs, tl.arange(0, WIDTH)[:, None]
    s, t = tl.load(rows + pair, mask=is_pair, other=0), tl.load(columns + pair, mask=is_pair, other=0)
    first_s, first_t = tl.load(starts_s + s), tl.load(starts_t + t)
    n, m = tl.load(starts_s + s + 1) - first_s - 1, tl.load(starts_t + t + 1) - first_t - 1
    inside, left = is_pair & (column <= m), tl.maximum(column - 1, 0)
    of_here = tl.load(flat_t + first_t + column, mask=inside, other=0)
    of_left = tl.load(flat_t + first_t + left, mask=inside, other=0)
    lowest = tl.full((WIDTH, PAIRS), LOWEST, tl.float32)
    alpha, found, delete, substitute, non_match = lowest, lowest, lowest, lowest, lowest
    shift, most, i = tl.broadcast_to(left, (WIDTH, PAIRS)), tl.max(tl.where(is_pair, n, 0)), 0
    while i <= most:
        known = inside & (i <= n)
        kind = tl.load(flat_s + first_s + i, mask=is_pair & (i <= n), other=0) * kinds
        here, beside = table + 4 * (kind + of_here), table + 4 * (kind + of_left)
        next_non_match = tl.load(beside + 3, mask=known, other=0.0)
        insert = tl.where(column > 0, tl.load(beside + 1, mask=known, other=0.0), LOWEST)
        other = tl.where(i > 0, non_match, next_non_match)
        highest = tl.maximum(tl.maximum(delete, insert), tl.maximum(substitute, other))
        total = tl.exp(delete - highest) + tl.exp(insert - highest) + tl.exp(substitute - highest)
        total = highest + tl.log(total + tl.exp(other - highest))
        corner = tl.where(column > 0, tl.gather(alpha, shift, 0), LOWEST)
        reached = log_add(alpha + delete - total, corner + substitute - total)
        reached = tl.where((column == 0) & (i == 0), 0.0, tl.maximum(reached, LOWEST))
        _, value = tl.associative_scan((tl.maximum(insert - total, LOWEST), reached), 0, then_log)
        alpha = tl.maximum(value, LOWEST)
        found = tl.where((column == m) & (i == n), alpha, found)
        delete = tl.load(here, mask=known, other=0.0)
        substitute = tl.where(column > 0, tl.load(beside + 2, mask=known, other=0.0), LOWEST)
        non_match = next_non_match
        i += 1
    tl.store(result + pair, tl.max(found, 0)[None, :], mask=is_pair)
