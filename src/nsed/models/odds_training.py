"""Training in `odds` form: settings, EM before the first step, the loss; threshold and calibration, cross-validated."""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from nsed.config import bounded
from nsed.errors import ArgumentError
from nsed.evaluate.calibration import Form
from nsed.evaluate.matching import average_precision
from nsed.models.pair_model import Criterion, LabelledConfig, LabelledTask
from nsed.networks.kinship import (
    Kinship,
    SymbolFeatures,
    backed_off,
    prior_table,
    pseudo_counts,
    shares_of,
)
from nsed.networks.odds import Odds, OddsNetwork, odds_of
from nsed.networks.odds_scores import pair_odds
from nsed.networks.operation_table import OperationTable, iterate
from nsed.progress import ignore
from nsed.text import AlphabetConfig, PairBatch, Pairs, Tokenizers, choose_symbols
from nsed.text.batch import DistinctPairs, EncodedPairs
from nsed.text.readers.delimited import read_symbol_features
from nsed.text.symbols import have_one_alphabet
from nsed.text.visible import shown_symbols
from nsed.train.config import TrainConfig
from nsed.train.split import folds_of
from nsed.train.trainer import Trainer
from nsed.types import PerPair

CALIBRATED_FROM, FOLDS, FEWER_FOLDS = 100, 5, 3
"""Validation pairs of each label from which on threshold and calibration are tuned on these too; folds of
cross-validation where there are fewer pairs, and where there are enough."""
MOST_CROSS_VALIDATED, FOLD_STEPS, FOLD_TRAINING = 20_000, 200, 0.8
"""Training pairs that are cross-validated, and updates of a fold's model, at most; and the share of a fold's time, if
minutes are given, until the end of its training."""
MOST_JUDGED = 10_000
"""Pairs that weights are chosen by, at most."""
BATCH_CELLS, LEAST_PAIRS, SAMPLED = 2**17, 32, 1000
"""Batch size in lattice cells, at most and about, as so many pairs have them; the least in pairs."""
SLICE_CELLS = 2**16
"""Cells of lattices that are computed at once."""
EM_SHARE = 0.2
"""Share of a budget of minutes that EM may take."""
ROUNDS = 2
"""Rounds of EM: the shares of kinds of operations that the first one finds are what the second expects."""
AVERAGE_PRECISION, WITH_TRAINING = "average_precision", "average_precision_with_training_pairs"
"""Metrics by which weights are chosen; the second where validation pairs are few, and not what new pairs would have."""
TOLERANCE = 1e-4
"""Share of the log-likelihood that an iteration of EM must improve, to go on."""
COHERENCE_SIZE, COHERENT_FROM = 16, 50_000
"""Size of the network of coherence, and pairs from which on there is one."""
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
    threads: int = bounded(1, low=0, most=1024)
    """CPU threads; 0: as many as torch has. The steps are small: more threads mostly wait for one another. With 1, the
    weights are the same, bit for bit, in every run on one machine."""


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
    symbol_features: str = ""
    """Features of symbols: a table (TSV, CSV) with a symbol and numbers, or + and -, in each row, or `panphon`, that of
    the package, for IPA; rare symbols and those never seen do as the ones with like features do."""
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


