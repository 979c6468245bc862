"""Models that decide about pairs: threshold and calibration, and the networks that learn from matches and others."""

import math
import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, TypeVar, cast, get_args

import numpy as np
from torch import nn

from nsed.capabilities import Capability
from nsed.config import shortened, shown
from nsed.errors import ArgumentError, ContradictoryLabelsWarning, NotExplainableError, UnknownLanguageWarning, warn
from nsed.evaluate import best_threshold
from nsed.evaluate.calibration import Calibration, Form, fit_calibration
from nsed.evaluate.matching import tuned_threshold
from nsed.explain.decision import Decision
from nsed.models.base import Contents, Model, NetworkModel
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs, PairBatch
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts
from nsed.train.config import NetworkConfig
from nsed.train.split import labelled_split
from nsed.train.task import PairTask
from nsed.train.trainer import Trainer
from nsed.types import PerPair

UNCALIBRATED = Calibration(1.0, 0.0)
SHARE = "match_share"
"""Entry of a saved model's record, beside the calibration: see `Criterion.share`."""
MOST_NAMED = 20
"""Languages that a warning names, of those that are unknown and of those that are known."""


class Criterion(NamedTuple):
    """Decision criterion: threshold and calibration, from a score to an answer."""

    threshold: float
    """Decision threshold: pairs with at least this score match."""
    calibration: Calibration
    """Calibration: from scores to probabilities."""
    share: float | None = None
    """Share of matches among the pairs it was calibrated on, hence the prior of probabilities; None where not known."""

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
        share = None if one_kind else float(np.mean(np.asarray(labels, dtype=bool)))
        return cls(tuned_threshold(scores, labels), calibration, share)

    @classmethod
    def of_record(
        cls, threshold: object, slope: object, intercept: object, form: object = "score", bend: object = 0.0
    ) -> "Criterion":
        """Criterion as `record` wrote it; as version 0.1 wrote it, without the form of the calibration, too.

        Raises `ArgumentError` for what is no number, or no form; a threshold may be infinite.
        """
        if form not in get_args(Form):
            advice = "A newer nsed may know it: upgrade."
            raise ArgumentError("calibration", got=shown(form), expected="score, log-odds or beta", advice=advice)
        numbers = _number("slope", slope), _number("intercept", intercept)
        calibration = Calibration(*numbers, cast("Form", form), _number("bend", bend))
        return cls(_number("threshold", threshold, infinite=True), calibration)

    def decision(self, score: float) -> Decision:
        """Decision about a pair with this score, in terms of its evidence."""
        slope, offset = self.calibration.slope, self.calibration.intercept
        evidence = self.calibration.evidence
        return Decision.of(score, threshold=self.threshold, slope=slope, offset=offset, evidence=evidence)

    def record(self) -> list[float | str]:
        """Plain values, for a file; the share of matches has an entry of its own, which older versions do not read."""
        return [self.threshold, *self.calibration.record]

    @property
    def share_record(self) -> dict[str, float]:
        """Entry of a model's record for the share of matches, where it is known."""
        return {} if self.share is None else {SHARE: self.share}

    def with_share(self, record: Mapping[str, Any]) -> "Criterion":
        """The same, with the share of matches that a model's record has; models of older versions have none.

        Raises `ArgumentError` for what is no share.
        """
        share = None if record.get(SHARE) is None else _number(SHARE, record[SHARE])
        if share is not None and not 0 < share < 1:
            raise ArgumentError(SHARE, got=share, expected="a share, above 0 and below 1")
        return self._replace(share=share)

    @property
    def prior(self) -> float | None:
        """Prior log-odds of a match, which are part of all calibrated log-odds; None where they are not known."""
        return None if self.share is None else math.log(self.share / (1 - self.share))

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


