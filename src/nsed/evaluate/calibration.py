"""Calibration (Platt scaling): from scores to probabilities that keep their promise, and whether they do."""

from typing import Literal, NamedTuple

import numpy as np

from nsed.errors import ArgumentError
from nsed.evaluate.matching import both_kinds, labelled

Form = Literal["score", "log-odds"]
"""What Platt scaling is linear in: the score, or, of a score that is a log-probability, its log-odds. A log-probability
is at most 0, so that the first would cap what is certain to match at the probability of the intercept."""
CERTAIN = -1e-6
"""Highest log-probability that is told apart from certainty, about what single precision can."""


class Calibration(NamedTuple):
    """Platt scaling: `probability = 1 / (1 + exp(-(slope * evidence + intercept)))`, of the evidence of `form`.

    >>> Calibration(1.0, 0.0, "log-odds").probability(np.log([0.25, 0.9]))
    array([0.25, 0.9 ])
    """

    slope: float
    intercept: float
    form: Form = "score"

    def evidence(self, scores: np.ndarray | float) -> np.ndarray:
        """Evidence that the log-odds are linear in: the scores, or their log-odds."""
        return log_odds(scores) if self.form == "log-odds" else np.asarray(scores, dtype=float)

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """Calibrated probabilities of a match; a score of minus infinity is a probability of 0.

        Raises `ArgumentError` for a score that is no number.
        """
        scores = np.asarray(scores, dtype=float)
        if np.isnan(scores).any():
            raise ArgumentError("scores", got="NaN", expected="numbers: NaN is no probability")
        evidence = self.evidence(scores)
        logits = self.slope * np.where(np.isfinite(evidence), evidence, -1e30) + self.intercept
        return 1 / (1 + np.exp(-np.clip(logits, -700, 700)))


def log_odds(log_probabilities: np.ndarray | float) -> np.ndarray:
    """Log-odds of log-probabilities, log p - log(1 - p), up to those of `CERTAIN`.

    >>> log_odds(np.array([np.log(0.5), -100.0, 0.0]))
    array([   0.        , -100.        ,   13.81...])
    """
    below = np.minimum(np.asarray(log_probabilities, dtype=float), CERTAIN)
    return np.asarray(below - np.log(-np.expm1(below)))


def fit_calibration(scores: np.ndarray, labels: np.ndarray, *, form: Form = "score") -> Calibration:
    """Fit Platt scaling: maximum likelihood on held-out scores, with Platt's smoothed targets, by Newton's method.

    The slope is never negative: a higher score is never less probable.
    """
    labels, scores = np.asarray(labels, dtype=bool), Calibration(1.0, 0.0, form).evidence(scores)
    positives, negatives = both_kinds(labels)
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    finite = scores[np.isfinite(scores)]
    clipped = np.where(np.isfinite(scores), scores, finite.min() - 1)
    centre, scale = clipped.mean(), clipped.std() or 1.0
    weights = fit_logistic(np.stack([(clipped - centre) / scale, np.ones_like(clipped)], axis=1), targets)
    slope = max(float(weights[0] / scale), 0.0)
    return Calibration(slope, float(weights[1] - slope * centre), form)


def fit_logistic(features: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Newton's method for logistic regression with a little ridge, so that separable data has an answer."""
    weights, ridge = np.zeros(features.shape[1]), 1e-3
    for _ in range(100):
        predicted = 1 / (1 + np.exp(-np.clip(features @ weights, -700, 700)))
        gradient = features.T @ (predicted - targets) + ridge * weights
        curvature = features.T @ (features * (predicted * (1 - predicted))[:, None]) + ridge * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    return weights


class ReliabilityBins(NamedTuple):
    """Reliability diagram points, by rising probability; bins without pairs are left out.

    `probability` is the mean of a bin's probabilities, `share` the share of its pairs that match, `pairs` their number.
    """

    probability: np.ndarray
    share: np.ndarray
    pairs: np.ndarray


def reliability_bins(
    probabilities: np.ndarray, labels: np.ndarray, *, bins: int = 10, equal_mass: bool = False
) -> ReliabilityBins:
    """Reliability bins of equal width, or with `equal_mass` of as many pairs each; equal probabilities share a bin.

    >>> reliability_bins(np.array([0.1, 0.3, 0.9]), np.array([False, True, True]), bins=2)
    ReliabilityBins(probability=array([0.2, 0.9]), share=array([0.5, 1. ]), pairs=array([2, 1]))
    """
    probabilities, labels = _checked(probabilities, labels)
    if bins < 1:
        raise ArgumentError("bins", got=bins, expected="at least 1")
    chosen = _by_rank(probabilities, bins) if equal_mass else np.minimum((probabilities * bins).astype(int), bins - 1)
    pairs = np.bincount(chosen, minlength=bins)
    filled = pairs > 0
    sums = [np.bincount(chosen, weights=values, minlength=bins)[filled] for values in (probabilities, labels)]
    return ReliabilityBins(sums[0] / pairs[filled], sums[1] / pairs[filled], pairs[filled])


def expected_calibration_error(
    probabilities: np.ndarray, labels: np.ndarray, *, bins: int = 10, equal_mass: bool = False
) -> float:
    """Expected calibration error (ECE): the mean, over pairs, of the distance between promise and share in their bin.

    >>> expected_calibration_error(np.array([0.1, 0.3, 0.9]), np.array([False, True, True]), bins=2)
    0.23...
    """
    found = reliability_bins(probabilities, labels, bins=bins, equal_mass=equal_mass)
    return float(np.average(np.abs(found.probability - found.share), weights=found.pairs))


def brier_score(probabilities: np.ndarray, labels: np.ndarray) -> float:
    """Brier score, the mean squared difference between probability and label: 0 is perfect, 0.25 one half everywhere.

    >>> brier_score(np.array([0.5, 1.0]), np.array([True, True]))
    0.125
    """
    probabilities, labels = _checked(probabilities, labels)
    return float(((probabilities - labels) ** 2).mean())


def _by_rank(probabilities: np.ndarray, bins: int) -> np.ndarray:
    first_of_equals = np.searchsorted(np.sort(probabilities), probabilities)
    return np.asarray(first_of_equals * bins // len(probabilities))


def _checked(probabilities: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    probabilities, labels = labelled(probabilities, labels)
    inside = (probabilities >= 0) & (probabilities <= 1)
    if not inside.all():
        got = f"{probabilities[~inside][0]:g}"
        raise ArgumentError("probabilities", got=got, expected="numbers from 0 to 1", advice="Calibrate scores first.")
    return probabilities, labels
