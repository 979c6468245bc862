"""Matcher in `odds` form: log-odds of edit operations, begun by EM and trained on by cross-entropy."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from nsed.capabilities import Capability
from nsed.config import bounded
from nsed.errors import ArgumentError, NotExplainableError
from nsed.evaluate.calibration import Form
from nsed.evaluate.matching import average_precision
from nsed.explain.decision import Decision
from nsed.explain.explanation import Explanation, ExplanationSummary
from nsed.explain.rule_table import RuleTable
from nsed.lattice import EditLattice
from nsed.models.base import checked_scores
from nsed.models.decisions import UNCALIBRATED, Criterion
from nsed.models.edit_distance import LearnableEditDistance, quiet_about_symbols
from nsed.models.lattice_model import LATTICE_VERBS, LatticeModel
from nsed.models.pair_model import LabelledConfig, LabelledTask, PairModel
from nsed.models.settings import resolve_settings
from nsed.networks.expectation_maximization import iterate
from nsed.networks.kinship import Kinship, kinship_of, prior_table, pseudo_counts, shares_of
from nsed.networks.odds import Odds, OddsNetwork, odds_of
from nsed.networks.operation_table import OperationTable
from nsed.progress import OnBatch, ignore
from nsed.text import AlphabetConfig, PairBatch, Pairs, Tokenizers, Vocabulary
from nsed.text.answer_columns import AnswerColumn, column_like
from nsed.text.batch import EncodedPairs
from nsed.text.columns import Column
from nsed.text.edit_script import EditKind
from nsed.text.pairs import PairsLike
from nsed.text.tokenizer import SPECIALS
from nsed.train.config import TrainConfig
from nsed.train.trainer import Trainer
from nsed.types import PerPair

CALIBRATED_FROM, FOLDS = 100, 5
"""Validation pairs of each label from which on threshold and calibration are tuned on these; of fewer pairs, all are
scored by models that have not seen them, in so many folds."""
ONE_ALPHABET = 0.8
"""Share of a side's symbols that the other side has too, from which on both are written in one alphabet."""
MOST_EXTENDED = 2**24
"""Substitutions at most for which a table is made that new symbols are in too."""
BATCH_CELLS, LEAST_PAIRS, SAMPLED = 2**17, 32, 1000
"""Batch size in lattice cells, at most and about, as so many pairs have them; the least in pairs."""
SLICE_CELLS = 2**16
"""Cells of lattices that are computed at once."""
ROUNDS = 2
"""Rounds of EM: the shares of kinds of operations that the first one finds are what the second expects."""
TOLERANCE = 1e-4
"""Share of the log-likelihood that an iteration of EM must improve, to go on."""
SCORE: Form = "score"
"""Form of calibrations: scores are log-odds already."""


