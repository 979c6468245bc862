"""Average linkage: again and again, the two clusters that are the most similar on average become one."""

import numpy as np


def average_linkage(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Clusters whose mean similarity is at least the threshold are joined, the most similar ones first (UPGMA).

    The mean is over the pairs of items that were compared; clusters without such a pair stay apart.
    """
    known = ~np.isnan(similarities)
    np.fill_diagonal(known, False)
    sums, counts = np.where(known, similarities, 0.0), known.astype(float)
    means = _mean(sums, counts)
    groups = np.arange(len(similarities))
    while means.size and means.max() >= threshold:
        kept, joined = sorted(divmod(int(means.argmax()), len(means)))
        groups[groups == joined] = kept
        _join(sums, kept, joined)
        _join(counts, kept, joined)
        means[kept] = means[:, kept] = _mean(sums[kept], counts[kept])
        means[joined] = means[:, joined] = -np.inf
    return groups


def _join(table: np.ndarray, kept: int, joined: int) -> None:
    """Add up what two clusters have with others; nothing is left of the second, nor within the first."""
    table[kept] += table[joined]
    table[:, kept] = table[kept]
    table[joined] = table[:, joined] = table[kept, kept] = 0.0


def _mean(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.where(counts > 0, sums / np.maximum(counts, 1), -np.inf)
