"""Label propagation: every item asks its similar ones which cluster they are in, and goes where most of the weight is.

Raghavan, Albert and Kumara 2007, with similarities as weights.
"""

import numpy as np

from nsed.jobs.clustering.similarities import links

SEED = 0
MOST_ROUNDS = 100


def label_propagation(similarities: np.ndarray, threshold: float) -> np.ndarray:
    """Items ask in a random order, always the same, until nobody moves; pairs below the threshold do not count.

    What weighs is how far a pair is above the threshold. Of clusters of the same weight an item prefers its own.
    """
    linked = links(similarities, threshold)
    weights = np.where(linked, similarities - threshold, 0.0) + 1e-6 * linked  # a pair at the threshold counts, too
    random, groups = np.random.default_rng(SEED), np.arange(len(weights))
    for _ in range(MOST_ROUNDS):
        before = groups.copy()
        for item in random.permutation(len(groups)).tolist():
            groups[item] = _preferred(weights[item], groups, item)
        if np.array_equal(groups, before):
            break
    return groups


def _preferred(weights: np.ndarray, groups: np.ndarray, item: int) -> int:
    """The cluster with the largest weight for an item."""
    votes = np.bincount(groups, weights=weights, minlength=len(groups))
    best, own = int(votes.argmax()), int(groups[item])
    return best if votes[best] > votes[own] + 1e-12 else own
