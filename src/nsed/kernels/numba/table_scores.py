"""Table scores of many pairs on a CPU: a table of operations and the lattice of one pair after the other.

Every derivation consumes each symbol of both strings once, so that the gaps of all symbols can be taken out of the
lattice: deletions and insertions weigh 1, a substitution its gain over the two gaps that it replaces, and the
logarithms of the gaps are added in the end. Then every cell is at least as large as those before it, and the recursion
needs no logarithms in double precision: nothing that matters can underflow. What overflows, long strings that are much
alike, is done again with gaps that weigh less, and what does so again, or has gaps that are impossible, in logarithms.

Where there are few kinds of symbols, the gains of all pairs of them are a table, and a cell costs a look into it;
otherwise it costs an exponential. Two rows of cells are all that is kept.
"""

import math
from functools import partial
from typing import Any

import numpy as np
import torch
from numba import njit

from nsed.kernels.contracts import Score, SubstitutionTable, TableStrings
from nsed.kernels.numba import array, run_kernel
from nsed.kernels.numba.math import log_sum
from nsed.kernels.torch.match_scores import LARGEST_TABLE
from nsed.types import NEG, REACHABLE, PerPair

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
exactly = njit(nogil=True, cache=True, error_model="numpy")
"""Compiled to the same bits wherever it is used: a pair's score depends on no other pair."""
LARGEST, ROOM = 1e300, 690.0
"""Alpha is below this, or done again; and how far below 1, as a logarithm, it may be then."""
MOST_FOR_A_PAIR = 2**10
"""Gains in a table, at most, for each pair to be scored."""
IMPOSSIBLE, LOWEST = float(REACHABLE), float(NEG)


def scorer(source: TableStrings, target: TableStrings, table: SubstitutionTable, *, pairs: int) -> Score:
    """See `TableScoresKernel.scorer`."""
    sides = tuple((array(side.flat.int()), array(side.starts.long()), *_weights(side)) for side in (source, target))
    entries = np.maximum(array(table.double()), LOWEST)
    kinds = len(source.gap), len(target.gap)
    gains = np.empty(kinds if kinds[0] * kinds[1] <= min(LARGEST_TABLE, pairs * MOST_FOR_A_PAIR) else (0, 0))
    run_kernel(gain_table, *sides, entries, gains, pairs=len(gains))
    return partial(_run, sides, entries, gains)


def _weights(side: TableStrings) -> tuple[np.ndarray, ...]:
    """Gap, row, factor and shift of each kind."""
    gap, factor, shift = (array(part.double()) for part in (side.gap, side.factor, side.shift))
    return np.maximum(gap, LOWEST), array(side.row.long()), factor, shift


def _run(
    sides: tuple[tuple[np.ndarray, ...], ...], entries: np.ndarray, gains: np.ndarray, rows: Any, columns: Any
) -> PerPair:
    result = np.empty(len(rows))
    run_kernel(table_scores, array(rows), array(columns), *sides, entries, gains, result, pairs=len(result))
    return torch.from_numpy(result)


@compiled
def table_scores(rows, columns, source, target, entries, gains, result, part, first, last):
    """The score of each pair (row, column) of strings."""
    flat_s, starts_s, gap_s, _, _, _ = source
    flat_t, starts_t, gap_t, _, _, _ = target
    longest = 0
    for place in range(starts_t.size - 1):
        longest = max(longest, starts_t[place + 1] - starts_t[place])
    before, weights = np.empty(longest + 1), np.empty(longest + 1)
    for pair in range(first, last):
        s, t = rows[pair], columns[pair]
        of_source, of_target = flat_s[starts_s[s] : starts_s[s + 1]], flat_t[starts_t[t] : starts_t[t + 1]]
        gaps, lowest = 0.0, 0.0
        for kind in of_source:
            gaps, lowest = gaps + gap_s[kind], min(lowest, gap_s[kind])
        for kind in of_target:
            gaps, lowest = gaps + gap_t[kind], min(lowest, gap_t[kind])
        alpha = LARGEST
        if lowest > IMPOSSIBLE:
            alpha = _alpha(of_source, of_target, source, target, entries, gains, before, weights, 0.0)
            if not alpha < LARGEST:
                size = ROOM / (of_source.size + of_target.size)
                alpha = _alpha(of_source, of_target, source, target, entries, gains, before, weights, size)
                gaps += size * (of_source.size + of_target.size)
        if alpha < LARGEST:
            result[pair] = math.log(alpha) + gaps
        else:
            result[pair] = _log_alpha(of_source, of_target, source, target, entries, before, weights)


@exactly
def _weight(source, target, entries, s, t):
    """Log-weight of a substitution of two kinds."""
    entry = entries[source[3][s], target[3][t]]
    return source[4][s] * target[4][t] * entry + source[5][s] + target[5][t] if entry > IMPOSSIBLE else LOWEST


@exactly
def _gain(source, target, entries, s, t):
    """What a substitution of two kinds weighs over its two gaps; infinite is what overflows."""
    return math.exp(_weight(source, target, entries, s, t) - source[2][s] - target[2][t])


@compiled
def gain_table(source, target, entries, result, part, first, last):
    """The gains of all pairs of kinds."""
    for s in range(first, last):
        for t in range(result.shape[1]):
            result[s, t] = _gain(source, target, entries, s, t)


@compiled
def _alpha(of_source, of_target, source, target, entries, gains, row, weights, size):
    """Alpha[n, m], where gaps weigh exp(-size) and substitutions their gain and as much less twice.

    `row` is overwritten from left to right: to the right of a cell is the row before, to its left its own row.
    """
    m, gap = of_target.size, math.exp(-size)
    square, row[0] = gap * gap, 1.0
    for j in range(m):
        row[j + 1] = gap * row[j]
    for s in of_source:
        if gains.size:
            for j in range(m):
                weights[j] = gains[s, of_target[j]]
        else:
            for j in range(m):
                weights[j] = _gain(source, target, entries, s, of_target[j])
        corner, left = row[0], gap * row[0]
        row[0] = left
        for j in range(m):
            above = row[j + 1]
            left = gap * left + (gap * above + square * weights[j] * corner)
            row[j + 1], corner = left, above
    return row[m]


@compiled
def _log_alpha(of_source, of_target, source, target, entries, row, weights):
    """Log alpha[n, m], all in logarithms."""
    m = of_target.size
    row[0] = 0.0
    for j in range(m):
        row[j + 1] = max(row[j] + target[2][of_target[j]], LOWEST)
    for s in of_source:
        for j in range(m):
            weights[j] = _weight(source, target, entries, s, of_target[j])
        corner, of_gap = row[0], source[2][s]
        row[0] = max(row[0] + of_gap, LOWEST)
        for j in range(m):
            above = row[j + 1]
            insert = row[j] + target[2][of_target[j]]
            row[j + 1] = max(log_sum(above + of_gap, insert, corner + weights[j]), LOWEST)
            corner = above
    return row[m]
