"""Ranking metrics: how well scores put matches before the rest, whatever the threshold."""

from typing import NamedTuple

import numpy as np

from nsed.errors import ArgumentError
from nsed.evaluate.matching import both_kinds, labelled


class RankingCurve(NamedTuple):
    """Precision-recall and ROC points: what each threshold gives, highest first; pairs with equal scores share one.

    `recall` is the share of the matches that are called one (in a ROC curve: the true positive rate), `precision` the
    share of those called one that are, `false_alarms` the share of the other pairs that are called a match.
    """

    recall: np.ndarray
    precision: np.ndarray
    false_alarms: np.ndarray


def ranking_curve(scores: np.ndarray, labels: np.ndarray) -> RankingCurve:
    """Precision-recall and ROC curve.

    >>> curve = ranking_curve(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]))
    >>> curve.recall.tolist(), curve.precision.round(2).tolist(), curve.false_alarms.tolist()
    ([0.5, 0.5, 1.0], [1.0, 0.5, 0.67], [0.0, 1.0, 1.0])
    """
    scores, labels = _rankable(scores, labels)
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(labels[order])
    last = np.append(np.flatnonzero(ranked[:-1] != ranked[1:]), len(ranked) - 1)
    hits, called = hits[last], last + 1
    return RankingCurve(hits / hits[-1], hits / called, (called - hits) / (len(labels) - hits[-1]))


def average_precision(scores: np.ndarray, labels: np.ndarray) -> float:
    """Average precision: the mean, over all matches, of the precision at the threshold that just calls them one.

    Equal scores share a threshold, so that the order of the pairs does not matter.

    >>> average_precision(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]))
    0.83...
    """
    curve = ranking_curve(scores, labels)
    return float((np.diff(curve.recall, prepend=0) * curve.precision).sum())


def roc_auc(scores: np.ndarray, labels: np.ndarray) -> float:
    """ROC AUC: the probability that a match has a higher score than a pair that is none; equal scores count one half.

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
