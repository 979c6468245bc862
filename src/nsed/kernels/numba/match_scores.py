"""Match scores of many pairs on a CPU: cell scores, their normalisation and the lattice of one pair after the other.

With incoming arcs normalised, alpha is a sub-convex mix of its predecessors, so that the recursion needs no logarithms:
in double precision it reaches down to exp(-700). Whoever gets minus infinity asks the lattice itself.

Where there are few different vectors, one per symbol and position, the scores of all pairs of them are a table, and a
pair costs a look into it per cell. Else its similarities come first, where there are heads, then the scores of three
neighbouring cells at a time, whose sums stay in registers.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from numba import njit
from torch import Tensor
from torch.nn import functional

from nsed.kernels.contracts import Constant, HeadWeights, Score, StringVectors, Weight
from nsed.kernels.numba import Kernel, array, run_kernel
from nsed.kernels.numba.math import exp_below_zero
from nsed.kernels.numba.pair_scores import ONE, added, four, inlined
from nsed.kernels.numba.vectors import LANES, load, rectified, spread, total
from nsed.kernels.torch.match_scores import LARGEST_TABLE
from nsed.types import PerPair

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
LIMIT = np.float32(80)
"""Score clipping: scores are cut here, far beyond what a difference of probabilities can show."""


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
    size, like = source.vectors.shape[1], source.vectors
    spread_out = like.new_zeros(0, size) if heads is None else heads
    similar = (like.new_zeros(1, 0) if side.similar is None else side.similar for side in (source, target))
    vectors = [_padded(part) for part in (like, target.vectors, weight, spread_out, *similar)]
    given = *vectors, array(constant), array(like.new_tensor([size, eps]))
    symbols = [array(part) for side in (source, target) for part in (side.flat, side.starts)]
    if len(like) * len(target.vectors) > min(LARGEST_TABLE, pairs * 64):
        return partial(_run, by_vectors, *given, *symbols)
    table = np.empty((len(like), len(target.vectors), 4), vectors[0].dtype)
    run_kernel(odds_table, *given, table, pairs=len(table))
    return partial(_run, by_table, table, *symbols)


def _padded(vectors: Tensor) -> np.ndarray:
    """Vectors of a multiple of so many numbers as are added at once, those of all heads one after the other."""
    lacking = -vectors.shape[-1] % LANES
    whole = functional.pad(vectors, (0, lacking)) if lacking else vectors  # a pad of nothing would be a copy
    return np.asarray(array(whole.flatten(1)))


def _run(kernel: Kernel, *given: Any) -> PerPair:
    """Run a scoring kernel; the last two of what is given are the pairs."""
    *tables, rows, columns = given
    result = np.empty(len(rows))
    run_kernel(kernel, array(rows), array(columns), *tables, result, pairs=len(result))
    return torch.from_numpy(result)


@njit(nogil=True, inline="always", error_model="numpy")
def odds(score):
    """exp(score), of a score between the limits."""
    return exp_below_zero(min(max(score, -LIMIT), LIMIT))


@compiled
def cell_similarities(source, target, heads, rows, columns, n, m, result):
    """Dot products of the vectors of each similarity head, in every cell."""
    width = source.shape[1] // max(heads, 1)
    for i in range(n + 1):
        for j in range(m + 1):
            for h in range(heads):
                found = spread(source.dtype.type(0))
                for k in range(h * width, (h + 1) * width, LANES):
                    found = found + load(source, rows[i], k) * load(target, columns[j], k)
                result[i, j, h] = total(found)


@compiled
def cell_odds(source, target, weight, heads, similar, constant, size, rows, columns, n, m, result):
    """The exponentials of the four classes' scores in every cell; `rows` and `columns` say where the symbols are."""
    nothing = spread(source.dtype.type(0))
    for i in range(n + 1):
        s = rows[i]
        for j in range(0, m + 1, 3):
            second, third = min(j + 1, m), min(j + 2, m)
            t, u, v = columns[j], columns[second], columns[third]
            one = other = last = (nothing, nothing, nothing, nothing, nothing, nothing)
            for k in range(0, source.shape[1], LANES):
                symbol, weights = load(source, s, k), four(weight, k)
                x, y, z = symbol + load(target, t, k), symbol + load(target, u, k), symbol + load(target, v, k)
                for h in range(heads.shape[0]):
                    head = load(heads, h, k)
                    x = x + spread(similar[i, j, h]) * head
                    y = y + spread(similar[i, second, h]) * head
                    z = z + spread(similar[i, third, h]) * head
                one = added(one, rectified(x), weights)
                other = added(other, rectified(y), weights)
                last = added(last, rectified(z), weights)
            _finish(result, i, j, one, constant, size)
            _finish(result, i, second, other, constant, size)
            _finish(result, i, third, last, constant, size)


