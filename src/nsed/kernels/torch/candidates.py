"""Candidate search, the readable twin of the compiled one: by shared n-grams, and by edit operations. In NumPy."""

import numpy as np

from nsed.kernels.contracts import (
    Best,
    EncodedQueries,
    InvertedIndex,
    OperationOdds,
    SortedStrings,
    SparseQueries,
)


def best_by_ngrams(queries: SparseQueries, index: InvertedIndex, k: int, *, budget: int, pool: int) -> Best:
    """See `CandidatesKernel.best_by_ngrams`."""
    found = Best.empty(len(queries.starts) - 1, k)
    for query in range(len(found.rows)):
        part = slice(queries.starts[query], queries.starts[query + 1])
        best, scores = _products(queries.grams[part], queries.weights[part], index, budget, pool)
        _keep(found, query, best, scores)
    return found


def best_by_operations(queries: EncodedQueries, strings: SortedStrings, odds: OperationOdds, k: int) -> Best:
    """See `CandidatesKernel.best_by_operations`."""
    found = Best.empty(len(queries.starts) - 1, k)
    for query in range(len(found.rows)):
        scores = _sums_over_derivations(queries, query, strings, odds)
        possible = np.flatnonzero(scores > 0)
        _keep(found, query, possible, scores[possible])
    return found


def _keep(found: Best, query: int, rows: np.ndarray, scores: np.ndarray) -> None:
    """Keep the best rows of a query; of equal ones, the first."""
    order = np.lexsort((rows, -scores))[: found.rows.shape[1]]
    found.counts[query] = len(order)
    found.rows[query, : len(order)], found.scores[query, : len(order)] = rows[order], scores[order]


def _products(
    grams: np.ndarray, weights: np.ndarray, index: InvertedIndex, budget: int, pool: int
) -> tuple[np.ndarray, np.ndarray]:
    """Rows near a query, by its rarest n-grams, and their inner products with it, by all."""
    entries = [slice(index.offsets[gram], index.offsets[gram + 1]) for gram in grams.tolist()]
    if not entries:
        return np.zeros(0, np.int64), np.zeros(0)
    visited = np.cumsum([part.stop - part.start for part in entries])
    done = max(1, int((visited <= budget).sum()))
    products = [weight * index.weights[part] for weight, part in zip(weights[:done], entries[:done], strict=True)]
    rows = np.concatenate([index.rows[part] for part in entries[:done]])
    totals = np.bincount(rows, weights=np.concatenate(products))
    reached = np.unique(rows)
    near = reached[np.lexsort((reached, -totals[reached]))][:pool]
    scores = totals[near]
    for weight, part in zip(weights[done:], entries[done:], strict=True):
        places = np.minimum(np.searchsorted(index.rows[part], near), part.stop - part.start - 1)
        scores += weight * np.where(index.rows[part][places] == near, index.weights[part][places], np.float32(0))
    return near, scores


def _sums_over_derivations(
    queries: EncodedQueries, query: int, strings: SortedStrings, odds: OperationOdds
) -> np.ndarray:
    """Sums over all derivations of each string and a query, all strings at once: `table` has a row of cells of each."""
    part = slice(queries.starts[query], queries.starts[query + 1])
    symbols, size = queries.flat[part], part.stop - part.start
    enter, leave = _entrances(queries.enters[part], queries.leaves[part], odds.scales[symbols])
    lengths = np.diff(strings.starts)
    longest = int(lengths.max(initial=0))
    table, ended, result = np.zeros((len(lengths), size + 1)), np.zeros(len(lengths)), np.zeros(len(lengths))
    table[:, 0] = 1
    for j in range(size):
        table[:, j + 1] = table[:, j] * odds.insert[symbols[j]] + enter[j + 1]
    for i in range(longest + 1):
        done = lengths == i
        result[done] = ended[done] + table[done, 1:] @ leave[1:]
        if i == longest:
            break
        here = strings.flat[np.minimum(strings.starts[:-1] + i, len(strings.flat) - 1)]
        gap, skipped = odds.delete[here], strings.splits[here]
        ended = ended + skipped * (table[:, 1:] @ leave[1:])
        before, table = table, np.empty_like(table)
        table[:, 0] = before[:, 0] * gap + skipped
        for j in range(size):
            kept = before[:, j + 1] * gap + before[:, j] * odds.substitute[here, symbols[j]]
            table[:, j + 1] = kept + table[:, j] * odds.insert[symbols[j]]
    return result


def _entrances(enters: np.ndarray, leaves: np.ndarray, scales: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights to enter a query at the beginning of a word, and to leave it at the end of one."""
    size = len(enters)
    enter, leave = np.zeros(size + 1), np.zeros(size + 1)
    before, after = np.r_[1, np.cumprod(1 / scales)], np.r_[np.cumprod(1 / scales[::-1])[::-1], 1]
    inner = np.arange(1, size)
    enter[inner] = before[inner] * enters[inner - 1]
    leave[inner] = after[inner] * leaves[inner]
    leave[size] = 1
    return enter, leave
