"""Matcher in `odds` form: log-odds of edit operations, begun by EM and trained on by cross-entropy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from nsed.capabilities import Capability
from nsed.config import bounded
from nsed.errors import ArgumentError, NotExplainableError
from nsed.evaluate.calibration import Form
from nsed.evaluate.matching import tuned_threshold
from nsed.evaluate.ranking import average_precision
from nsed.explain.decision import Decision
from nsed.explain.explanation import Explanation, ExplanationSummary
from nsed.explain.rule_table import RuleTable
from nsed.lattice import EditLattice
from nsed.models.base import checked_scores
from nsed.models.decisions import UNCALIBRATED, Criterion
from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance, quiet_about_symbols
from nsed.models.lattice_model import LATTICE_VERBS, LatticeModel
from nsed.models.pair_model import LabelledConfig, LabelledTask, PairModel
from nsed.models.settings import resolve_settings
from nsed.networks.odds import OddsNetwork, odds_of
from nsed.networks.operation_table import OperationTable
from nsed.progress import OnBatch, ignore
from nsed.text import AlphabetConfig, PairBatch, Pairs, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.columns import Column
from nsed.text.edit_script import EditKind
from nsed.text.pairs import PairsLike
from nsed.text.tokenizer import SPECIALS
from nsed.train.config import TrainConfig
from nsed.types import PerPair

CALIBRATED_FROM = 30
"""Validation pairs of each label from which on threshold and calibration are tuned on these alone."""
SCORE: Form = "score"
"""Form of calibrations: scores are log-odds already."""


@dataclass(frozen=True)
class OddsTrainConfig(TrainConfig):
    """Training hyperparameters of log-odds: few and large steps, as most is known before the first."""

    learning_rate: float = bounded(0.02, low=0, most=1e3)
    """Learning rate, at its highest."""
    weight_decay: float = bounded(0.5, low=0, most=1e3)
    """Weight decay, of adamw: towards what EM found."""
    warmup: int = bounded(20, low=0, most=10**9)
    """Warm-up steps, in which the learning rate rises from zero; at most a quarter of all."""
    steps: int = bounded(500, low=1, most=10**9)
    """Updates at most."""
    validate_every: int = bounded(25, low=1, most=10**9)
    """Validation interval: steps between validations, each of which saves the model."""


@dataclass(frozen=True)
class OddsConfig(LabelledConfig):
    """Odds hyperparameters: what the log-odds of a pair depend on, and how they are trained."""

    model: Literal["odds"] = "odds"
    """The kind of model that these settings are for."""
    place: bool = True
    """Factors of place: operations on initial, second, medial, last but one and last symbols weigh differently."""
    length: bool = True
    """Length features in the bias: n + m, |n - m| and log(n + m)."""
    identity: float = bounded(2.0, low=0, most=100)
    """Identity prior: log-odds at least of a symbol with itself, before training; 0 for what EM says."""
    iterations: int = bounded(30, low=1, most=10**6)
    """EM iterations at most, before training."""
    smoothing: float = bounded(1e-3, low=1e-9, high=1)
    """Smoothing of EM: share of the probability spread evenly over all operations."""
    train: OddsTrainConfig = OddsTrainConfig()
    """Training hyperparameters: how the log-odds are trained."""


class OddsOperation(NamedTuple):
    """Operation with its log-odds: evidence for a match above 0, against it below."""

    kind: EditKind
    source: str
    target: str
    log_odds: float


class OddsTask(LabelledTask):
    """Odds task: binary cross-entropy of the log-odds, validated by average precision."""

    metric = "average_precision"
    network: OddsNetwork

    def pair_losses(self, batch: PairBatch) -> PerPair:
        """See `PairTask.pair_losses`."""
        lattice, bias = self.network(batch)
        log_odds = self.network.scale.exp() * lattice.log_prob + bias
        return functional.binary_cross_entropy_with_logits(log_odds, batch.labels.to(log_odds), reduction="none")

    def validation_scores(self) -> np.ndarray:
        """See `LabelledTask.validation_scores`."""
        return pair_odds(self.network, self.validation, self.device).scores

    def validate(self) -> Mapping[str, float]:
        """Average precision: it needs no threshold, and of few pairs says more than F1."""
        return {self.metric: average_precision(self.validation_scores(), self.validation.labels)}


class PairOdds(NamedTuple):
    """Log-odds of pairs in parts: log-probabilities of their lattices, and what makes log-odds of them."""

    log_probs: np.ndarray
    scale: float
    biases: np.ndarray

    @property
    def scores(self) -> np.ndarray:
        """Log-odds."""
        scores: np.ndarray = self.scale * self.log_probs + self.biases
        return scores


def odds_lattices(
    network: OddsNetwork, pairs: EncodedPairs, device: torch.device
) -> Iterator[tuple[PairBatch, EditLattice, PerPair]]:
    """Lattices of all pairs, in batches, with the bias of each pair."""
    for batch in pairs.batches():
        here = batch.to(device)
        with torch.no_grad():
            lattice, bias = network(here)
        yield here, lattice, bias


def pair_odds(
    network: OddsNetwork, pairs: EncodedPairs, device: torch.device, *, on_batch: OnBatch = ignore
) -> PairOdds:
    """Log-odds of each pair, in order."""
    log_probs, biases = np.empty(len(pairs)), np.empty(len(pairs))
    for batch, lattice, bias in odds_lattices(network, pairs, device):
        rows = batch.rows.cpu().numpy()
        log_probs[rows], biases[rows] = lattice.log_prob.cpu().numpy(), bias.cpu().numpy()
        on_batch(len(rows))
    return PairOdds(log_probs, float(network.scale.detach().double().exp()), biases)


class OddsMatcher(PairModel, LatticeModel):
    """Matcher in `odds` form: an operation's weight is the log-odds of "belongs together" against "by chance".

    It begins as the learnable edit distance with `relative: true`, from positive pairs, and is trained on by
    binary cross-entropy. The score of a pair is its log-odds, `scale * log_prob + bias`: above 0 where the evidence of
    its operations is for a match. Factors of place and length can be left out, vectors of languages added; with
    `shared_alphabet` the table is symmetric, and so are the scores.

    >>> words = ["gray", "gala", "lay", "ray", "yard", "drag"] * 4
    >>> pairs = [(w, w.replace("a", "e")) for w in words] + [(w, w[::-1] + "o") for w in words]
    >>> model = OddsMatcher.fit(pairs, [1] * 24 + [0] * 24, train__steps=20)
    >>> print(model.align("lag", "leg"), model.match([("glad", "gled"), ("dray", "gel")]))
    l a→e g [ True False]
    """

    configs: ClassVar[Mapping[str, type[OddsConfig]]] = {"odds": OddsConfig}
    capabilities = LATTICE_VERBS | {Capability.MATCH}
    validation_metric = OddsTask.metric
    network: OddsNetwork
    config: OddsConfig

    @classmethod
    def of_edit_distance(cls, edit_distance: LearnableEditDistance, **settings: Any) -> "OddsMatcher":
        """Untrained odds of a learnable edit distance: with `identity=0`, its `relative: true` scores."""
        own = {**_alphabet_settings(edit_distance.config), "smoothing": edit_distance.config.smoothing}
        config = resolve_settings(cls.configs, own, settings)
        assert isinstance(config, OddsConfig)
        return cls._begun(edit_distance.table, edit_distance.tokenizers, config, None)

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Log-odds of each pair, before calibration, in the order given: any number, above 0 for a match."""
        return checked_scores(self._odds(Pairs.given(pairs, targets), on_batch=on_batch).scores)

    def operations(self) -> list[OddsOperation]:
        """Log-odds of all operations, the strongest evidence for a match first; without factors of place."""
        odds, sides = self.network.odds(), (self.tokenizers.source.vocabulary, self.tokenizers.target.vocabulary)
        sources, targets = (list(enumerate(side.symbols, len(SPECIALS))) for side in sides)
        delete, insert, substitute = odds.delete.tolist(), odds.insert.tolist(), odds.substitute.tolist()
        found = [OddsOperation("delete", symbol, "", delete[s]) for s, symbol in sources]
        found += [OddsOperation("insert", "", symbol, insert[t]) for t, symbol in targets]
        found += [OddsOperation("substitute", a, b, substitute[s][t]) for s, a in sources for t, b in targets]
        return sorted(found, key=lambda operation: (-operation.log_odds, operation))

    def own_rules(self) -> RuleTable:
        """See `LatticeModel.own_rules`: log-odds are no probabilities; see `operations`."""
        raise NotExplainableError("log-odds have no probabilities of their own: give pairs to count operations in")

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `LatticeModel.lattices`."""
        for batch, lattice, _ in odds_lattices(self.network, self.encoded(pairs), self.device):
            yield batch, lattice

    def summarize_all(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> list[ExplanationSummary]:
        """See `LatticeModel.summarize_all`."""
        pairs = Pairs.of(pairs)
        made = super().summarize_all(pairs, on_batch=on_batch)
        return [one._replace(decision=of) for one, of in zip(made, self._decisions(pairs), strict=True)]

    def _explained(self, pair: Pairs, scripts: int) -> Explanation:
        return replace(super()._explained(pair, scripts), decision=self._decisions(pair)[0])

    def _log_probs(self, pairs: Pairs) -> np.ndarray:
        """Log-probabilities of the lattices: what the operations explain, before scale and bias."""
        return self._odds(pairs).log_probs

    def _decisions(self, pairs: Pairs) -> list[Decision]:
        """Decisions in terms of each pair's log-probability: what is no operation's, the bias, is its offset."""
        (threshold, calibration), evidence = self.criterion, self._odds(pairs)
        slope = calibration.slope * evidence.scale
        return [
            Decision.of(
                float(log_prob),
                threshold=(threshold - float(bias)) / evidence.scale,
                slope=slope,
                offset=calibration.slope * float(bias) + calibration.intercept,
            )._replace(match=bool(score >= threshold))
            for log_prob, bias, score in zip(evidence.log_probs, evidence.biases, evidence.scores, strict=True)
        ]

    def _odds(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> PairOdds:
        return pair_odds(self.network, self.encoded(pairs), self.device, on_batch=on_batch)

    @classmethod
    def _split(cls, pairs: Pairs, validation: PairsLike | None, *, seed: int) -> tuple[Pairs, Pairs]:
        if pairs.labels is None:
            expected = "pairs that match and pairs that do not, with labels 1 and 0"
            advice = "From pairs that all match, an edit distance learns: --model edit-distance, LearnableEditDistance."
            raise ArgumentError("labels", got="no labels", expected=expected, advice=advice)
        return super()._split(pairs, validation, seed=seed)

    @classmethod
    def _untrained(cls, pairs: Pairs, config: Any) -> "OddsMatcher":
        tokenizers, languages = cls._alphabets(pairs, config)
        torch.manual_seed(config.train.seed)
        positive = pairs.positives()
        if config.shared_alphabet:
            both = [*positive.sources, *positive.targets], [*positive.targets, *positive.sources]
            positive = Pairs(*both)
        return cls._begun(_table_by_em(positive, tokenizers, config), tokenizers, config, languages)

    @classmethod
    def _begun(
        cls, table: OperationTable, tokenizers: Tokenizers, config: OddsConfig, languages: Vocabulary | None
    ) -> "OddsMatcher":
        """Model whose log-odds are those of a table, smoothed, with the prior of identity."""
        even = OperationTable.uniform(*tokenizers.vocabularies.values(), unknown=True)
        odds = odds_of(table.mixed(even, config.smoothing))
        if config.identity:
            source, target = (vocabulary.symbols for vocabulary in tokenizers.vocabularies.values())
            numbers = {symbol: number for number, symbol in enumerate(target, len(SPECIALS))}
            for s, symbol in enumerate(source, len(SPECIALS)):
                if symbol in numbers:
                    odds.substitute[s, numbers[symbol]].clamp_(min=config.identity)
        network = cls._network(config, tokenizers, languages)
        network.begin(odds)
        criterion = Criterion(0.0, UNCALIBRATED)
        return cls(network, tokenizers, config, languages=languages, criterion=criterion)

    @staticmethod
    def _network(config: OddsConfig, tokenizers: Tokenizers, languages: Vocabulary | None) -> OddsNetwork:
        return OddsNetwork(
            sources=len(tokenizers.source.vocabulary),
            targets=len(tokenizers.target.vocabulary),
            symmetric=config.shared_alphabet,
            place=config.place,
            length=config.length,
            languages=0 if languages is None else len(languages),
        )

    def _task(self, training: EncodedPairs, validation: EncodedPairs, device: torch.device) -> OddsTask:
        return OddsTask(self.network, self.config, training, validation, device)

    @staticmethod
    def _tuned(task: Any) -> Criterion:
        return tuned_criterion(task)


def tuned_criterion(task: OddsTask) -> Criterion:
    """Tuned criterion: the threshold with the best F1, and calibrated probabilities, of the validation pairs.

    Where these are few, the threshold is that of all pairs, and the log-odds stay as trained: few pairs have many best
    thresholds, and Platt scaling makes identical words as doubtful as the pairs are few.
    """
    scores, labels = task.validation_scores(), task.validation.labels
    if min(labels.sum(), (~labels).sum()) >= CALIBRATED_FROM:
        return Criterion.tuned(scores, labels, form=SCORE)
    seen = pair_odds(task.network, task.training, task.device).scores
    together = np.concatenate([scores, seen]), np.concatenate([labels, task.training.labels])
    return Criterion(tuned_threshold(*together), UNCALIBRATED)


def _table_by_em(positive: Pairs, tokenizers: Tokenizers, config: OddsConfig) -> OperationTable:
    """Operation table by EM over positive pairs, for alphabets that may have more symbols than these."""
    settings = EditDistanceConfig(
        relative=False,
        iterations=config.iterations,
        smoothing=config.smoothing,
        max_cells=config.train.max_cells,
        **_alphabet_settings(config),
    )
    even = OperationTable.uniform(*tokenizers.vocabularies.values(), unknown=config.min_count > 1)
    with quiet_about_symbols():  # rare ones, which the training itself tells of
        source, target = tokenizers.encode(positive)
        cells = (source.lengths + 1) * (target.lengths + 1)
        positive = positive.chosen(np.flatnonzero(cells <= config.train.max_cells).tolist())  # `fit` names the others
        if not len(positive):
            return even
        start = LearnableEditDistance(even, tokenizers, settings).restarted(positive)
        return LearnableEditDistance.fit(positive, config=settings, start=start).table


def _alphabet_settings(config: AlphabetConfig) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in fields(AlphabetConfig)}
