"""Top-k search on a CPU: by shared n-grams, in an inverted index, and by edit operations, in sorted strings.

The readable twins, in numpy, are `NgramIndex` and `OperationSearch` of `nsed.jobs`. Of equal scores the first row wins.
"""

from typing import Any

import numpy as np
from numba import njit

from nsed.kernels.numba import Kernel, parts_of, run_parts

compiled = njit(nogil=True, cache=True, error_model="numpy")


def run_queries(kernel: Kernel, *arguments: Any, queries: int) -> None:
    """Run a kernel over all queries, some after the others, by torch's number of threads."""
    run_parts(kernel, arguments, parts_of(queries, least=1))


@compiled
def _worse(score, row, other_score, other_row):
    return score < other_score or (score == other_score and row > other_row)


@compiled
def _keep(scores, rows, count, score, row):
    """Put a result into a heap of the best ones, whose worst one is first; returns how many there are now."""
    if count < len(scores):
        place = count
        while place > 0:
            above = (place - 1) // 2
            if not _worse(score, row, scores[above], rows[above]):
                break
            scores[place], rows[place] = scores[above], rows[above]
            place = above
        scores[place], rows[place] = score, row
        return count + 1
    if _worse(score, row, scores[0], rows[0]):
        return count
    place = 0
    while 2 * place + 1 < count:
        below = 2 * place + 1
        if below + 1 < count and _worse(scores[below + 1], rows[below + 1], scores[below], rows[below]):
            below += 1
        if not _worse(scores[below], rows[below], score, row):
            break
        scores[place], rows[place] = scores[below], rows[below]
        place = below
    scores[place], rows[place] = score, row
    return count


@compiled
def _value(rows, values, low, high, row):
    """Weight of a row among the sorted rows of an n-gram; 0 where it is not among them (binary search)."""
    end = high
    while low < high:
        middle = (low + high) // 2
        if rows[middle] < row:
            low = middle + 1
        else:
            high = middle
    return values[low] if low < end and rows[low] == row else np.float32(0)


@compiled
def best_by_ngrams(
    starts, grams, weights, offsets, rows, values, size, budget, pool, found, scores, counts, _, first, last
):  # fmt: skip
    """The best rows of an inverted index for some queries, by the inner product; unsorted.

    N-grams of a query come rarest first. Beyond the budget of entries, only the `pool` best rows so far are scored.
    """
    total, touched = np.zeros(size), np.empty(size, np.int32)
    near, partial = np.empty(pool, np.int64), np.empty(pool)
    for query in range(first, last):
        reached, visited, place, end = 0, 0, starts[query], starts[query + 1]
        while place < end:
            low, high = offsets[grams[place]], offsets[grams[place] + 1]
            if visited > 0 and visited + high - low > budget:
                break
            visited += high - low
            weight = weights[place]
            for entry in range(low, high):
                row = rows[entry]
                if total[row] == 0:
                    touched[reached] = row
                    reached += 1
                total[row] += weight * values[entry]
            place += 1
        pooled = 0
        for index in range(reached):
            row = touched[index]
            pooled = _keep(partial, near, pooled, total[row], row)
            total[row] = 0
        count = 0
        for index in range(pooled):
            score, row = partial[index], near[index]
            for rest in range(place, end):
                gram = grams[rest]
                score += weights[rest] * _value(rows, values, offsets[gram], offsets[gram + 1], row)
            count = _keep(scores[query], found[query], count, score, row)
        counts[query] = count


@compiled
def _skips(enters, leaves, flat, begin, size, scales, enter, leave):
    """Weights to enter a query at the beginning of a word, and to leave it at the end of one."""
    leave[size] = 1
    scale = 1.0
    for j in range(1, size):
        scale /= scales[flat[begin + j - 1]]
        enter[j] = enters[begin + j - 1] * scale
    scale = 1.0
    for j in range(size - 1, 0, -1):
        scale /= scales[flat[begin + j]]
        leave[j] = leaves[begin + j] * scale


@compiled
def best_by_operations(
    starts, flat, enters, leaves, places, strings, shared, splits, delete, insert, substitute, scales, found,
    scores, counts, _, first, last,
):  # fmt: skip
    """The best of sorted strings for some queries, by the sum over all derivations; unsorted.

    Rows of the table are those of the string's symbols, kept for the prefix that it shares with the one before it.
    Words may be left out at the ends: `enters` and `leaves` are the odds to begin after a symbol of the queries, and to
    end before it, `splits` those to do either at a symbol of the strings; 0 where it separates no words. `insert` and
    `substitute` are divided by the `scales` of the query's symbols: then no product overflows.
    """
    longest = 0
    for string in range(len(places) - 1):
        longest = max(longest, places[string + 1] - places[string])
    for query in range(first, last):
        begin, size = starts[query], starts[query + 1] - starts[query]
        table, ended = np.zeros((longest + 1, size + 1)), np.zeros(longest + 1)
        enter, leave = np.zeros(size + 1), np.zeros(size + 1)
        _skips(enters, leaves, flat, begin, size, scales, enter, leave)
        columns = np.empty((len(delete), size))
        for j in range(size):
            columns[:, j] = substitute[:, flat[begin + j]]
        table[0, 0] = 1
        for j in range(size):
            table[0, j + 1] = table[0, j] * insert[flat[begin + j]] + enter[j + 1]
        count = 0
        for string in range(len(places) - 1):
            at, length = places[string], places[string + 1] - places[string]
            for i in range(shared[string], length):
                symbol = strings[at + i]
                gap, before = delete[symbol], table[i, 0] * delete[symbol]
                ended[i + 1] = ended[i]
                if splits[symbol] > 0:
                    before += splits[symbol]
                    for j in range(1, size + 1):
                        ended[i + 1] += table[i, j] * leave[j] * splits[symbol]
                table[i + 1, 0] = before
                for j in range(size):
                    kept = table[i, j + 1] * gap + table[i, j] * columns[symbol, j]
                    before = kept + before * insert[flat[begin + j]]
                    table[i + 1, j + 1] = before
            score = ended[length]
            for j in range(1, size + 1):
                score += table[length, j] * leave[j]
            if score > 0:
                count = _keep(scores[query], found[query], count, score, string)
        counts[query] = count
