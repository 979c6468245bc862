"""Matcher in `odds` form: log-odds of edit operations, begun by EM and trained on by cross-entropy."""

import copy
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
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
from nsed.kernels.dispatch import LATTICE, TABLE_SCORES, Choice
from nsed.lattice import EditLattice
from nsed.models.base import checked_scores
from nsed.models.edit_distance import LearnableEditDistance, quiet_about_symbols
from nsed.models.lattice_model import LATTICE_VERBS, LatticeModel
from nsed.models.pair_model import UNCALIBRATED, Criterion, LabelledConfig, LabelledTask, PairModel, language_numbers
from nsed.models.settings import check_unchanged, resolve_settings
from nsed.networks.kinship import (
    Kinship,
    backed_off,
    kinship_of,
    letter_features,
    prior_table,
    pseudo_counts,
    shares_of,
)
from nsed.networks.odds import Odds, OddsNetwork, odds_of
from nsed.networks.odds_scores import PairOdds, odds_lattices, pair_odds
from nsed.networks.operation_table import OperationTable, iterate
from nsed.progress import OnBatch, ignore
from nsed.text import AlphabetConfig, PairBatch, Pairs, Tokenizers, Vocabulary, choose_symbols
from nsed.text.batch import DistinctPairs, EncodedPairs
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.edit_script import EditKind
from nsed.text.pairs import PairsLike
from nsed.text.symbols import have_one_alphabet
from nsed.text.texts import Texts
from nsed.text.tokenizer import SPECIALS
from nsed.train.config import TrainConfig
from nsed.train.split import folds_of
from nsed.train.trainer import Trainer
from nsed.types import PerPair

