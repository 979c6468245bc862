"""Calibration (Platt scaling, beta calibration): from scores to probabilities that keep their promise, or not."""

from typing import Literal, NamedTuple

import numpy as np

from nsed.errors import ArgumentError
from nsed.evaluate.matching import both_kinds, labelled

Form = Literal["score", "log-odds", "beta"]
"""What calibrated log-odds are linear in. Platt scaling: the score, or, of a score that is a log-probability, its
log-odds; a log-probability is at most 0, so that the first would cap what is certain to match at the probability of the
intercept. Beta calibration, of a score that is log-odds: the score, bent where it is 0."""
MOST_BENT = 0.9
"""Bend at most: slopes below and above 0 are never further apart than one to nineteen."""
RIDGE, STRAIGHT = 1e-3, 10.0
"""Ridge of a line, for separable data, and that of a bend, of which few pairs say little."""
CERTAIN = -1e-6
"""Highest log-probability that is told apart from certainty, about what single precision can."""
FURTHEST = 1e30
"""Evidence that stands for infinity."""


class Calibration(NamedTuple):
    """Calibration: `probability = 1 / (1 + exp(-(slope * evidence + intercept)))`, of the evidence of `form`.

    >>> Calibration(1.0, 0.0, "log-odds").probability(np.log([0.25, 0.9]))
    array([0.25, 0.9 ])
    """

    slope: float
    intercept: float
    form: Form = "score"
    bend: float = 0.0
    """Bend of beta calibration: the slope is `1 + bend` times as steep far above 0, and `1 - bend` times far below."""

    def evidence(self, scores: np.ndarray | float) -> np.ndarray:
        """Evidence that the log-odds are linear in: the scores, their log-odds, or the scores bent at 0."""
        if self.form == "log-odds":
            return log_odds(scores)
        scores = np.asarray(scores, dtype=float)
        return scores + self.bend * np.where(np.isfinite(scores), rounded_size(scores), 0.0) if self.bend else scores

    def steepness(self, scores: np.ndarray) -> np.ndarray:
        """Evidence in proportion to each score: what of an additive score's parts makes parts of the evidence."""
        away = np.where(scores == 0, 1.0, scores)
        return np.asarray(1 + self.bend * np.where(scores == 0, 0.0, rounded_size(away) / away))

    @property
    def record(self) -> list[float | str]:
        """Plain values, for a file: the bend only where there may be one, so that older versions read the others."""
        return list(self) if self.form == "beta" else list(self[:3])

    def probability(self, scores: np.ndarray) -> np.ndarray:
        """Calibrated probabilities of a match; a score of minus infinity is a probability of 0, of infinity one of 1.

        With a slope of 0 scores say nothing, not even these. Raises `ArgumentError` for a score that is no number.
        """
        return np.asarray(1 / (1 + np.exp(-np.clip(self.logits(scores), -700, 700))))

    def logits(self, scores: np.ndarray) -> np.ndarray:
        """Calibrated log-odds of a match, all finite: `FURTHEST` stands for those of certainty. Raises as above."""
        scores = _numbers(scores)
        if not self.slope:
            return np.full(scores.shape, self.intercept)
        evidence = np.clip(self.evidence(scores), -FURTHEST, FURTHEST)
        return np.where(np.isposinf(scores), FURTHEST, self.slope * evidence + self.intercept)


def log_odds(log_probabilities: np.ndarray | float) -> np.ndarray:
    """Log-odds of log-probabilities, log p - log(1 - p), up to those of `CERTAIN`.

    >>> log_odds(np.array([np.log(0.5), -100.0, 0.0]))
    array([   0.        , -100.        ,   13.81...])
    """
    below = np.minimum(np.asarray(log_probabilities, dtype=float), CERTAIN)
    return np.asarray(below - np.log(-np.expm1(below)))


def rounded_size(scores: np.ndarray) -> np.ndarray:
    """Absolute value but rounded off at 0, `log(1 + exp(x)) + log(1 + exp(-x)) - 2 log 2`.

    With it, beta calibration is linear: `a log p - b log(1 - p) + c`, of `p = 1 / (1 + exp(-x))`, is a line in x and
    this (Kull, Silva Filho and Flach, 2017).

    >>> rounded_size(np.array([-100.0, 0.0, 100.0]))
    array([98.61..., 0.        , 98.61...])
    """
    size = np.abs(scores)
    return np.asarray(size + 2 * np.log1p(np.exp(-size)) - 2 * np.log(2))


