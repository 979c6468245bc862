"""Precision, recall and F1 of match decisions, ranking metrics of scores, and thresholds by F1 or by precision."""

from typing import NamedTuple

import numpy as np

from nsed.errors import ArgumentError
from nsed.evaluate.significance import Interval, totals_interval, wilson_interval


def labelled(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Score and label arrays, checked: as many of one as of the other, and at least one."""
    scores = np.asarray(scores, dtype=float)
    if scores.shape != np.shape(labels) or scores.ndim != 1 or not len(scores):
        raise ArgumentError("labels", got=np.shape(labels), expected=f"{scores.shape}, one per score, at least one")
    return scores, _as_booleans(np.asarray(labels))


def _as_booleans(labels: np.ndarray) -> np.ndarray:
    """Labels as booleans. Raises `ArgumentError` for what is neither true nor false, 1 nor 0: "0" would be true."""
    if labels.dtype == bool:
        return labels
    wrong = [label for label in labels.tolist() if label not in (False, True)]
    if wrong:
        raise ArgumentError("labels", got=repr(wrong[0]), expected="true and false, or 1 and 0")
    return labels.astype(bool)


def _ordered(scores: np.ndarray) -> np.ndarray:
    """The same scores. Raises `ArgumentError` where one of them is NaN, neither above nor below a threshold."""
    if np.isnan(scores).any():
        got = f"NaN for {np.isnan(scores).sum()} of {len(scores)} pairs"
        raise ArgumentError("scores", got=got, expected="numbers that can be ordered")
    return scores


def both_kinds(labels: np.ndarray) -> tuple[int, int]:
    """Class counts: how many labels are positive, and how many negative; neither may be missing."""
    positives = int(np.count_nonzero(labels))
    negatives = len(labels) - positives
    if not positives or not negatives:
        got = f"{positives} positive and {negatives} negative labels"
        raise ArgumentError("labels", got=got, expected="both kinds")
    return positives, negatives


class Agreement(NamedTuple):
    """Precision, recall and F1: how much found was expected, how much expected was found, their harmonic mean."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, precision: float, recall: float) -> "Agreement":
        """Precision and recall with their harmonic mean, which is 0 where both are.

        >>> Agreement.of(0.5, 1.0)
        Agreement(precision=0.5, recall=1.0, f1=0.66...)
        """
        return cls(precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))