@inlined
def _finish(result, i, j, sums, constant, size):
    """What a cell's sums say: the exponentials of its scores; `size` is the number of features, and eps."""
    mean = total(sums[0]) / size[0]
    variance = total(sums[1]) / size[0] - mean * mean
    inverse = ONE / math.sqrt(max(variance, variance * 0) + size[1])
    for c in range(4):
        result[i, j, c] = odds(total(sums[2 + c]) * inverse + constant[c])


@compiled
def log_alpha(cells, n, m, before, here):
    """Log alpha[n, m] from odds in the cells that arcs leave: delete, insert, substitute, non-match; row by row."""
    for i in range(n + 1):
        for j in range(m + 1):
            total, weight = 0.0, float(cells[max(i - 1, 0), max(j - 1, 0), 3])
            if i > 0:
                odd = cells[i - 1, j, 0]
                total, weight = total + before[j] * odd, weight + odd
            if j > 0:
                odd = cells[i, j - 1, 1]
                total, weight = total + here[j - 1] * odd, weight + odd
            if i > 0 and j > 0:
                odd = cells[i - 1, j - 1, 2]
                total, weight = total + before[j - 1] * odd, weight + odd
            here[j] = total / weight if i + j > 0 else 1.0
        for j in range(m + 1):
            before[j] = here[j]
    return math.log(before[m]) if before[m] > 1e-290 else -math.inf


@compiled
def by_vectors(
    rows, columns, source, target, weight, heads, similar_s, similar_t, constant, size,
    flat_s, starts_s, flat_t, starts_t, result, part, first, last,
):  # fmt: skip  # an argument a line would be a page
    """The score of each pair (row, column) of strings, from the vectors of their symbols."""
    longest_s, longest_t = _longest(starts_s), _longest(starts_t)
    cells = np.empty((longest_s + 1, longest_t + 1, 4), source.dtype)
    similar = np.empty((longest_s + 1, longest_t + 1, heads.shape[0]), source.dtype)
    before, here = np.empty(longest_t + 1), np.empty(longest_t + 1)
    for pair in range(first, last):
        s, t = rows[pair], columns[pair]
        of_source, of_target = flat_s[starts_s[s] : starts_s[s + 1]], flat_t[starts_t[t] : starts_t[t + 1]]
        n, m = of_source.size - 1, of_target.size - 1
        cell_similarities(similar_s, similar_t, heads.shape[0], of_source, of_target, n, m, similar)
        cell_odds(source, target, weight, heads, similar, constant, size, of_source, of_target, n, m, cells)
        result[pair] = log_alpha(cells, n, m, before, here)


@compiled
def odds_table(
    source, target, weight, heads, similar_s, similar_t, constant, size, result, part, first, last
):  # fmt: skip  # as `by_vectors`
    """The odds of every pair of symbols, as of a lattice with a row of cells per source symbol."""
    columns, last_column = np.arange(target.shape[0]), target.shape[0] - 1
    similar = np.empty((1, target.shape[0], heads.shape[0]), source.dtype)
    for row in range(first, last):
        rows = np.full(1, row)
        cell_similarities(similar_s, similar_t, heads.shape[0], rows, columns, 0, last_column, similar)
        of_row = result[row : row + 1]
        cell_odds(source, target, weight, heads, similar, constant, size, rows, columns, 0, last_column, of_row)


@compiled
def by_table(rows, columns, table, flat_s, starts_s, flat_t, starts_t, result, part, first, last):
    """The same from a table of the odds of every pair of symbols."""
    longest_s, longest_t = _longest(starts_s), _longest(starts_t)
    cells = np.empty((longest_s + 1, longest_t + 1, 4), table.dtype)
    before, here = np.empty(longest_t + 1), np.empty(longest_t + 1)
    for pair in range(first, last):
        s, t = rows[pair], columns[pair]
        first_s, first_t = starts_s[s], starts_t[t]
        n, m = starts_s[s + 1] - first_s - 1, starts_t[t + 1] - first_t - 1
        for i in range(n + 1):
            row = flat_s[first_s + i]
            for j in range(m + 1):
                column = flat_t[first_t + j]
                for c in range(4):
                    cells[i, j, c] = table[row, column, c]
        result[pair] = log_alpha(cells, n, m, before, here)


@compiled
def _longest(starts):
    longest = 0
    for place in range(starts.size - 1):
        longest = max(longest, starts[place + 1] - starts[place])
    return longest