@dataclass(frozen=True)
class OddsTrainConfig(TrainConfig):
    """Training hyperparameters of log-odds: few and large steps, as most is known before the first."""

    learning_rate: float = bounded(0.03, low=0, most=1e3)
    """Learning rate, at its highest."""
    weight_decay: float = bounded(0.0, low=0, most=1e3)
    """Weight decay, of adamw; the Gaussian prior of `spread` does without."""
    warmup: int = bounded(20, low=0, most=10**9)
    """Warm-up steps, in which the learning rate rises from zero; at most a quarter of all."""
    steps: int = bounded(200, low=1, most=10**9)
    """Updates at most."""
    validate_every: int = bounded(20, low=1, most=10**9)
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
    shared_alphabet: Literal[False, True, "auto"] = "auto"  # type: ignore[assignment]  # a network decides neither by itself
    """Shared vocabulary and symmetric table, where both sides are written alike; auto: where most symbols of either
    side are symbols of the other side too."""
    languages: Literal[False, True, "auto"] = "auto"  # type: ignore[assignment]  # a network decides neither by itself
    """Language vectors, whose inner product is added to the log-odds; auto: where the pairs have languages."""
    prior: float = bounded(10.0, low=0, most=1e9)
    """Prior of EM: so many operations on each symbol, mostly with itself or its kin, are counted in advance; more where
    the same strings come in many pairs, which say less than as many strings would."""
    spread: float = bounded(0.3, low=1e-6, most=1e6)
    """Spread of the log-odds of single operations about what EM says, before training (Gaussian prior)."""
    iterations: int = bounded(15, low=1, most=10**6)
    """EM iterations at most, in either of two rounds before training."""
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
    """Odds task: binary cross-entropy of the log-odds with a Gaussian prior, validated by average precision.

    Pairs that share a word say much the same: the prior weighs as one of as many pairs as there are different words.
    """

    metric, in_slices = "average_precision", False
    network: OddsNetwork
    config: OddsConfig

    def __init__(self, *given: Any, begun: Callable[[EncodedPairs], OddsNetwork]) -> None:
        super().__init__(*given)
        self.begun, self.most_cells = begun, SLICE_CELLS
        self.independent = independent(self.training)
        self.judged = self.validation if has_enough(self.validation) else self.training.joined(self.validation)

    def pair_losses(self, batch: PairBatch) -> PerPair:
        """See `PairTask.pair_losses`."""
        lattice, bias = self.network(batch)
        log_odds = self.network.scale.exp() * lattice.log_prob + bias
        loss = functional.binary_cross_entropy_with_logits(log_odds, batch.labels.to(log_odds), reduction="none")
        return loss + self.network.prior(self.config.spread) / self.independent

    def validation_scores(self) -> np.ndarray:
        """See `LabelledTask.validation_scores`."""
        return pair_odds(self.network, self.validation, self.device).scores

    def validate(self) -> Mapping[str, float]:
        """Average precision: it needs no threshold, and of few pairs says more than F1."""
        scores = pair_odds(self.network, self.judged, self.device).scores
        return {self.metric: average_precision(scores, self.judged.labels)}


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
    network: OddsNetwork, pairs: EncodedPairs, device: torch.device, odds: Odds | None = None
) -> Iterator[tuple[PairBatch, EditLattice, PerPair]]:
    """Lattices of all pairs, in batches, with the bias of each pair."""
    if odds is None:
        with torch.no_grad():
            odds = network.odds()
    for batch in pairs.batches():
        here = batch.to(device)
        with torch.no_grad():
            lattice, bias = network(here, odds)
        yield here, lattice, bias