class OddsTask(LabelledTask):
    """Odds task: binary cross-entropy of the log-odds with a Gaussian prior, validated by average precision.

    Pairs that share a word say much the same: the prior weighs as one of as many pairs as there are different words.
    """

    metric, in_slices = AVERAGE_PRECISION, False
    network: OddsNetwork
    config: OddsConfig

    def __init__(self, *given: Any, begun: Callable[[EncodedPairs], OddsNetwork]) -> None:
        super().__init__(*given)
        self.begun, self.most_cells = begun, SLICE_CELLS
        self.independent = independent(self.training)
        folds = FEWER_FOLDS if has_enough(self.validation) else FOLDS
        self.training_share, self.updates_afterwards = 1 / (1 + folds), folds * min(self.config.train.steps, FOLD_STEPS)
        self.judged = self.validation
        if not has_enough(self.validation):
            self.metric, self.judged = WITH_TRAINING, self.training.joined(self.validation)
        if len(self.judged) > MOST_JUDGED:
            self.judged = self.judged.chosen(_rows_judged(self.judged.labels, self.config.train.seed))

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
        """Average precision: it needs no threshold, and of few pairs says more than F1.

        Where validation pairs are too few to choose weights by, that of training pairs and these too; where these are
        of one kind, as in a fold without a match, there is nothing to choose by, and the last weights are kept.
        """
        if not 0 < self.judged.labels.mean() < 1:
            return {self.metric: 0.0}
        scores = pair_odds(self.network, DistinctPairs.of(self.judged), self.device).scores
        found = {self.metric: average_precision(scores, self.judged.labels)}
        if self.metric != AVERAGE_PRECISION and 0 < self.validation.labels.mean() < 1:
            found[AVERAGE_PRECISION] = average_precision(self.validation_scores(), self.validation.labels)
        return found


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
    if not len(pairs):  # whoever trains on them says that there are none
        return LEAST_PAIRS
    sides = zip(config.splitters, (pairs.sources, pairs.targets), strict=True)
    source, target = (np.array([len(side.split(text)) for text in texts[:SAMPLED]]) for side, texts in sides)
    return max(LEAST_PAIRS, int(BATCH_CELLS / max(1.0, float(((source + 1) * (target + 1)).mean()))))


def _rows_judged(labels: np.ndarray, seed: int) -> np.ndarray:
    """Rows of some of many pairs, at random; where few of these would be of the rarer label, more of it."""
    order = np.random.default_rng(seed).permutation(len(labels))
    rare = order[labels[order] == (labels.mean() < 0.5)][:CALIBRATED_FROM]
    if np.isin(rare, order[:MOST_JUDGED]).all():
        return np.sort(order[:MOST_JUDGED])
    others = order[~np.isin(order, rare)]
    return np.sort(np.concatenate([rare, others[: MOST_JUDGED - len(rare)]]))


def independent(pairs: EncodedPairs) -> float:
    """Number of pairs that would say as much if no two of them shared a string: that of their different strings."""
    return max(1.0, min(float(len(pairs)), (pairs.source.different + pairs.target.different) / 2))


def has_enough(pairs: EncodedPairs) -> bool:
    """Whether there are enough pairs of each label to tune threshold and calibration on."""
    return bool(min(pairs.labels.sum(), (~pairs.labels).sum()) >= CALIBRATED_FROM)


def read_features(config: OddsConfig, tokenizers: Tokenizers) -> SymbolFeatures | None:
    """Features of symbols that the settings name, if any. Raises `ArgumentError` where they are of no symbol here."""
    if not config.symbol_features:
        return None
    features = SymbolFeatures.of(read_symbol_features(config.symbol_features))
    symbols = dict.fromkeys(symbol for one in tokenizers.vocabularies.values() for symbol in one.symbols)
    if all(features.row_of(symbol) is None for symbol in symbols):
        got = f"{config.symbol_features}, whose symbols begin {shown_symbols(features.vocabulary.symbols[:5])}"
        expected = f"features of the symbols of the pairs, which begin {shown_symbols(list(symbols)[:5])}"
        advice = "What pairs are cut into is the setting source_symbols."
        raise ArgumentError("symbol_features", got=got, expected=expected, advice=advice)
    return features


def odds_by_em(
    pairs: EncodedPairs,
    tokenizers: Tokenizers,
    kinship: Kinship,
    config: OddsConfig,
    features: SymbolFeatures | None = None,
) -> Odds:
    """Log-odds by EM over positive pairs, with pseudo-counts of symbols with themselves and with their kin."""
    small = (pairs.source.lengths + 1) * (pairs.target.lengths + 1) <= config.train.max_cells  # `fit` names the others
    positive = pairs.chosen(np.flatnonzero(pairs.labels & small))
    if config.shared_alphabet:
        positive = positive.joined(positive.reversed())
    prior = table = prior_table(pairs, tokenizers, kinship)
    strength = config.prior * len(positive) / independent(positive)
    for _ in range(ROUNDS if len(positive) else 0):
        table = _table_by_em(table, positive, pseudo_counts(prior, strength), config)
        expected = prior_table(pairs, tokenizers, kinship, shares_of(table, kinship))
        prior = backed_off(expected, table, tokenizers, features)
    return odds_of(table.mixed(prior, config.smoothing))


