"""Decisions: a score becomes a match, from a threshold on, and a probability, by a calibration."""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np

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
    """From a score to an answer."""

    threshold: float
    """Pairs with at least this score match."""
    calibration: Calibration
    """From scores to probabilities."""

    @classmethod
    def at(cls, threshold: float) -> "Criterion":
        """A threshold that nobody has calibrated: even odds where it is."""
        return cls(threshold, Calibration(1.0, -threshold))

    @classmethod
    def tuned(cls, scores: np.ndarray, labels: np.ndarray) -> "Criterion":
        """The threshold with the best F1, and calibrated probabilities, of pairs whose labels are known.

        Labels of one kind say nothing of probabilities: then a score stays what it is, through a logistic curve.
        """
        calibration = UNCALIBRATED if labels.all() or not labels.any() else fit_calibration(scores, labels)
        return cls(tuned_threshold(scores, labels), calibration)

    @classmethod
    def of_record(cls, threshold: float, slope: float, intercept: float) -> "Criterion":
        """As `record` wrote it."""
        return cls(threshold, Calibration(slope, intercept))

    def record(self) -> list[float]:
        """Plain numbers, for a file."""
        return [self.threshold, *self.calibration]


class DecidingModel(Model):
    """A model that gives pairs a score, a decision and a probability. Abstract: a model has its scores."""

    criterion: Criterion

    @abstractmethod
    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """A number per pair, in the order given: the higher, the more likely to match."""

    @property
    def threshold(self) -> float:
        """Pairs with at least this score match."""
        return self.criterion.threshold

    @property
    def calibration(self) -> Calibration:
        """From scores to probabilities."""
        return self.criterion.calibration

    def probability(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Calibrated probability that each pair matches."""
        return self.calibration.probability(self.score(pairs, targets, on_batch=on_batch))

    def match(self, pairs: PairsLike, targets: Column | None = None) -> np.ndarray:
        """Whether each pair matches: its score is at least the threshold."""
        return np.asarray(self.score(pairs, targets) >= self.threshold)


def labels_of(pairs: Pairs, name: str = "pairs") -> np.ndarray:
    """Labels as truth values. Raises `ArgumentError` where there are none."""
    if pairs.labels is None:
        raise ArgumentError(name, got="pairs without labels", expected="labelled ones")
    return np.array(pairs.labels, dtype=bool)