def pair_odds(
    network: OddsNetwork,
    pairs: EncodedPairs,
    device: torch.device,
    odds: Odds | None = None,
    *,
    on_batch: OnBatch = ignore,
) -> PairOdds:
    """Log-odds of each pair, in order."""
    log_probs, biases = np.empty(len(pairs)), np.empty(len(pairs))
    for batch, lattice, bias in odds_lattices(network, pairs, device, odds):
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
        """Untrained odds of a learnable edit distance: its `relative: true` scores."""
        own = _alphabet_settings(edit_distance.config) | {"shared_alphabet": False, "languages": False}
        config, tokenizers = resolve_settings(cls.configs, own, settings), edit_distance.tokenizers
        assert isinstance(config, OddsConfig)
        even = OperationTable.uniform(*tokenizers.vocabularies.values(), unknown=True)
        network = cls._network(config, tokenizers, None)
        network.begin(odds_of(edit_distance.table.mixed(even, edit_distance.config.smoothing)), kinship_of(tokenizers))
        return cls(network, tokenizers, config, criterion=Criterion(0.0, UNCALIBRATED))

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log-odds of each pair, before calibration, in the order given: any number, above 0 for a match."""
        scores = checked_scores(self._odds(Pairs.given(pairs, targets), on_batch=on_batch).scores)
        return column_like(pairs, scores, "score")

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
        for batch, lattice, _ in odds_lattices(self.network, *self._read(pairs)):
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
        return pair_odds(self.network, *self._read(pairs), on_batch=on_batch)

    def _read(self, pairs: Pairs) -> tuple[EncodedPairs, torch.device, Odds | None]:
        """Encoded pairs, where to compute, and the log-odds of operations if some symbols are new: by their kinship."""
        encoded = self.encoded(pairs)
        if not (encoded.source.has_unknown or encoded.target.has_unknown):
            return encoded, self.device, None
        tokenizers = self.tokenizers.extended(pairs, shared=bool(self.config.shared_alphabet))
        if math.prod(len(vocabulary) for vocabulary in tokenizers.vocabularies.values()) > MOST_EXTENDED:
            return encoded, self.device, None
        again = EncodedPairs(*tokenizers.encode(pairs), languages=encoded.languages)
        with torch.no_grad():
            return again, self.device, self.network.extended_odds(kinship_of(tokenizers).to(self.device))

    @classmethod
    def _split(cls, pairs: Pairs, validation: PairsLike | None, *, seed: int) -> tuple[Pairs, Pairs]:
        if pairs.labels is None:
            expected = "pairs that match and pairs that do not, with labels 1 and 0"
            advice = "From pairs that all match, an edit distance learns: --model edit-distance, LearnableEditDistance."
            raise ArgumentError("labels", got="no labels", expected=expected, advice=advice)
        return super()._split(pairs, validation, seed=seed)

    @classmethod
    def _decided(cls, config: Any, pairs: Pairs) -> OddsConfig:
        return decided(config, pairs)

    @classmethod
    def _untrained(cls, pairs: Pairs, config: Any) -> "OddsMatcher":
        tokenizers, languages = cls._alphabets(pairs, config)
        with quiet_about_symbols():  # rare ones, which the training itself tells of
            encoded = cls(cls._network(config, tokenizers, languages), tokenizers, config, languages=languages).encoded(
                pairs
            )
        network = cls._begun(encoded, tokenizers, config, languages)
        return cls(network, tokenizers, config, languages=languages, criterion=Criterion(0.0, UNCALIBRATED))

    @classmethod
    def _begun(
        cls, pairs: EncodedPairs, tokenizers: Tokenizers, config: OddsConfig, languages: Vocabulary | None
    ) -> OddsNetwork:
        """Network that begins with the log-odds of the pairs, by EM."""
        torch.manual_seed(config.train.seed)
        network = cls._network(config, tokenizers, languages)
        kinship = kinship_of(tokenizers)
        network.begin(odds_by_em(pairs, tokenizers, kinship, config), kinship)
        return network

    @staticmethod
    def _network(config: OddsConfig, tokenizers: Tokenizers, languages: Vocabulary | None) -> OddsNetwork:
        return OddsNetwork(
            sources=len(tokenizers.source.vocabulary),
            targets=len(tokenizers.target.vocabulary),
            symmetric=config.shared_alphabet is True,
            place=config.place,
            length=config.length,
            languages=0 if languages is None else len(languages),
        )

    def _task(self, training: EncodedPairs, validation: EncodedPairs, device: torch.device) -> OddsTask:
        begun = partial(self._begun, tokenizers=self.tokenizers, config=self.config, languages=self.languages)
        return OddsTask(self.network, self.config, training, validation, device, begun=begun)

    @staticmethod
    def _tuned(task: Any) -> Criterion:
        return tuned_criterion(task)


def decided(config: OddsConfig, pairs: Pairs) -> OddsConfig:
    """Config in which what the pairs decide is decided."""
    shared, languages = config.shared_alphabet, config.languages
    if shared == "auto":
        shared = have_one_alphabet(pairs, config)
    if languages == "auto":
        languages = pairs.source_languages is not None and pairs.target_languages is not None
    train = replace(config.train, batch_pairs=min(config.train.batch_pairs, _batch_pairs(pairs, config)))
    return replace(config, shared_alphabet=shared, languages=languages, train=train)


def _batch_pairs(pairs: Pairs, config: AlphabetConfig) -> int:
    """Pairs in a batch of about `BATCH_CELLS` cells."""
    source, target = (
        np.array([len(split(text)) for text in texts[:SAMPLED]]) for split, texts in _columns(pairs, config)
    )
    return max(LEAST_PAIRS, int(BATCH_CELLS / max(1.0, float(((source + 1) * (target + 1)).mean()))))


def _columns(pairs: Pairs, config: AlphabetConfig) -> list[tuple[Callable[[str], tuple[str, ...]], Sequence[str]]]:
    tokenizers = Tokenizers.of(config, dict.fromkeys(("source", "target"), Vocabulary(())))
    return [(tokenizers.source.split, pairs.sources), (tokenizers.target.split, pairs.targets)]


def have_one_alphabet(pairs: Pairs, config: AlphabetConfig) -> bool:
    """Whether most symbols of either side, as often as its strings have them, are symbols of the other side too."""
    counts = [
        Counter(chain.from_iterable(map(split, dict.fromkeys(texts)))) for split, texts in _columns(pairs, config)
    ]
    both = counts[0].keys() & counts[1].keys()
    return all(sum(side[symbol] for symbol in both) >= ONE_ALPHABET * side.total() for side in counts)


def tuned_criterion(task: OddsTask) -> Criterion:
    """Tuned criterion: the threshold with the best F1, and calibrated probabilities, of pairs that were held out.

    These are the validation pairs or, where they are few, all pairs, each scored by a model that has not seen it.
    """
    if has_enough(task.validation):
        return Criterion.tuned(task.validation_scores(), task.validation.labels, form=SCORE)
    pairs = task.training.joined(task.validation)
    return Criterion.tuned(cross_validated_scores(task, pairs), pairs.labels, form=SCORE)


def cross_validated_scores(task: OddsTask, pairs: EncodedPairs) -> np.ndarray:
    """Scores of all pairs, each by a model that was trained without its fold; the folds share no source."""
    scores, folds = np.empty(len(pairs)), folds_of(pairs, seed=task.config.train.seed)
    for fold in range(FOLDS):
        seen, apart = (pairs.chosen(np.flatnonzero((folds == fold) == side)) for side in (False, True))
        if not len(apart):
            continue
        network = task.begun(seen).to(task.device)
        Trainer(OddsTask(network, task.config, seen, apart, task.device, begun=task.begun), task.config.train).run()
        scores[folds == fold] = pair_odds(network.eval(), apart, task.device).scores
    return scores


def folds_of(pairs: EncodedPairs, *, seed: int) -> np.ndarray:
    """Number of each pair's fold, at random, stratified by label."""
    order = np.random.default_rng(seed).permutation(len(pairs))
    order = order[np.argsort(pairs.labels[order], kind="stable")]
    folds = np.empty(len(pairs), dtype=np.int64)
    folds[order] = np.arange(len(pairs)) % FOLDS
    return folds