def fit_calibration(scores: np.ndarray, labels: np.ndarray, *, form: Form = "score") -> Calibration:
    """Fit a calibration: maximum likelihood on held-out scores, with Platt's smoothed targets, by Newton's method.

    The slope is never negative: a higher score is never less probable. Of few scores, beta calibration is nearly
    straight, which is Platt scaling. Infinite scores count as just beyond the finite ones. Raises `ArgumentError` for
    NaN.

    >>> calibration = fit_calibration(np.array([-3.0, -2.0, -1.0, 0.0]), np.array([False, False, True, True]))
    >>> calibration.probability(np.array([-3.0, 0.0])).round(2)
    array([0.2, 0.8])
    """
    labels, scores = np.asarray(labels, dtype=bool), Calibration(1.0, 0.0, form).evidence(_numbers(scores))
    positives, negatives = both_kinds(labels)
    targets = np.where(labels, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    finite = scores[np.isfinite(scores)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    clipped = np.clip(scores, low - 1, high + 1)
    bend = _bend(clipped, targets) if form == "beta" else 0.0
    slope, intercept = _line(clipped + bend * rounded_size(clipped) if bend else clipped, targets)
    return Calibration(slope, intercept, form, bend)


def _numbers(scores: np.ndarray) -> np.ndarray:
    scores = np.asarray(scores, dtype=float)
    if np.isnan(scores).any():
        raise ArgumentError("scores", got="NaN", expected="numbers: NaN is no probability")
    return scores


def _line(evidence: np.ndarray, targets: np.ndarray) -> tuple[float, float]:
    """Slope, at least 0, and intercept of log-odds; evidence that is all the same has a slope of 0."""
    same = evidence.min() == evidence.max()  # a mean of equal numbers may be off by a last digit
    centre, scale = (evidence[0], 1.0) if same else (evidence.mean(), evidence.std() or 1.0)  # of tiny ones it is 0
    weights = logistic_regression(np.stack([(evidence - centre) / scale, np.ones_like(evidence)], axis=1), targets)
    slope = max(float(weights[0] / scale), 0.0)
    return slope, float(weights[1] - slope * centre)


def _bend(scores: np.ndarray, targets: np.ndarray) -> float:
    """Bend of log-odds at a score of 0."""
    features = np.stack([scores, rounded_size(scores), np.ones_like(scores)], axis=1)
    slope, bent, _ = logistic_regression(features, targets, ridge=np.array([RIDGE, STRAIGHT, RIDGE])).tolist()
    return float(np.clip(bent / slope, -MOST_BENT, MOST_BENT)) if slope > 0 else 0.0


def logistic_regression(features: np.ndarray, targets: np.ndarray, *, ridge: np.ndarray | float = RIDGE) -> np.ndarray:
    """Logistic regression by Newton's method: a weight for each column, with a little ridge for separable data."""
    weights, ridge = np.zeros(features.shape[1]), np.broadcast_to(ridge, features.shape[1:])
    for _ in range(100):
        predicted = 1 / (1 + np.exp(-np.clip(features @ weights, -700, 700)))
        gradient = features.T @ (predicted - targets) + ridge * weights
        curvature = features.T @ (features * (predicted * (1 - predicted))[:, None]) + np.diag(ridge)
        step = np.linalg.solve(curvature, gradient)
        weights = weights - step * min(1.0, 5.0 / max(float(np.abs(step).max()), 1e-12))
        if np.abs(step).max() < 1e-9:
            break
    return weights


class ReliabilityBins(NamedTuple):
    """Reliability diagram points, by rising probability; bins without pairs are left out.

    `probability` is the mean of a bin's probabilities, `share` the share of its pairs that match, `pairs` their number.

    >>> bins: ReliabilityBins = reliability_bins(np.array([0.1, 0.2, 0.9]), np.array([False, False, True]), bins=2)
    >>> (bins.probability - bins.share).round(2).tolist(), bins.pairs.tolist()
    ([0.15, -0.1], [2, 1])
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
