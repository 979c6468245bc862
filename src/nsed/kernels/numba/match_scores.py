"""Match scores of many pairs on a CPU: cell scores, their normalisation and the lattice of one pair after the other.

With incoming arcs normalised, alpha is a sub-convex mix of its predecessors, so that the recursion needs no logarithms:
in double precision it reaches down to exp(-700). Whoever gets minus infinity asks the lattice itself.

Where there are few different vectors, one per symbol and position, the scores of all pairs of them are a table, and a
pair costs a look into it per cell.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from numba import njit

from nsed.kernels.contracts import Constant, Score, StringVectors, Weight
from nsed.kernels.numba.launch import Kernel, array, run_kernel
from nsed.kernels.numba.math import exp_below_zero
from nsed.kernels.numba.pair_scores import fused_scores
from nsed.kernels.torch.match_scores import LARGEST_TABLE
from nsed.types import PerPair

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
LIMIT = np.float32(80)
"""Score clipping: scores are cut here, far beyond what a difference of probabilities can show."""


def scorer(
    source: StringVectors, target: StringVectors, weight: Weight, constant: Constant, *, eps: float, pairs: int
) -> Score:
    """See `MatchScoresKernel.scorer`."""
    symbols = [array(part) for side in (source, target) for part in (side.flat, side.starts)]
    if len(source.vectors) * len(target.vectors) <= min(LARGEST_TABLE, pairs * 64):
        scores = fused_scores(source.vectors[None], target.vectors[None], weight, constant, eps=eps)[0]
        return partial(_run, by_table, array(scores.clamp(-80, 80).exp()), *symbols)
    given = map(array, (source.vectors, target.vectors, weight, constant))
    return partial(_run, by_vectors, *given, np.float32(eps), *symbols)


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
def cell_odds(source, target, weight, constant, eps, rows, columns, n, m, result):
    """The exponentials of the four classes' scores in every cell; `rows` and `columns` say where the symbols are."""
    zero, one, size = source.dtype.type(0), source.dtype.type(1), source.dtype.type(source.shape[1])
    for i in range(n + 1):
        for j in range(m + 1):
            s, t = rows[i], columns[j]
            total, squares, a, b, c, d = zero, zero, zero, zero, zero, zero
            for k in range(source.shape[1]):
                x = max(source[s, k] + target[t, k], zero)
                total += x
                squares += x * x
                a += x * weight[0, k]
                b += x * weight[1, k]
                c += x * weight[2, k]
                d += x * weight[3, k]
            mean = total / size
            inverse = one / math.sqrt(max(squares / size - mean * mean, zero) + eps)
            result[i, j, 0] = odds(a * inverse + constant[0])
            result[i, j, 1] = odds(b * inverse + constant[1])
            result[i, j, 2] = odds(c * inverse + constant[2])
            result[i, j, 3] = odds(d * inverse + constant[3])


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
    rows, columns, source, target, weight, constant, eps, flat_s, starts_s, flat_t, starts_t, result, part, first, last
):
    """The score of each pair (row, column) of strings, from the vectors of their symbols."""
    longest_s, longest_t = _longest(starts_s), _longest(starts_t)
    cells = np.empty((longest_s + 1, longest_t + 1, 4), source.dtype)
    before, here = np.empty(longest_t + 1), np.empty(longest_t + 1)
    for pair in range(first, last):
        s, t = rows[pair], columns[pair]
        of_source, of_target = flat_s[starts_s[s] : starts_s[s + 1]], flat_t[starts_t[t] : starts_t[t + 1]]
        n, m = of_source.size - 1, of_target.size - 1
        cell_odds(source, target, weight, constant, eps, of_source, of_target, n, m, cells)
        result[pair] = log_alpha(cells, n, m, before, here)


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
