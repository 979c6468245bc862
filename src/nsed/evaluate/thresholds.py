"""Thresholds by precision: precision and recall of every threshold, and the lowest one that keeps a precision."""

from typing import NamedTuple

import numpy as np

from nsed.errors import ArgumentError
from nsed.evaluate.matching import labelled
from nsed.evaluate.significance import Interval, wilson_interval


class ThresholdPoint(NamedTuple):
    """What a threshold gives: pairs with at least this score match."""

    threshold: float
    matches: int
    precision: float
    precision_interval: Interval
    """Wilson interval, 95 %."""
    recall: float
    f1: float


def threshold_curve(scores: np.ndarray, labels: np.ndarray, *, positives: int | None = None) -> list[ThresholdPoint]:
    """Precision, recall and F1 of every threshold, highest first; pairs with equal scores share one.

    `positives` is how many matches there are in all, where some have no score: what candidates lost counts in recall.

    >>> [point[:3] for point in threshold_curve(np.array([0.9, 0.6, 0.2]), np.array([1, 0, 1]))]
    [(0.9, 1, 1.0), (0.6, 2, 0.5), (0.2, 3, 0.66...)]
    """
    scores, labels = labelled(scores, labels)
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(labels[order])
    ends = np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True])
    total = max(int(labels.sum()) if positives is None else positives, 1)
    return [_point(float(ranked[end]), int(end) + 1, int(hits[end]), total) for end in ends.tolist()]


def _point(threshold: float, called: int, right: int, total: int) -> ThresholdPoint:
    precision, recall = right / called, right / total
    f1 = 2 * right / (called + total)
    return ThresholdPoint(threshold, called, precision, wilson_interval(precision, called), recall, f1)


def threshold_at_precision(curve: list[ThresholdPoint], precision: float) -> ThresholdPoint:
    """The lowest threshold with at least this precision. Raises `ArgumentError` where none has.

    >>> curve = threshold_curve(np.array([0.9, 0.6, 0.4, 0.2]), np.array([1, 1, 1, 0]))
    >>> threshold_at_precision(curve, 0.99).threshold
    0.4
    """
    if not 0 < precision <= 1:
        raise ArgumentError("precision", got=precision, expected="a share above 0, at most 1")
    enough = [point for point in curve if point.precision >= precision]
    if not enough:
        best = max(point.precision for point in curve)
        expected = f"at most {best:.4f}, the highest precision of any threshold on the labelled pairs"
        raise ArgumentError("precision", got=precision, expected=expected)
    return enough[-1]


def best_f1(curve: list[ThresholdPoint]) -> ThresholdPoint:
    """The threshold with the highest F1."""
    return max(curve, key=lambda point: point.f1)
