"""The exact normalisation, compiled: one distribution per cell, of which only the target's own symbols are kept.

`blocked` has two rows to add to a cell's scores: for cells with some source left, and for those without; NEG for what
cannot happen there.
"""

import math

from numba import njit

from nsed.kernels.numba_math import exp_below_zero
from nsed.types import END

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


@compiled
def _log_total(scores, blocked):
    highest = scores[1] + blocked[1]
    for c in range(scores.size):
        highest = max(highest, scores[c] + blocked[c])
    total = scores.dtype.type(0)
    for c in range(scores.size):
        total += exp_below_zero(scores[c] + blocked[c] - highest)
    return highest + scores.dtype.type(math.log(total))


@compiled
def forward(scores, blocked, target, n, m, arcs, ends, totals, part, first, last):
    """Arcs [3, n, m, batch] into real cells, the end's log-probability, and the logarithm of each cell's sum."""
    symbols = (scores.shape[3] - 1) // 2
    for pair in range(first, last):
        rows, columns, own = n[pair], m[pair], scores[pair]
        for i in range(rows + 1):
            closed = blocked[1 if i == rows else 0]
            for j in range(columns + 1):
                total = _log_total(own[i, j], closed)
                totals[pair, i, j] = total
                if i < rows:
                    arcs[0, i + 1, j, pair] = own[i, j, 0] - total
                if j < columns:
                    insert = 1 + target[pair, j]
                    arcs[1, i, j + 1, pair] = max(own[i, j, insert] + closed[insert] - total, blocked[1, 0])
                if i < rows and j < columns:
                    substitute = 1 + symbols + target[pair, j]
                    arcs[2, i + 1, j + 1, pair] = max(own[i, j, substitute] + closed[substitute] - total, blocked[1, 0])
        ends[pair] = own[rows, columns, 1 + END] - totals[pair, rows, columns]


@compiled
def _shares(scores, blocked, total, factor, result):
    for c in range(scores.size):
        result[c] = exp_below_zero(min(scores[c] + blocked[c] - total, scores.dtype.type(0))) * factor


@compiled
def backward(scores, blocked, target, n, m, totals, to_arcs, to_ends, result, part, first, last):
    """The gradient by the scores; `result` comes full of zeros."""
    symbols, zero = (scores.shape[3] - 1) // 2, scores.dtype.type(0)
    for pair in range(first, last):
        rows, columns = n[pair], m[pair]
        for i in range(rows + 1):
            closed = blocked[1 if i == rows else 0]
            for j in range(columns + 1):
                delete = to_arcs[0, i + 1, j, pair] if i < rows else zero
                insert = to_arcs[1, i, j + 1, pair] if j < columns else zero
                substitute = to_arcs[2, i + 1, j + 1, pair] if i < rows and j < columns else zero
                end = to_ends[pair] if i == rows and j == columns else zero
                own = result[pair, i, j]
                _shares(scores[pair, i, j], closed, totals[pair, i, j], -(delete + insert + substitute + end), own)
                own[0] += delete
                own[1 + END] += end
                if j < columns:
                    own[1 + target[pair, j]] += insert
                    own[1 + symbols + target[pair, j]] += substitute
