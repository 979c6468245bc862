"""Precision, recall and F1 of decisions, and the threshold that makes the best ones."""

from typing import NamedTuple

import numpy as np

from nsed.evaluate.agreement import Agreement
from nsed.evaluate.labelled import labelled
from nsed.evaluate.resampling import Interval, totals_interval
from nsed.evaluate.threshold import tuned_threshold


class MatchingScore(NamedTuple):
    """Of pairs called a match at a threshold: how many are one, and how many of all matches they are."""

    precision: float
    recall: float
    f1: float
    threshold: float


def decisions(scores: np.ndarray, labels: np.ndarray, threshold: float) -> np.ndarray:
    """Of each pair, as 0 or 1: whether it is called a match, rightly so, and whether it is one.

    >>> decisions(np.array([0.9, 0.1]), np.array([False, True]), 0.5).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    scores, labels = labelled(scores, labels)
    called = scores >= threshold
    return np.stack([called, called & labels, labels], axis=1).astype(int)


def f1_of_totals(totals: np.ndarray) -> float:
    """F1 from the sums of the columns of `decisions`."""
    return float(2 * totals[1] / max(totals[0] + totals[2], 1))


def matching_score(scores: np.ndarray, labels: np.ndarray, threshold: float) -> MatchingScore:
    """Pairs with a score of at least the threshold are called a match.

    >>> matching_score(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]), 0.5)
    MatchingScore(precision=0.5, recall=0.5, f1=0.5, threshold=0.5)
    """
    called, hits, matches = decisions(scores, labels, threshold).sum(axis=0).tolist()
    return MatchingScore(*Agreement.of(hits / max(called, 1), hits / max(matches, 1)), float(threshold))


def f1_interval(scores: np.ndarray, labels: np.ndarray, threshold: float, *, level: float = 0.95) -> Interval:
    """Bootstrap interval of the F1 at a threshold that was not tuned on these pairs.

    >>> f1_interval(np.array([0.9, 0.8, 0.1] * 30), np.array([True, False, True] * 30), 0.5)
    Interval(low=0.3..., high=0.6...)
    """
    return totals_interval(decisions(scores, labels, threshold), f1_of_totals, level=level)


def best_threshold(scores: np.ndarray, labels: np.ndarray) -> MatchingScore:
    """The decisions at the threshold with the highest F1."""
    return matching_score(scores, labels, tuned_threshold(scores, labels))