def tell_of_contradictions(pairs: Pairs) -> None:
    """Warn, once, of the same pair with both labels; languages that are given tell pairs apart."""
    columns = (pairs.sources, pairs.targets, pairs.source_languages, pairs.target_languages)
    key = np.zeros(len(pairs), np.int64)
    for column in (Texts.of(one).compacted() for one in columns if one is not None):
        key = np.unique(key * len(column.different) + column.rows, return_inverse=True)[1]
    count, matches = np.bincount(key), np.bincount(key, weights=labels_of(pairs))
    both = (matches > 0) & (matches < count)
    if not both.any():
        return
    row = int(np.flatnonzero(both[key])[0])
    some = "1 pair has" if both.sum() == 1 else f"{int(both.sum()):,} pairs have"
    example = " - ".join(repr(shortened(side[row])) for side in (pairs.sources, pairs.targets))
    message = f"{some} both labels, of {len(count):,} different ones, say {example}"
    warn(ContradictoryLabelsWarning(f"{message}: a matcher cannot be right about all of them"))


@contextmanager
def quiet_about_labels() -> Iterator[None]:
    """Suppress `ContradictoryLabelsWarning`: of labels that nobody gave, or that were told already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ContradictoryLabelsWarning)
        yield


EVEN_ODDS = -0.6931471805599453
"""Default threshold, the log-probability of even odds: that of a model that nobody has tuned."""
FORM: Form = "log-odds"
"""Form of calibrations: scores are log-probabilities."""


@dataclass(frozen=True)
class LabelledConfig(NetworkConfig):
    """Labelled-pair hyperparameters: what is known of both sides. Abstract: the models' settings add to it."""

    shared_alphabet: bool = False
    """Shared vocabulary and encoder for both sides, where both are written alike (names, cognates in IPA)."""
    languages: bool = False
    """Language embeddings: learn a vector per language too, from pairs with language columns."""


class LabelledTask(PairTask):
    """Pair classification task, validated by F1. Abstract: a model has its loss and its scores."""

    metric, higher_is_better = "f1", True

    @abstractmethod
    def validation_scores(self) -> np.ndarray:
        """Scores of the validation pairs, in order."""

    def validate(self) -> Mapping[str, float]:
        """F1 at the best threshold. Paper: section 3.1."""
        best = best_threshold(self.validation_scores(), self.validation.labels)
        return {"f1": best.f1, "precision": best.precision, "recall": best.recall}


SomePairModel = TypeVar("SomePairModel", bound="PairModel")


