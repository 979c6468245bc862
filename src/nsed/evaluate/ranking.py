"""How well scores put matches before the rest, whatever the threshold."""

import numpy as np

from nsed.errors import ArgumentError
from nsed.evaluate.labelled import both_kinds, labelled


def average_precision(scores: np.ndarray, labels: np.ndarray) -> float:
    """The mean, over all matches, of the precision at the threshold that just calls them one.

    Equal scores share a threshold, so that the order of the pairs does not matter.

    >>> average_precision(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]))
    0.83...
    """
    scores, labels = _rankable(scores, labels)
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(labels[order])
    last = np.append(np.flatnonzero(ranked[:-1] != ranked[1:]), len(ranked) - 1)
    gained = np.diff(hits[last], prepend=0)
    return float((gained * hits[last] / (last + 1)).sum() / hits[-1])


def roc_auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """The probability that a match has a higher score than a pair that is none; equal scores count one half.

    >>> roc_auc(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, False, True, False]))
    0.875
    """
    scores, labels = _rankable(scores, labels)
    positives, negatives = both_kinds(labels)
    _, group, sizes = np.unique(scores, return_inverse=True, return_counts=True)
    middle_rank = np.cumsum(sizes) - (sizes - 1) / 2
    wins = middle_rank[group][labels].sum() - positives * (positives + 1) / 2
    return float(wins / (positives * negatives))


def _rankable(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores, labels = labelled(scores, labels)
    both_kinds(labels)
    if np.isnan(scores).any():
        got = f"NaN for {np.isnan(scores).sum()} of {len(scores)} pairs"
        raise ArgumentError("scores", got=got, expected="numbers that can be ordered")
    return scores, labels
