"""Precision, recall and F1 of decisions, and the threshold that makes the best ones."""

from typing import NamedTuple

import numpy as np

from nsed.errors import ArgumentError


class MatchingScore(NamedTuple):
    """Of pairs called a match at a threshold: how many are one, and how many of all matches they are."""

    precision: float
    recall: float
    f1: float
    threshold: float


def matching_score(scores: np.ndarray, labels: np.ndarray, threshold: float) -> MatchingScore:
    """Pairs with a score of at least the threshold are called a match.

    >>> matching_score(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]), 0.5)
    MatchingScore(precision=0.5, recall=0.5, f1=0.5, threshold=0.5)
    """
    called, labels = _checked(scores, labels) >= threshold, np.asarray(labels, dtype=bool)
    hits = int((called & labels).sum())
    precision, recall = hits / max(int(called.sum()), 1), hits / max(int(labels.sum()), 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-12)
    return MatchingScore(precision, recall, f1, float(threshold))


def best_threshold(scores: np.ndarray, labels: np.ndarray) -> MatchingScore:
    """The threshold with the highest F1, halfway to the next lower score. Paper: section 3.1, the dynamic threshold."""
    scores, labels = _checked(scores, labels), np.asarray(labels, dtype=bool)
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(labels[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + labels.sum())
    f1[:-1][ranked[:-1] == ranked[1:]] = -1  # a threshold cannot cut between equal scores
    best = int(f1.argmax())
    lower = ranked[best + 1] if best + 1 < len(ranked) else ranked[best] - 1
    return matching_score(scores, labels, _between(lower, ranked[best]))


def _between(lower: float, upper: float) -> float:
    middle = upper - (upper - lower) / 2 if np.isfinite(lower) and np.isfinite(upper) else upper
    return float(middle if middle > lower else upper)


def _checked(scores: np.ndarray, labels: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, dtype=float)
    if scores.shape != np.shape(labels) or scores.ndim != 1 or not len(scores):
        raise ArgumentError("labels", got=np.shape(labels), expected=f"{scores.shape}, one per score, at least one")
    return scores
