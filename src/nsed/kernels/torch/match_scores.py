"""Match scores of many pairs of strings, each string given by the vectors of its symbols: the readable twin.

Pairs of the same lengths need no padding and go together: scores of the classes in every cell, arcs, and the recursion
over the cells. Where there are few different vectors, as in a network without context, the scores of all pairs of them
are computed once and looked up.
"""

from collections.abc import Callable, Iterator
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from nsed.kernels.contracts import Constant, HeadWeights, Rows, Score, StringVectors, Weight
from nsed.kernels.semiring import LOG
from nsed.kernels.torch.arcs import match_arcs
from nsed.kernels.torch.lattice import TorchBackend
from nsed.kernels.torch.pair_scores import moments_of, normed, pair_scores
from nsed.types import NEG, PerPair

LARGEST_TABLE = 2**22
"""Maximum score table: pairs of vectors whose scores are kept, four numbers each."""
CELLS_AT_ONCE = 2**14
"""Batch size in cells that are computed together: their features are all in memory."""

SourceRows = Int[Tensor, "pairs src"]
TargetRows = Int[Tensor, "pairs tgt"]
"""Which vectors belong to the symbols of strings of one length."""


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
    """See `MatchScoresKernel.scorer`."""
    if len(source.vectors) * len(target.vectors) <= min(LARGEST_TABLE, pairs * 64):
        table = score_table(source, target, weight, constant, eps=eps, heads=heads)
        return partial(by_lengths, partial(_of_table, table), source, target, cells=CELLS_AT_ONCE)

    def of_vectors(rows: SourceRows, columns: TargetRows) -> PerPair:
        return _log_alpha(scores_of_rows(source, target, rows, columns, weight, constant, eps=eps, heads=heads))

    return partial(by_lengths, of_vectors, source, target, cells=CELLS_AT_ONCE)


def scores_of_rows(
    source: StringVectors,
    target: StringVectors,
    rows: SourceRows,
    columns: TargetRows,
    weight: Weight,
    constant: Constant,
    *,
    eps: float,
    heads: HeadWeights | None,
) -> Float[Tensor, "pairs src tgt 4"]:
    """Class scores in all cells of pairs of the same lengths, from the vectors of their symbols."""
    sides = source.vectors[rows], target.vectors[columns]
    if heads is None or source.similar is None or target.similar is None:
        return pair_scores(*sides, weight, constant, eps=eps)
    similarities = torch.einsum("pihd,pjhd->pijh", source.similar[rows], target.similar[columns])
    x = (sides[0][:, :, None] + sides[1][:, None] + similarities @ heads).relu()
    return normed(functional.linear(x, weight), *moments_of(x), constant, size=weight.shape[1], eps=eps)


def score_table(
    source: StringVectors,
    target: StringVectors,
    weight: Weight,
    constant: Constant,
    *,
    eps: float,
    heads: HeadWeights | None,
) -> Float[Tensor, "kinds others 4"]:
    """Score table of all pairs of vectors, some rows after the others."""
    columns, kinds = (torch.arange(len(side.vectors), device=weight.device)[None] for side in (target, source))
    some = torch.split(kinds, max(1, CELLS_AT_ONCE // max(1, columns.shape[1])), dim=1)
    parts = [scores_of_rows(source, target, rows, columns, weight, constant, eps=eps, heads=heads) for rows in some]
    return torch.cat(parts, dim=1)[0]


def _of_table(table: Float[Tensor, "kinds others 4"], rows: SourceRows, columns: TargetRows) -> PerPair:
    return _log_alpha(table[rows[:, :, None], columns[:, None]])


def _log_alpha(scores: Float[Tensor, "pairs src tgt 4"]) -> PerPair:
    """Forward log-probability: log alpha in the last cell of pairs without padding."""
    weights = torch.stack(match_arcs(scores)[:3]).permute(0, 2, 3, 1).clamp(min=NEG)
    return TorchBackend().forward(weights, LOG)[-1, -1].clamp(min=NEG)


def by_lengths(
    log_alpha: Callable[[Tensor, Tensor], PerPair],
    source: StringVectors,
    target: StringVectors,
    rows: Rows,
    columns: Rows,
    *,
    cells: int,
) -> PerPair:
    """Length bucketing: pairs of the same lengths, about so many cells at once, go to a function of their rows."""
    result = source.vectors.new_empty(len(rows))
    for some, n, m in _alike(source.lengths[rows], target.lengths[columns], cells):
        result[some] = log_alpha(source.rows_of(rows[some], n), target.rows_of(columns[some], m))
    return result


def _alike(n: Rows, m: Rows, cells: int) -> Iterator[tuple[Rows, int, int]]:
    """Length buckets: which pairs have the same two lengths, as many at once as there is room for."""
    base = int(m.amax()) + 1
    keys, order = (n.long() * base + m).sort()
    first = 0
    for key, count in zip(*(part.tolist() for part in torch.unique_consecutive(keys, return_counts=True)), strict=True):
        lengths = divmod(key, base)
        at_once = max(1, cells // ((lengths[0] + 1) * (lengths[1] + 1)))
        for start in range(first, first + count, at_once):
            yield order[start : min(start + at_once, first + count)], *lengths
        first += count