def _table_by_em(
    table: OperationTable, positive: EncodedPairs, prior: OperationTable, config: OddsConfig
) -> OperationTable:
    """Operation table by EM, from a table on, with pseudo-counts."""
    before, batches = -math.inf, positive.batches(max_cells=config.train.max_cells)
    steps = {"pairs": len(positive), "first": 1, "last": config.iterations}
    minutes = config.train.minutes * EM_SHARE / ROUNDS or math.inf
    over = time.monotonic() + 60 * minutes
    for step in iterate(table, batches, **steps, backend="auto", on_batch=ignore, prior=prior):
        if step.log_likelihood - before < TOLERANCE * abs(step.log_likelihood):
            break
        table, before = step.table, step.log_likelihood
        if time.monotonic() > over:
            break
    return table


def tuned_criterion(task: OddsTask, deadline: float = math.inf) -> Criterion:
    """Tuned criterion: the threshold with the best F1, and calibrated probabilities, of pairs that were held out.

    These are all pairs, or some of many, each scored by a model that has not seen it (cross-validation): a validation
    part may have few of what pairs share, say concepts, and be easier or harder than others. Validation pairs, where
    they are not few, are scored by the model itself, which knows more than the others: up to as many are taken.
    Scores of the other models are put on its scale by them. Without time for other models, all are the model's own.
    """
    if not has_enough(task.validation):
        pairs = task.training.joined(task.validation)
        found = cross_validated_scores(task, pairs, FOLDS, deadline=deadline)
        return Criterion.tuned(found, pairs.labels, form=FORM)
    random = np.random.default_rng(task.config.train.seed)
    rows, apart = (
        np.sort(random.permutation(len(pairs))[:MOST_CROSS_VALIDATED]) for pairs in (task.training, task.validation)
    )
    known = HeldOutScores(task.validation.chosen(apart), task.validation_scores()[apart])
    scores = (
        known.scores,
        cross_validated_scores(task, task.training, FEWER_FOLDS, rows=rows, known=known, deadline=deadline),
    )
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
    *,
    rows: np.ndarray | None = None,
    known: HeldOutScores | None = None,
    deadline: float = math.inf,
) -> np.ndarray:
    """Scores of pairs, or of some rows, each by a model trained on those outside its fold, see `folds_of`.

    With pairs of known scores, all are on the scale of these. By the task's own model after the deadline, and where the
    others would not even begin before it.
    """
    train = task.config.train
    folds = folds_of(pairs, count, shared=bool(task.config.shared_alphabet), seed=train.seed)
    if rows is not None:
        pairs, folds = pairs.chosen(rows), folds[rows]
    scores = np.empty(len(pairs))
    if time.monotonic() >= deadline:
        return pair_odds(task.network, DistinctPairs.of(pairs), task.device).scores
    for fold in range(count):
        end = time.monotonic() + FOLD_TRAINING * (deadline - time.monotonic()) / (count - fold)
        seen, apart = (pairs.chosen(np.flatnonzero((folds == fold) == side)) for side in (False, True))
        if not len(apart):
            continue
        before = time.monotonic()
        network = task.begun(seen).to(task.device)
        if fold == 0 and before + count * (time.monotonic() - before) > deadline:  # the others would begin too late
            return pair_odds(task.network, DistinctPairs.of(pairs), task.device).scores
        minutes = 0.0 if end == math.inf else max(1e-6, (end - time.monotonic()) / 60)
        config = replace(task.config, train=replace(train, steps=min(train.steps, FOLD_STEPS), minutes=minutes))
        fold_task = OddsTask(network, config, seen, seen, task.device, begun=task.begun)  # nothing judged chooses
        fold_task.training_share, fold_task.updates_afterwards = 1.0, None
        Trainer(fold_task, config.train).run()
        found = pair_odds(network.eval(), DistinctPairs.of(apart), task.device).scores
        scores[folds == fold] = found if known is None else known.on_scale(found, network, task.device)
    return scores