CALIBRATED_FROM, FOLDS, FEWER_FOLDS = 100, 5, 3
"""Validation pairs of each label from which on threshold and calibration are tuned on these too; folds of
cross-validation where there are fewer pairs, and where there are enough."""
MOST_CROSS_VALIDATED, FOLD_STEPS = 20_000, 200
"""Training pairs that are cross-validated, and updates of a fold's model, at most."""
MOST_JUDGED = 10_000
"""Pairs that weights are chosen by, at most."""
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
COHERENCE_SIZE, COHERENT_FROM = 16, 50_000
"""Size of the network of coherence, and pairs from which on there is one."""
COHERENT_STEPS, COHERENT_VALIDATIONS = 500, 10
"""Updates at most with coherence, which is learned slowly, and validations in these."""
FORM: Form = "beta"
"""Form of calibrations: scores are log-odds already, but those far below 0 exaggerate, as some of what belongs together
does not look it."""


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
    features: Literal[False, True, "auto"] = "auto"
    """Letters as features: the log-odds of symbols of several letters and marks depend on each of these too; auto: true
    in training, false in models that were made before there were any."""
    identity: Literal[False, True, "auto"] = "auto"
    """Evidence of identity, in the bias, so much for each symbol of two strings that are the same; auto: where both
    sides have one alphabet."""
    coherence: Literal[False, True, "auto"] = "auto"
    """Coherence: the log-odds of an operation depend on those in the cells around it, by a small convolution, so that
    gaps come in runs; auto: where there are many pairs."""
    table_scripts: Literal[False, True, "auto"] = "auto"
    """Edit scripts by the table: which operations explain a pair is what their own log-odds say; coherence, as how much
    it adds, is in the offset; auto: true in training, false in models that were made before there was a choice."""
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
        if len(self.judged) > MOST_JUDGED:
            rows = np.random.default_rng(self.config.train.seed).permutation(len(self.judged))[:MOST_JUDGED]
            self.judged = self.judged.chosen(np.sort(rows))

    def pair_losses(self, batch: PairBatch) -> PerPair:
        """See `PairTask.pair_losses`."""
        lattice, bias = self.network(batch)
        log_odds = self.network.scale.exp() * lattice.log_prob + bias
        loss = functional.binary_cross_entropy_with_logits(log_odds, batch.labels.to(log_odds), reduction="none")
        return loss + self.network.prior(self.config.spread) / self.independent

    def validation_scores(self) -> np.ndarray:
        """See `LabelledTask.validation_scores`."""
        return pair_odds(self.network, DistinctPairs.of(self.validation), self.device).scores

    def validate(self) -> Mapping[str, float]:
        """Average precision: it needs no threshold, and of few pairs says more than F1."""
        scores = pair_odds(self.network, DistinctPairs.of(self.judged), self.device).scores
        return {self.metric: average_precision(scores, self.judged.labels)}


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
    capabilities = LATTICE_VERBS | {Capability.MATCH, Capability.FINE_TUNE}
    validation_metric = OddsTask.metric
    holds_out_always = True
    started: OddsNetwork | None = None
    """Network that a training begins with instead of EM, where a trained model learns more."""
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

    @classmethod
    def untrained(cls, pairs: PairsLike, **settings: Any) -> "OddsMatcher":
        """Untrained odds of the alphabets of some pairs, whose labels are not looked at: prior log-odds of operations.

        Symbols are expected to match themselves and their kin; scores rank pairs, and have no threshold yet.
        """
        known = Pairs.of(pairs)
        blank = replace(known, labels=[False] * len(known))
        config = resolve_settings(cls.configs, None, settings)
        assert isinstance(config, OddsConfig)
        return cls._untrained(blank, decided(config, blank))

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log-odds of each pair, before calibration, in the order given: any number, above 0 for a match."""
        scores = checked_scores(self._odds(Pairs.given(pairs, targets), on_batch=on_batch).scores)
        return column_like(pairs, scores, "score")

    def scoring_kernel(self) -> Choice:
        """See `LatticeModel.scoring_kernel`: that of tables, unless some term does not fit into one."""
        reason = self.network.no_table()
        if not reason:
            return TABLE_SCORES.explain(self.device)
        chosen = LATTICE.explain(self.device)
        return chosen._replace(reason=f"{chosen.reason}; table_scores: {reason}")

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
        """See `LatticeModel.lattices`: with `table_scripts` those of the table, without coherence."""
        read, odds = self._read(pairs)
        in_context = self.config.table_scripts is not True
        for batch, lattice, _ in odds_lattices(self.network, read.expanded(), self.device, odds, in_context=in_context):
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
        return self._explained_odds(pairs).log_probs

    def _explained_odds(self, pairs: Pairs) -> PairOdds:
        """Log-odds of pairs in the parts of `lattices`: where these are the table's, coherence is in the bias."""
        found = self._odds(pairs)
        if self.network.coherence is None or self.config.table_scripts is not True:
            return found
        read, odds = self._read(pairs)
        table = pair_odds(self.network, read, self.device, odds, in_context=False)
        return table._replace(biases=found.scores - table.scale * table.log_probs)

    def _decisions(self, pairs: Pairs) -> list[Decision]:
        """Decisions in terms of each pair's log-probability: what is no operation's, the bias, is its offset.

        Where the calibration is bent, a pair's slope is that of the line from a score of 0 to its own.
        """
        (threshold, calibration), evidence = self.criterion, self._explained_odds(pairs)
        steepness = calibration.slope * calibration.steepness(evidence.scores)
        needed = calibration.slope * float(calibration.evidence(threshold)) + calibration.intercept
        return [
            Decision.of(
                float(log_prob),
                threshold=(threshold - float(bias)) / evidence.scale,
                slope=float(slope) * evidence.scale,
                offset=float(slope * bias) + calibration.intercept,
            )._replace(match=bool(score >= threshold), needed=needed)
            for log_prob, bias, score, slope in zip(
                evidence.log_probs, evidence.biases, evidence.scores, steepness, strict=True
            )
        ]

    def _odds(self, pairs: Pairs, *, on_batch: OnBatch = ignore) -> PairOdds:
        read, odds = self._read(pairs)
        return pair_odds(self.network, read, self.device, odds, on_batch=on_batch)

    def _read(self, pairs: Pairs) -> tuple[DistinctPairs, Odds | None]:
        """Encoded pairs, and the log-odds of operations if some symbols are new: by their kinship."""
        sides = Texts.of(pairs.sources).compacted(), Texts.of(pairs.targets).compacted()
        languages = language_numbers(pairs, self.languages)
        read = self.tokenizers.encode_distinct(*sides, languages=languages)
        if not (read.source.has_unknown or read.target.has_unknown):
            return read, None
        tokenizers = self.tokenizers.extended_by(*sides, shared=bool(self.config.shared_alphabet))
        if math.prod(len(vocabulary) for vocabulary in tokenizers.vocabularies.values()) > MOST_EXTENDED:
            return read, None
        with torch.no_grad():
            odds = self.network.extended_odds(kinship_of(tokenizers).to(self.device))
        return tokenizers.encode_distinct(*sides, languages=languages), odds

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
    def plan(cls, config: Any, named: Collection[str] | None, pairs: Pairs, validation: Pairs | None) -> Any:
        """See `NetworkModel.plan`: with coherence, more steps, unless these are named."""
        config = super().plan(config, named, pairs, validation)
        if not config.coherence or named is None:
            return config
        steps = {"steps": COHERENT_STEPS, "validate_every": COHERENT_STEPS // COHERENT_VALIDATIONS}
        own = {name: value for name, value in steps.items() if f"train.{name}" not in named}
        return replace(config, train=replace(config.train, **own))

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

    def _begun_again(self, pairs: EncodedPairs) -> OddsNetwork:
        """Network that begins with what the model knew before these pairs."""
        assert self.started is not None
        return copy.deepcopy(self.started).requires_grad_(True)

    @staticmethod
    def _network(config: OddsConfig, tokenizers: Tokenizers, languages: Vocabulary | None) -> OddsNetwork:
        return OddsNetwork(
            sources=len(tokenizers.source.vocabulary),
            targets=len(tokenizers.target.vocabulary),
            symmetric=config.shared_alphabet is True,
            place=config.place,
            length=config.length,
            languages=0 if languages is None else len(languages),
            features=letter_features(tokenizers) if config.features is True else None,
            identity=config.identity is True,
            coherence=COHERENCE_SIZE if config.coherence is True else 0,
        )

    @property
    def fine_tuning_settings(self) -> OddsConfig:
        """See `Model.fine_tuning_settings`: its own, as the log-odds stay near those that are known (`spread`)."""
        return self.config

    def _extended(self, pairs: Pairs, config: Any) -> "OddsMatcher":
        """See `NetworkModel._extended`: what is known is what EM is in a training from the beginning."""
        check_unchanged(self.config, config)
        tokenizers, languages = self._more_alphabets(pairs, config)
        network = self._network(config, tokenizers, languages)
        with torch.no_grad():
            network.begin_with(self.network, kinship_of(tokenizers))
        model = self._with(network, tokenizers, config, languages)
        model.started = copy.deepcopy(network)
        return model

    def _task(self, training: EncodedPairs, validation: EncodedPairs, device: torch.device) -> OddsTask:
        begun = partial(self._begun, tokenizers=self.tokenizers, config=self.config, languages=self.languages)
        if self.started is not None:
            return OddsTask(self.network, self.config, training, validation, device, begun=self._begun_again)
        return OddsTask(self.network, self.config, training, validation, device, begun=begun)

    @staticmethod
    def _tuned(task: Any) -> Criterion:
        return tuned_criterion(task)


def decided(config: OddsConfig, pairs: Pairs) -> OddsConfig:
    """Config in which what the pairs decide is decided."""
    config = choose_symbols(config, pairs, phones=True)
    shared, languages = config.shared_alphabet, config.languages
    if shared == "auto":
        shared = have_one_alphabet(pairs, config)
    if languages == "auto":
        languages = pairs.source_languages is not None and pairs.target_languages is not None
    train = replace(config.train, batch_pairs=min(config.train.batch_pairs, _batch_pairs(pairs, config)))
    return replace(
        config,
        shared_alphabet=shared,
        languages=languages,
        features=config.features == "auto" or config.features,
        table_scripts=config.table_scripts == "auto" or config.table_scripts,
        identity=shared if config.identity == "auto" else config.identity,
        coherence=len(pairs) >= COHERENT_FROM if config.coherence == "auto" else config.coherence,
        train=train,
    )


def _batch_pairs(pairs: Pairs, config: AlphabetConfig) -> int:
    """Pairs in a batch of about `BATCH_CELLS` cells."""
    sides = zip(config.splitters, (pairs.sources, pairs.targets), strict=True)
    source, target = (np.array([len(side.split(text)) for text in texts[:SAMPLED]]) for side, texts in sides)
    return max(LEAST_PAIRS, int(BATCH_CELLS / max(1.0, float(((source + 1) * (target + 1)).mean()))))


def tuned_criterion(task: OddsTask) -> Criterion:
    """Tuned criterion: the threshold with the best F1, and calibrated probabilities, of pairs that were held out.

    These are all pairs, or some of many, each scored by a model that has not seen it (cross-validation): a validation
    part may have few of what pairs share, say concepts, and be easier or harder than others. Validation pairs, where
    they are not few, are scored by the model itself, and count no more than others: as large a share of them is taken.
    Scores of the other models are put on its scale by them.
    """
    if not has_enough(task.validation):
        pairs = task.training.joined(task.validation)
        return Criterion.tuned(cross_validated_scores(task, pairs, FOLDS), pairs.labels, form=FORM)
    random, share = np.random.default_rng(task.config.train.seed), min(1.0, MOST_CROSS_VALIDATED / len(task.training))
    rows, apart = (
        np.sort(random.permutation(len(pairs))[: math.ceil(share * len(pairs))])
        for pairs in (task.training, task.validation)
    )
    known = HeldOutScores(task.validation.chosen(apart), task.validation_scores()[apart])
    scores = known.scores, cross_validated_scores(task, task.training, FEWER_FOLDS, rows, known)
    labels = known.pairs.labels, task.training.labels[rows]
    return Criterion.tuned(np.concatenate(scores), np.concatenate(labels), form=FORM)


class HeldOutScores(NamedTuple):
    """Pairs that no fold has, and the scores that the model itself gives them."""

    pairs: EncodedPairs
    scores: np.ndarray

    def on_scale(self, scores: np.ndarray, network: OddsNetwork, device: torch.device) -> np.ndarray:
        """Scores of another network, with the mean and the spread that the model itself has of these pairs.

        Models of folds differ in both: other concepts have other shares of matches.
        """
        found = pair_odds(network, DistinctPairs.of(self.pairs), device).scores
        spread = self.scores.std() / found.std() if found.std() else 1.0
        return np.asarray((scores - found.mean()) * spread + self.scores.mean())


def cross_validated_scores(
    task: OddsTask,
    pairs: EncodedPairs,
    count: int,
    rows: np.ndarray | None = None,
    known: HeldOutScores | None = None,
) -> np.ndarray:
    """Scores of pairs, or of some rows, each by a model trained on those outside its fold, see `folds_of`.

    With pairs of known scores, all are on the scale of these.
    """
    train = task.config.train
    config = replace(task.config, train=replace(train, steps=min(train.steps, FOLD_STEPS)))
    folds = folds_of(pairs, count, shared=bool(config.shared_alphabet), seed=train.seed)
    if rows is not None:
        pairs, folds = pairs.chosen(rows), folds[rows]
    scores = np.empty(len(pairs))
    for fold in range(count):
        seen, apart = (pairs.chosen(np.flatnonzero((folds == fold) == side)) for side in (False, True))
        if not len(apart):
            continue
        network = task.begun(seen).to(task.device)
        Trainer(OddsTask(network, config, seen, apart, task.device, begun=task.begun), config.train).run()
        found = pair_odds(network.eval(), DistinctPairs.of(apart), task.device).scores
        scores[folds == fold] = found if known is None else known.on_scale(found, network, task.device)
    return scores


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
        prior = backed_off(prior_table(pairs, tokenizers, kinship, shares_of(table, kinship)), table, tokenizers)
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