class PairModel(NetworkModel, DecidingModel):
    """Pair model: a network with its vocabularies, its threshold and its calibration.

    The score of a pair is at most 0, which is certain to match; pairs at or above the threshold, tuned for F1 on
    validation pairs, match. Abstract: a model adds its network, the task it is trained by, and its scores.
    """

    config: LabelledConfig
    validation_metric = "f1"

    def __init__(
        self,
        network: nn.Module,
        tokenizers: Tokenizers,
        config: LabelledConfig,
        *,
        languages: Vocabulary | None = None,
        criterion: Criterion | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(network, tokenizers, config, languages=languages, record=record)
        self.criterion = criterion or Criterion.at(EVEN_ODDS, form=FORM)

    @classmethod
    def _split(cls, pairs: Pairs, validation: PairsLike | None, *, seed: int) -> tuple[Pairs, Pairs]:
        made = labelled_split(pairs, None if validation is None else Pairs.of(validation), seed=seed)
        tell_of_contradictions(pairs)
        return made

    def encoded(self, pairs: Pairs) -> EncodedPairs:
        """See `NetworkModel.encoded`: with labels and languages; without labels, all count as positive."""
        labels = None if pairs.labels is None else np.asarray(pairs.labels, dtype=bool)
        source, target = self.tokenizers.encode(pairs)
        return EncodedPairs(source, target, labels=labels, languages=language_numbers(pairs, self.languages))

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`."""
        made = super().contents(half=half)
        decision = {"threshold": self.threshold, "calibration": self.calibration.record, **self.criterion.share_record}
        return made._replace(record={**made.record, **decision})

    @classmethod
    def _restored(
        cls: type[SomePairModel], network: nn.Module, tokenizers: Tokenizers, config: Any, **others: Any
    ) -> SomePairModel:
        record = others.pop("record")
        criterion = Criterion.of_record(record.pop("threshold"), *record.pop("calibration")).with_share(record)
        record.pop(SHARE, None)
        return cls(network, tokenizers, config, criterion=criterion, record=record, **others)

    @classmethod
    def _alphabets(cls, pairs: Pairs, config: Any) -> tuple[Tokenizers, Vocabulary | None]:
        tokenizers = Tokenizers.learned(config, pairs, min_count=config.min_count)
        return (tokenizers.shared() if config.shared_alphabet else tokenizers), languages_of(
            pairs
        ) if config.languages else None

    def _more_alphabets(self, pairs: Pairs, config: Any) -> tuple[Tokenizers, Vocabulary | None]:
        tokenizers = self.tokenizers.extended(pairs, shared=config.shared_alphabet, min_count=config.min_count)
        return tokenizers, self.languages and self.languages.extended(languages_of(pairs).symbols)

    def _with(
        self: SomePairModel, network: nn.Module, tokenizers: Tokenizers, config: Any, languages: Vocabulary | None
    ) -> SomePairModel:
        return type(self)(network, tokenizers, config, languages=languages, criterion=self.criterion)

    def _finished(self: SomePairModel, trainer: Trainer, task: PairTask | None) -> SomePairModel:
        """Model with threshold and calibration tuned on the validation pairs; without these, as they were."""
        self.network.eval()
        criterion = self._tuned(task, trainer.deadline) if isinstance(task, LabelledTask) else self.criterion
        return type(self)(
            self.network,
            self.tokenizers,
            self.config,
            languages=self.languages,
            criterion=criterion,
            record=trainer.record,
        )

    @staticmethod
    def _tuned(task: Any, deadline: float) -> Criterion:
        """Tuned criterion: the threshold with the best F1, and calibrated probabilities, of the validation pairs.

        Whatever takes longer than that should end at the deadline.
        """
        return Criterion.tuned(task.validation_scores(), task.validation.labels, form=FORM)

    def _identity(self) -> tuple[Vocabulary | None, ...]:
        return (*super()._identity(), self.languages)


def languages_of(pairs: Pairs) -> Vocabulary:
    """Language inventory of pairs. Raises `ArgumentError` if nothing is known of them."""
    if pairs.source_languages is None or pairs.target_languages is None:
        expected = "pairs with source_languages and target_languages, for `languages: true`"
        raise ArgumentError("pairs", got="no languages", expected=expected)
    return Vocabulary.of([*pairs.source_languages, *pairs.target_languages])


def in_order(found: Iterable[tuple[PairBatch, PerPair]], count: int, *, on_batch: OnBatch) -> np.ndarray:
    """Scores in input order: the numbers of all pairs, each at its pair's place."""
    numbers = np.empty(count)
    for batch, some in found:
        numbers[batch.rows.cpu().numpy()] = some.double().cpu().numpy()
        on_batch(len(batch.rows))
    return numbers


def language_numbers(pairs: Pairs, languages: Vocabulary | None) -> np.ndarray | None:
    """Numbers of the languages of pairs, a column for sources and one for targets; None for a model without any.

    One warning names those that are unknown; of strings without a language nothing is said.
    """
    if languages is None:
        return None
    columns = (pairs.source_languages, pairs.target_languages)
    given = [Texts.of(column if column is not None else [""] * len(pairs)) for column in columns]
    tell_of_languages(pairs, languages)
    return np.stack([np.array(languages.encode(one.different), dtype=np.int64)[one.rows] for one in given], axis=1)


def tell_of_languages(pairs: Pairs, known: Vocabulary) -> None:
    """Warn, once, of the languages of pairs that a model does not know."""
    given = [Texts.of(column).different for column in (pairs.source_languages, pairs.target_languages) if column]
    if new := sorted({one for column in given for one in column if one} - known.numbers.keys()):
        count = "1 language is" if len(new) == 1 else f"{len(new)} languages are"
        message = f"{count} unknown to the model, which scores their strings as if none were given: {_listed(new)}"
        warn(UnknownLanguageWarning(f"{message}; it knows {_listed([*filter(None, known.symbols)])}"))


def _listed(languages: Sequence[str]) -> str:
    """Languages in a line, of many the first ones."""
    return ", ".join(shortened(one) for one in languages[:MOST_NAMED]) + (
        ", ..." if len(languages) > MOST_NAMED else ""
    )
