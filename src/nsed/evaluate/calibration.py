"""From scores to probabilities that keep their promise: Platt's logistic regression on one score."""

from typing import NamedTuple

import numpy as np

from nsed.evaluate.labelled import both_kinds


class Calibration(NamedTuple):
    """`probability = 1 / (1 + exp(-(slope * score + intercept)))`."""

    slope: float
    intercept: float

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """Calibrated probabilities of a match; a score of minus infinity is a probability of 0."""
        scores = np.asarray(scores, dtype=float)
        logits = self.slope * np.where(np.isfinite(scores), scores, -1e30) + self.intercept
        return 1 / (1 + np.exp(-np.clip(logits, -700, 700)))


def fit_calibration(scores: np.ndarray, labels: np.ndarray) -> Calibration:
    """Maximum likelihood on held-out scores, with Platt's smoothed targets, by Newton's method.

    The slope is never negative: a higher score is never less probable.
    """
    labels = np.asarray(labels, dtype=bool)
    positives, negatives = both_kinds(labels)
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    finite = np.asarray(scores, dtype=float)[np.isfinite(scores)]
    clipped = np.where(np.isfinite(scores), scores, finite.min() - 1)
    centre, scale = clipped.mean(), clipped.std() or 1.0
    weights = _newton(np.stack([(clipped - centre) / scale, np.ones_like(clipped)], axis=1), targets)
    slope = max(float(weights[0] / scale), 0.0)
    return Calibration(slope, float(weights[1] - slope * centre))


def _newton(features: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Logistic regression with a little ridge, so that separable data has an answer."""
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