def independent(pairs: EncodedPairs) -> float:
    """Number of pairs that would say as much if no two of them shared a string: that of their different strings."""
    return max(1.0, min(float(len(pairs)), (pairs.source.different + pairs.target.different) / 2))


def has_enough(pairs: EncodedPairs) -> bool:
    """Whether there are enough pairs of each label to tune threshold and calibration on."""
    return bool(min(pairs.labels.sum(), (~pairs.labels).sum()) >= CALIBRATED_FROM)


def odds_by_em(pairs: EncodedPairs, tokenizers: Tokenizers, kinship: Kinship, config: OddsConfig) -> Odds:
    """Log-odds by EM over positive pairs, with pseudo-counts of symbols with themselves and with their kin."""
    small = (pairs.source.lengths + 1) * (pairs.target.lengths + 1) <= config.train.max_cells  # `fit` names the others
    positive = pairs.chosen(np.flatnonzero(pairs.labels & small))
    if config.shared_alphabet:
        positive = positive.joined(positive.reversed())
    prior = table = prior_table(pairs, tokenizers, kinship)
    strength = config.prior * len(positive) / independent(positive)
    for _ in range(ROUNDS if len(positive) else 0):
        table = _table_by_em(table, positive, pseudo_counts(prior, strength), config)
        prior = prior_table(pairs, tokenizers, kinship, shares_of(table, kinship))
    return odds_of(table.mixed(prior, config.smoothing))


def _table_by_em(
    table: OperationTable, positive: EncodedPairs, prior: OperationTable, config: OddsConfig
) -> OperationTable:
    """Operation table by EM, from a table on, with pseudo-counts."""
    before, batches = -math.inf, positive.batches(max_cells=config.train.max_cells)
    steps = {"pairs": len(positive), "first": 1, "last": config.iterations}
    for step in iterate(table, batches, **steps, backend="auto", on_batch=ignore, prior=prior):
        if step.log_likelihood - before < TOLERANCE * abs(step.log_likelihood):
            break
        table, before = step.table, step.log_likelihood
    return table


def _alphabet_settings(config: AlphabetConfig) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in fields(AlphabetConfig)}
