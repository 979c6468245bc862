"""What baselines that only score pairs have in common: a number becomes a decision and a probability."""

from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, NoReturn

import numpy as np

from nsed.errors import ArgumentError, NotExplainableError
from nsed.evaluate.calibration import Calibration, fit_calibration
from nsed.evaluate.matching import tuned_threshold
from nsed.progress import OnBatch, ignore
from nsed.text import Coders, Pairs, StringConfig, Vocabulary
from nsed.text.pairs import PairsLike

UNCALIBRATED = Calibration(1.0, 0.0)


class Criterion(NamedTuple):
    """From a score to an answer."""

    threshold: float
    """Pairs with at least this score match."""
    calibration: Calibration
    """From scores to probabilities."""

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


class PairScorer(ABC):
    """A baseline that gives pairs a score, a decision and a probability, but no edit operations."""

    kind: ClassVar[str]
    """What the model is called in settings and on disk."""
    coders: Coders
    """How strings become symbols."""
    criterion: Criterion

    @abstractmethod
    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """A number per pair, in the order given: higher is more likely to match, but no logarithm of a probability."""

    @property
    def threshold(self) -> float:
        """Pairs with at least this score match."""
        return self.criterion.threshold

    @property
    def calibration(self) -> Calibration:
        """From scores to probabilities."""
        return self.criterion.calibration

    def probability(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Calibrated probability that each pair matches."""
        return self.calibration.probability(self.score(pairs, on_batch=on_batch))

    def match(self, pairs: PairsLike) -> np.ndarray:
        """Whether each pair matches: its score is at least the threshold."""
        return np.asarray(self.score(pairs) >= self.threshold)

    def align(self, source: str, target: str) -> NoReturn:
        """Raises `NotExplainableError`: there are no operations to show."""
        self.align_all([(source, target)])

    def align_all(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> NoReturn:
        """Raises `NotExplainableError`: there are no operations to show."""
        raise NotExplainableError(f"{self.kind}: this baseline gives pairs a number, it has no edit operations to show")

    def links(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> NoReturn:
        """Raises `NotExplainableError`: there are no operations to show."""
        self.align_all(pairs)

    def explain(self, source: str, target: str) -> NoReturn:
        """Raises `NotExplainableError`: there are no operations to show."""
        self.align_all([(source, target)])


def labels_of(pairs: Pairs, name: str = "pairs") -> np.ndarray:
    """Labels as truth values. Raises `ArgumentError` where there are none."""
    if pairs.labels is None:
        raise ArgumentError(name, got="pairs without labels", expected="labelled ones")
    return np.array(pairs.labels, dtype=bool)


def plain_coders(config: StringConfig) -> Coders:
    """Of a model that cuts strings into symbols but does not number them."""
    return Coders.of(config, {"source": Vocabulary(()), "target": Vocabulary(())})
