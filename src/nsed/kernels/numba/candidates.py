"""Candidate search, compiled: by shared n-grams, in an inverted index, and by edit operations, in sorted strings."""

import numpy as np
from numba import njit

from nsed.kernels.contracts import (
    Best,
    EncodedQueries,
    InvertedIndex,
    OperationOdds,
    SortedStrings,
    SparseQueries,
)
from nsed.kernels.numba import parts_of, run_parts

compiled = njit(nogil=True, cache=True, error_model="numpy")
BLOCK, TOGETHER = 2**14, 64
"""Rows of an index whose sums are kept at a time: 128 kB; and rows that are compared together."""


def best_by_ngrams(queries: SparseQueries, index: InvertedIndex, k: int, *, budget: int, pool: int) -> Best:
    """See `CandidatesKernel.best_by_ngrams`."""
    found = Best.empty(len(queries.starts) - 1, k)
    run_parts(_best_by_ngrams, (*queries, *index, budget, pool, *found), parts_of(len(found.rows), least=1))
    return found


def best_by_operations(queries: EncodedQueries, strings: SortedStrings, odds: OperationOdds, k: int) -> Best:
    """See `CandidatesKernel.best_by_operations`."""
    found = Best.empty(len(queries.starts) - 1, k)
    run_parts(_best_by_operations, (*queries, *strings, *odds, *found), parts_of(len(found.rows), least=1))
    return found


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
def _add_rest(rows, values, low, high, weight, near, order, partial):
    """Add what an n-gram weighs to rows near a query, in their order; its own are sorted, too (galloping search)."""
    for place in order:
        row, step = near[place], 1
        while low + step < high and rows[low + step] < row:
            low += step
            step *= 2
        end = min(low + step, high - 1) + 1
        while low < end:
            middle = (low + end) // 2
            if rows[middle] < row:
                low = middle + 1
            else:
                end = middle
        if low == high:
            return
        if rows[low] == row:
            partial[place] += weight * values[low]


@compiled
def _add_until(stop, rows, values, at, end, weight, total):
    """Add what an n-gram weighs to the sums of a block of rows, which ends before `stop`; returns where it ends.

    Unsigned numbers are indexed without a look whether they are negative.
    """
    base, place, last = np.int32(stop - BLOCK), np.uint64(at), np.uint64(end)
    while place < last and rows[place] < stop:
        total[np.uint32(rows[place] - base)] += weight * values[place]
        place += np.uint64(1)
    return np.int64(place)


@compiled
def _pooled(grams, weights, positions, offsets, rows, values, size, total, near, partial):
    """Put the best rows by some n-grams into the heap `near`; returns how many.

    Rows are done block by block, so that their sums stay in the cache. Of most of them none is good enough: numbers
    that are not negative are compared as integers, some at once, since their order is the same.
    """
    pooled, least, bits = 0, np.int64(1), total.view(np.int64)
    for gram in range(len(grams)):
        positions[gram] = offsets[grams[gram]]
    for base in range(0, size, BLOCK):
        for gram in range(len(grams)):
            end, weight = offsets[grams[gram] + 1], weights[gram]
            positions[gram] = _add_until(base + BLOCK, rows, values, positions[gram], end, weight, total)
        for some in range(0, BLOCK, TOGETHER):
            most = np.int64(0)
            for row in range(some, some + TOGETHER):
                most = max(most, bits[row])
            if most < least:
                continue
            for row in range(some, some + TOGETHER):
                if bits[row] >= least:
                    pooled = _keep(partial, near, pooled, total[row], base + row)
            if pooled == len(near):
                least = partial[:1].view(np.int64)[0]
        total[:] = 0
    return pooled


@compiled
def _best_by_ngrams(
    starts, grams, weights, offsets, rows, values, size, budget, pool, found, scores, counts, _, first, last
):  # fmt: skip
    """The best rows of an inverted index for some queries, by the inner product; unsorted.

    N-grams of a query come rarest first. Beyond the budget of entries, only the `pool` best rows so far are scored.
    """
    total, near, partial = np.zeros(BLOCK), np.empty(pool, np.int64), np.empty(pool)
    for query in range(first, last):
        place, end, visited = starts[query], starts[query + 1], 0
        while place < end:
            entries = offsets[grams[place] + 1] - offsets[grams[place]]
            if visited > 0 and visited + entries > budget:
                break
            visited += entries
            place += 1
        part, positions = slice(starts[query], place), np.empty(place - starts[query], np.int64)
        pooled = _pooled(grams[part], weights[part], positions, offsets, rows, values, size, total, near, partial)
        order = np.argsort(near[:pooled])
        for rest in range(place, end):
            low, high = offsets[grams[rest]], offsets[grams[rest] + 1]
            _add_rest(rows, values, low, high, weights[rest], near, order, partial)
        count = 0
        for index in range(pooled):
            count = _keep(scores[query], found[query], count, partial[index], near[index])
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
def _best_by_operations(
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