def tuned_threshold(scores: np.ndarray, labels: np.ndarray) -> float:
    """Threshold tuning: highest F1, halfway to the next lower score. Paper: section 3.1, the dynamic threshold.

    >>> tuned_threshold(np.array([0.9, 0.5, 0.1]), np.array([True, True, False]))
    0.3
    """
    scores, labels = labelled(scores, labels)
    order = np.argsort(-_ordered(scores), kind="stable")
    ranked, hits = scores[order], np.cumsum(labels[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + labels.sum())
    f1[:-1][ranked[:-1] == ranked[1:]] = -1  # a threshold cannot cut between equal scores
    best = int(f1.argmax())
    lower = ranked[best + 1] if best + 1 < len(ranked) else ranked[best] - 1
    return _between(lower, ranked[best])


def _between(lower: float, upper: float) -> float:
    middle = upper - (upper - lower) / 2 if np.isfinite(lower) and np.isfinite(upper) else upper
    return float(middle if middle > lower else upper)


class MatchingScore(NamedTuple):
    """Precision, recall and F1 of pairs called a match at a threshold.

    >>> score: MatchingScore = matching_score(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]), 0.5)
    >>> f"F1 {score.f1:.1%} with the threshold {score.threshold}"
    'F1 50.0% with the threshold 0.5'
    """

    precision: float
    recall: float
    f1: float
    threshold: float


def decisions(scores: np.ndarray, labels: np.ndarray, threshold: float) -> np.ndarray:
    """Decision indicators of each pair, as 0 or 1: whether it is called a match, rightly so, and whether it is one.

    >>> decisions(np.array([0.9, 0.1]), np.array([False, True]), 0.5).tolist()
    [[1, 0, 0], [0, 0, 1]]
    """
    scores, labels = labelled(scores, labels)
    called = _ordered(scores) >= threshold
    return np.stack([called, called & labels, labels], axis=1).astype(int)


def f1_of_totals(totals: np.ndarray) -> float:
    """F1 from the sums of the columns of `decisions`."""
    return float(2 * totals[1] / max(totals[0] + totals[2], 1))


def matching_score(scores: np.ndarray, labels: np.ndarray, threshold: float) -> MatchingScore:
    """Precision, recall and F1 at a threshold: pairs with a score of at least that are called a match.

    >>> matching_score(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]), 0.5)
    MatchingScore(precision=0.5, recall=0.5, f1=0.5, threshold=0.5)
    """
    called, hits, matches = decisions(scores, labels, threshold).sum(axis=0).tolist()
    return MatchingScore(*Agreement.of(hits / max(called, 1), hits / max(matches, 1)), float(threshold))


def f1_interval(scores: np.ndarray, labels: np.ndarray, threshold: float, *, level: float = 0.95) -> Interval:
    """Bootstrap confidence interval of the F1 at a threshold that was not tuned on these pairs.

    >>> f1_interval(np.array([0.9, 0.8, 0.1] * 30), np.array([True, False, True] * 30), 0.5)
    Interval(low=0.3..., high=0.6...)
    """
    return totals_interval(decisions(scores, labels, threshold), f1_of_totals, level=level)


def best_threshold(scores: np.ndarray, labels: np.ndarray) -> MatchingScore:
    """Maximum F1: the decisions at the threshold with the highest.

    >>> best_threshold(np.array([0.9, 0.5, 0.1]), np.array([True, True, False]))
    MatchingScore(precision=1.0, recall=1.0, f1=1.0, threshold=0.3)
    """
    return matching_score(scores, labels, tuned_threshold(scores, labels))


class RankingCurve(NamedTuple):
    """Precision-recall and ROC points: what each threshold gives, highest first; pairs with equal scores share one.

    `recall` is the share of the matches that are called one (in a ROC curve: the true positive rate), `precision` the
    share of those called one that are, `false_alarms` the share of the other pairs that are called a match.

    >>> curve: RankingCurve = ranking_curve(np.array([0.9, 0.8, 0.1]), np.array([True, False, True]))
    >>> [*zip(curve.recall.tolist(), curve.precision.round(2).tolist())]
    [(0.5, 1.0), (0.5, 0.5), (1.0, 0.67)]
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
    return _ordered(scores), labels


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
    order = np.argsort(-_ordered(scores), kind="stable")
    ranked, hits = scores[order], np.cumsum(labels[order])
    ends = np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True])
    total = max(int(labels.sum()) if positives is None else positives, 1)
    return [threshold_point(float(ranked[end]), int(end) + 1, int(hits[end]), total) for end in ends.tolist()]


def threshold_point(threshold: float, called: int, right: int, total: int) -> ThresholdPoint:
    """What a threshold gives, by how many pairs it calls a match, how many rightly so, and how many there are in all.

    >>> threshold_point(0.5, 4, 3, 6)[2:]
    (0.75, Interval(low=0.30..., high=0.95...), 0.5, 0.6)
    """
    precision, recall = right / called, right / total
    f1 = 2 * right / (called + total)
    return ThresholdPoint(threshold, called, precision, wilson_interval(precision, called), recall, f1)


def threshold_at_precision(curve: list[ThresholdPoint], precision: float) -> ThresholdPoint:
    """The lowest threshold with at least this precision. Raises `ArgumentError` where none has, or there is none.

    >>> curve = threshold_curve(np.array([0.9, 0.6, 0.4, 0.2]), np.array([1, 1, 1, 0]))
    >>> threshold_at_precision(curve, 0.99).threshold
    0.4
    """
    if not 0 < precision <= 1:
        raise ArgumentError("precision", got=precision, expected="a share above 0, at most 1")
    _check_curve(curve)
    lowest = lowest_at_precision(curve, precision)
    if lowest is None:
        best = max(point.precision for point in curve)
        expected = f"at most {best:.4f}, the highest precision of any threshold on the labelled pairs"
        raise ArgumentError("precision", got=precision, expected=expected)
    return lowest


def lowest_at_precision(curve: list[ThresholdPoint], precision: float) -> ThresholdPoint | None:
    """The lowest threshold with at least this precision; None where none has."""
    return next((point for point in reversed(curve) if point.precision >= precision), None)


def best_f1(curve: list[ThresholdPoint]) -> ThresholdPoint:
    """The threshold with the highest F1. Raises `ArgumentError` for a curve without a point."""
    _check_curve(curve)
    return max(curve, key=lambda point: point.f1)


def _check_curve(curve: list[ThresholdPoint]) -> None:
    if not curve:
        raise ArgumentError("curve", got="no point", expected="one or more, as threshold_curve makes them")
