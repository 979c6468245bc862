"""Decision threshold and calibration: a score becomes a match, from a threshold on, and a calibrated probability."""

import math
from abc import abstractmethod
from typing import NamedTuple

import numpy as np

from nsed.config import shown
from nsed.errors import ArgumentError
from nsed.evaluate.calibration import Calibration, fit_calibration
from nsed.evaluate.matching import tuned_threshold
from nsed.models.base import Model
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs
from nsed.text.columns import Column
from nsed.text.pairs import PairsLike

UNCALIBRATED = Calibration(1.0, 0.0)


class Criterion(NamedTuple):
    """Decision criterion: threshold and calibration, from a score to an answer."""

    threshold: float
    """Decision threshold: pairs with at least this score match."""
    calibration: Calibration
    """Calibration: from scores to probabilities."""

    @classmethod
    def at(cls, threshold: float) -> "Criterion":
        """Uncalibrated criterion at a threshold: even odds where it is."""
        return cls(threshold, Calibration(1.0, -threshold))

    @classmethod
    def tuned(cls, scores: np.ndarray, labels: np.ndarray) -> "Criterion":
        """Tuned criterion: the threshold with the best F1, and calibrated probabilities, of labelled pairs.

        Labels of one kind say nothing of probabilities: then a score stays what it is, through a logistic curve.
        """
        calibration = UNCALIBRATED if labels.all() or not labels.any() else fit_calibration(scores, labels)
        return cls(tuned_threshold(scores, labels), calibration)

    @classmethod
    def of_record(cls, threshold: object, slope: object, intercept: object) -> "Criterion":
        """Criterion as `record` wrote it. Raises `ArgumentError` for no numbers; a threshold may be infinite."""
        calibration = Calibration(_number("slope", slope), _number("intercept", intercept))
        return cls(_number("threshold", threshold, infinite=True), calibration)

    def record(self) -> list[float]:
        """Plain numbers, for a file."""
        return [self.threshold, *self.calibration]


def _number(name: str, value: object, *, infinite: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentError(name, got=shown(value), expected="a number")
    if math.isnan(value) or (math.isinf(value) and not infinite):
        raise ArgumentError(name, got=value, expected="a number")
    return value


class DecidingModel(Model):
    """Binary decision model: gives pairs a score, a decision and a probability. Abstract: a model has its scores."""

    criterion: Criterion

    @abstractmethod
    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Scores of pairs, in the order given: the higher, the more likely to match."""

    @property
    def threshold(self) -> float:
        """Decision threshold: pairs with at least this score match."""
        return self.criterion.threshold

    @property
    def calibration(self) -> Calibration:
        """Calibration, from scores to probabilities."""
        return self.criterion.calibration

    def probability(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Calibrated probability that each pair matches."""
        return self.calibration.probability(self.score(pairs, targets, on_batch=on_batch))

    def match(self, pairs: PairsLike, targets: Column | None = None) -> np.ndarray:
        """Decisions: whether each pair matches, its score is at least the threshold."""
        return np.asarray(self.score(pairs, targets) >= self.threshold)


def labels_of(pairs: Pairs, name: str = "pairs") -> np.ndarray:
    """Boolean labels. Raises `ArgumentError` where there are none."""
    if pairs.labels is None:
        raise ArgumentError(name, got="pairs without labels", expected="labelled ones")
    return np.array(pairs.labels, dtype=bool)
