"""The order of the training data: shuffled, yet with strings of similar length in a batch."""

import numpy as np

POOL = 50
"""Batches whose pairs are sorted by length together."""


def epoch_batches(sizes: np.ndarray, *, batch_pairs: int, seed: int, epoch: int) -> list[np.ndarray]:
    """The batches of an epoch, as rows of the data: the same for the same seed and epoch, whenever they are asked for.

    Every row comes once; `sizes` says how long each pair is.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(sizes))
    batches: list[np.ndarray] = []
    for start in range(0, len(order), POOL * batch_pairs):
        pool = order[start : start + POOL * batch_pairs]
        pool = pool[np.argsort(sizes[pool], kind="stable")]
        batches += [pool[first : first + batch_pairs] for first in range(0, len(pool), batch_pairs)]
    return [batches[place] for place in random.permutation(len(batches))]
