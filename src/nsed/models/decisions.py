"""Decision threshold and calibration: a score becomes a match, from a threshold on, and a calibrated probability."""

import math
from abc import abstractmethod
from typing import NamedTuple, NoReturn, cast, get_args

import numpy as np

from nsed.capabilities import Capability
from nsed.config import shown
from nsed.errors import ArgumentError, NotExplainableError
from nsed.evaluate.calibration import Calibration, Form, fit_calibration
from nsed.evaluate.matching import tuned_threshold
from nsed.models.base import Model
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike

UNCALIBRATED = Calibration(1.0, 0.0)


class Criterion(NamedTuple):
    """Decision criterion: threshold and calibration, from a score to an answer."""

    threshold: float
    """Decision threshold: pairs with at least this score match."""
    calibration: Calibration
    """Calibration: from scores to probabilities."""

    @classmethod
    def at(cls, threshold: float, *, form: Form = "score") -> "Criterion":
        """Uncalibrated criterion at a threshold: even odds where it is."""
        return cls(threshold, Calibration(1.0, -float(Calibration(1.0, 0.0, form).evidence(threshold)), form))

    @classmethod
    def tuned(cls, scores: np.ndarray, labels: np.ndarray, *, form: Form = "score") -> "Criterion":
        """Tuned criterion: the threshold with the best F1, and calibrated probabilities, of labelled pairs.

        Labels of one kind say nothing of probabilities: then a score stays what it is, through a logistic curve.
        """
        one_kind = labels.all() or not labels.any()
        calibration = Calibration(1.0, 0.0, form) if one_kind else fit_calibration(scores, labels, form=form)
        return cls(tuned_threshold(scores, labels), calibration)

    @classmethod
    def of_record(cls, threshold: object, slope: object, intercept: object, form: object = "score") -> "Criterion":
        """Criterion as `record` wrote it; as version 0.1 wrote it, without the form of the calibration, too.

        Raises `ArgumentError` for what is no number, or no form; a threshold may be infinite.
        """
        if form not in get_args(Form):
            advice = "A newer nsed may know it: upgrade."
            raise ArgumentError("calibration", got=shown(form), expected="score or log-odds", advice=advice)
        calibration = Calibration(_number("slope", slope), _number("intercept", intercept), cast("Form", form))
        return cls(_number("threshold", threshold, infinite=True), calibration)

    def record(self) -> list[float | str]:
        """Plain values, for a file."""
        return [self.threshold, *self.calibration]

    @property
    def probability(self) -> float:
        """Calibrated probability at the threshold: pairs with at least this probability match."""
        return float(self.calibration.probability(np.array([self.threshold]))[0])


def _number(name: str, value: object, *, infinite: bool = False) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ArgumentError(name, got=shown(value), expected="a number")
    if math.isnan(value) or (math.isinf(value) and not infinite):
        raise ArgumentError(name, got=value, expected="a number")
    return value


class DecidingModel(Model):
    """Binary decision model: gives pairs a score, a decision and a probability. Abstract: a model has its scores."""

    criterion: Criterion
    """Decision criterion. Raises `UndecidedError` where a model that need not have one has none."""

    @abstractmethod
    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Scores of pairs, in the order given: the higher, the more likely to match.

        A pandas or polars Series or an Arrow array, where the pairs are a table or columns of these: see `column_like`.
        """

    @property
    def threshold(self) -> float:
        """Decision threshold: pairs with at least this score match."""
        return self.criterion.threshold

    @property
    def threshold_probability(self) -> float:
        """Calibrated probability at the threshold: pairs with at least this probability match.

        The threshold is the one with the best F1, so this is not one half: a match that is missed costs F1 more than a
        pair too many, and it is mostly below.
        """
        return self.criterion.probability

    @property
    def calibration(self) -> Calibration:
        """Calibration, from scores to probabilities."""
        return self.criterion.calibration

    def probability(
        self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore
    ) -> AnswerColumn:
        """Calibrated probability that each pair matches."""
        scores = self.score(Pairs.given(pairs, targets), on_batch=on_batch)
        return column_like(pairs, self.calibration.probability(scores), "probability")

    def match(self, pairs: PairsLike, targets: Column | None = None) -> AnswerColumn:
        """Decisions: whether each pair matches, its score is at least the threshold.

        That is, its probability is at least `threshold_probability`.
        """
        decisions = np.asarray(self.score(Pairs.given(pairs, targets)) >= self.threshold)
        return column_like(pairs, decisions, "match")


class PairScorer(DecidingModel):
    """Score-only model: gives pairs a score, a decision and a probability, but no edit operations.

    Scores are higher for what is more likely to match, but no logarithms of probabilities.
    """

    capabilities = frozenset({Capability.SCORE, Capability.MATCH})

    def _refuse(self, what: str) -> NoReturn:
        raise NotExplainableError(f"{self.kind}: this baseline gives pairs a number, it has no edit operations to show")


def labels_of(pairs: Pairs, name: str = "pairs") -> np.ndarray:
    """Boolean labels. Raises `ArgumentError` where there are none."""
    if pairs.labels is None:
        raise ArgumentError(name, got="pairs without labels", expected="labelled ones")
    return np.array(pairs.labels, dtype=bool)
