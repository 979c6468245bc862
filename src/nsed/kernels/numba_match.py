"""The Matcher's normalisation, compiled: the arcs that enter a cell compete, and non-match with them.

Tables have the pairs innermost; what happens in a cell is a loop over pairs without a branch.
"""

from numba import njit

from nsed.kernels.numba_math import exp_below_zero, log_sum_of_four
from nsed.types import NEG

compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"contract", "nsz"})


@compiled
def _copy(result, given, is_there):
    """The scores of arcs, NEG where there are none."""
    if is_there:
        for b in range(result.size):
            result[b] = given[b]
    else:
        result[:] = given.dtype.type(NEG)


@compiled
def _normalise(delete, insert, substitute, non_match):
    """The scores of one cell become log-probabilities, in place."""
    for b in range(delete.size):
        total = log_sum_of_four(delete[b], insert[b], substitute[b], non_match[b])
        delete[b] -= total
        insert[b] -= total
        substitute[b] -= total
        non_match[b] -= total


@compiled
def forward(scores, arcs, part, first, last):
    """Log-probabilities in the cells that arcs enter, from scores in those that they leave; both [4, n, m, pairs]."""
    _, rows, columns, _ = scores.shape
    for i in range(rows):
        for j in range(columns):
            above, left = max(i - 1, 0), max(j - 1, 0)
            delete, insert = arcs[0, i, j, first:last], arcs[1, i, j, first:last]
            substitute, non_match = arcs[2, i, j, first:last], arcs[3, i, j, first:last]
            _copy(delete, scores[0, above, j, first:last], i > 0)
            _copy(insert, scores[1, i, left, first:last], j > 0)
            _copy(substitute, scores[2, above, left, first:last], i > 0 and j > 0)
            _copy(non_match, scores[3, above, left, first:last], True)
            _normalise(delete, insert, substitute, non_match)


@compiled
def _add_share(result, gradient, total, log_probability, nothing):
    for b in range(result.size):
        result[b] += gradient[b] - exp_below_zero(min(log_probability[b], nothing)) * total[b]


@compiled
def _add_up(total, delete, insert, substitute, non_match):
    for b in range(total.size):
        total[b] = delete[b] + insert[b] + substitute[b] + non_match[b]


@compiled
def backward(arcs, delete, insert, substitute, non_match, total, result, part, first, last):
    """The gradient by the scores, from those by the four tables; `result` comes full of zeros, `total` is for notes."""
    _, rows, columns, _ = arcs.shape
    nothing, whole = arcs.dtype.type(0), total[first:last]
    for i in range(rows):
        for j in range(columns):
            above, left = max(i - 1, 0), max(j - 1, 0)
            given = (
                delete[i, j, first:last],
                insert[i, j, first:last],
                substitute[i, j, first:last],
                non_match[i, j, first:last],
            )
            _add_up(whole, *given)
            if i:
                _add_share(result[0, above, j, first:last], given[0], whole, arcs[0, i, j, first:last], nothing)
            if j:
                _add_share(result[1, i, left, first:last], given[1], whole, arcs[1, i, j, first:last], nothing)
            if i and j:
                _add_share(result[2, above, left, first:last], given[2], whole, arcs[2, i, j, first:last], nothing)
            _add_share(result[3, above, left, first:last], given[3], whole, arcs[3, i, j, first:last], nothing)
