"""Matcher in `odds` form: log-odds of edit operations, begun by EM and trained on by cross-entropy."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
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
from nsed.lattice import Arcs, EditLattice
from nsed.models.base import checked_scores
from nsed.models.decisions import UNCALIBRATED, Criterion
from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance, quiet_about_symbols
from nsed.models.lattice_model import LATTICE_VERBS, LatticeModel
from nsed.models.pair_model import LabelledConfig, LabelledTask, PairModel
from nsed.models.settings import resolve_settings
from nsed.networks.operation_table import OperationTable
from nsed.progress import OnBatch, ignore
from nsed.text import AlphabetConfig, PairBatch, Pairs, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.columns import Column
from nsed.text.edit_script import EditKind
from nsed.text.pairs import PairsLike
from nsed.text.tokenizer import SPECIALS
from nsed.train.config import TrainConfig
from nsed.train.task import PairTask
from nsed.train.trainer import Trainer
from nsed.types import UNKNOWN, Lengths, PerPair

PLACES = ("initial", "second", "medial", "last but one", "last")
"""Classes of places in a string; of a place that is several, the one nearer to an end, and of these the first."""
LENGTHS = ("n + m", "|n - m|", "log(n + m)")
"""Length features of a pair, in the bias."""
LANGUAGE_SIZE = 8
"""Size of the vectors of languages."""
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


class Odds(NamedTuple):
    """Log-odds tables of operations on symbols (by their numbers), and the bias of every pair."""

    delete: Float[Tensor, " sources"]
    insert: Float[Tensor, " targets"]
    substitute: Float[Tensor, "sources targets"]
    bias: Float[Tensor, ""]


def odds_of(table: OperationTable) -> Odds:
    """Log-odds of operations, by the table against by chance, in closed form.

    With them, log_prob plus bias is log p(s, t) / (p(s) p(t)), the score of an edit distance with `relative: true`: the
    margins are products over symbols, and the arcs divide by the factor of each symbol that they consume. Symbols
    without probability, the special ones but `<unk>`, have 0.
    """
    no_insert, no_delete = 1 - table.insert.sum(), 1 - table.delete.sum()
    source = ((table.delete + table.substitute.sum(1)) / no_insert).log()
    target = ((table.insert + table.substitute.sum(0)) / no_delete).log()
    delete, insert = table.delete.log() - source, table.insert.log() - target
    substitute = table.substitute.log() - source[:, None] - target
    bias = no_insert.log() + no_delete.log() - table.end.log()
    return Odds(*(part.nan_to_num(0.0, 0.0, 0.0) for part in (delete, insert, substitute, bias)))


class PlaceFactors(nn.Module):
    """Factors of place: per side a factor on the log-odds, and what is added to those of gaps and of substitutions."""

    def __init__(self, sides: int) -> None:
        super().__init__()
        self.factor, self.gap, self.substitute = (nn.Parameter(torch.zeros(sides, len(PLACES))) for _ in range(3))

    def forward(
        self,
        batch: PairBatch,
        delete: Float[Tensor, "batch n"],
        insert: Float[Tensor, "batch m"],
        substitute: Float[Tensor, "batch n m"],
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Log-odds of the operations on the symbols of pairs, by the places of these."""
        places = places_of(batch.source, batch.source_lengths), places_of(batch.target, batch.target_lengths)
        factor, gap, pair = (
            [_chosen(side, place) for side, place in zip(values.to(delete).expand(2, -1), places, strict=True)]
            for values in (self.factor.exp(), self.gap, self.substitute)
        )
        return (
            factor[0] * delete + gap[0],
            factor[1] * insert + gap[1],
            factor[0][:, :, None] * factor[1][:, None] * substitute + pair[0][:, :, None] + pair[1][:, None],
        )


class OddsNetwork(nn.Module):
    """Log-odds of operations, the factors on them, and the bias: all that is learned.

    Every parameter is a deviation: with all at zero the log-odds are those of `start`, so weight decay leads there.
    """

    start_delete: Tensor
    start_insert: Tensor
    start_substitute: Tensor
    start_bias: Tensor

    def __init__(
        self, *, sources: int, targets: int, symmetric: bool, place: bool, length: bool, languages: int
    ) -> None:
        super().__init__()
        self.symmetric = symmetric
        for name, size in Odds((sources,), (targets,), (sources, targets), ())._asdict().items():  # type: ignore[arg-type]  # sizes
            self.register_buffer(f"start_{name}", torch.zeros(size))
            self.register_parameter(name, nn.Parameter(torch.zeros(size)))
        self.scale = nn.Parameter(torch.zeros(()))
        self.place = PlaceFactors(1 if symmetric else 2) if place else None
        self.length = nn.Parameter(torch.zeros(len(LENGTHS))) if length else None
        self.languages = nn.Embedding(languages, LANGUAGE_SIZE) if languages else None
        if self.languages is not None:
            nn.init.normal_(self.languages.weight, std=0.1)  # of zeros, an inner product has no gradient
            nn.init.zeros_(self.languages.weight[UNKNOWN])

    def begin(self, odds: Odds) -> None:
        """Set the log-odds to start from."""
        for name, part in odds._asdict().items():
            getattr(self, f"start_{name}").copy_(part)

    def odds(self) -> Odds:
        """Log-odds of operations without the factors of place; in double precision but for training."""
        dtype = torch.float32 if self.training else torch.float64
        own = {name: getattr(self, name).to(dtype) for name in Odds._fields}
        odds = Odds(**{name: part + getattr(self, f"start_{name}").to(dtype) for name, part in own.items()})
        if not self.symmetric:
            return odds
        gap, substitute = (odds.delete + odds.insert) / 2, (odds.substitute + odds.substitute.T) / 2
        return Odds(gap, gap, substitute, odds.bias)

    def forward(self, batch: PairBatch) -> tuple[EditLattice, PerPair]:
        """Lattices of pairs and the bias of each; its log-odds are `scale.exp() * log_prob + bias`."""
        odds = self.odds()
        lattice = EditLattice(*self._arcs(odds, batch), *batch.lengths, validate=False)
        bias = odds.bias + self._of_lengths(batch, odds.bias) + self._of_languages(batch, odds.bias)
        return lattice, bias

    def _arcs(self, odds: Odds, batch: PairBatch) -> Arcs:
        numbers = batch.source[:, :, None] * odds.substitute.shape[1] + batch.target[:, None, :]
        delete, insert = _chosen(odds.delete, batch.source), _chosen(odds.insert, batch.target)
        substitute = _chosen(odds.substitute.flatten(), numbers)
        if self.place is not None:
            delete, insert, substitute = self.place(batch, delete, insert, substitute)
        padded = functional.pad(substitute, (1, 0, 1, 0))
        delete, insert = functional.pad(delete, (1, 0))[:, :, None], functional.pad(insert, (1, 0))[:, None]
        return Arcs(delete.expand_as(padded), insert.expand_as(padded), padded)

    def _of_lengths(self, batch: PairBatch, like: Tensor) -> PerPair:
        n, m = (length.to(like) for length in batch.lengths)
        if self.length is None:
            return torch.zeros_like(n)
        features = torch.stack([(n + m) / 10, (n - m).abs(), (n + m).clamp(min=1).log()], 1)
        return (features * self.length.to(like)).sum(1)

    def _of_languages(self, batch: PairBatch, like: Tensor) -> PerPair:
        if self.languages is None:
            return torch.zeros_like(batch.source_lengths, dtype=like.dtype)
        vectors: Tensor = self.languages(batch.languages).to(like)
        return (vectors[:, 0] * vectors[:, 1]).sum(1)


def places_of(symbols: Int[Tensor, "batch length"], lengths: Lengths) -> Int[Tensor, "batch length"]:
    """Numbers of the classes of places, see `PLACES`.

    >>> places_of(torch.zeros(2, 5).long(), torch.tensor([5, 2])).tolist()
    [[0, 1, 2, 3, 4], [0, 4, 2, 2, 2]]
    """
    place = torch.arange(symbols.shape[1], device=symbols.device).expand_as(symbols)
    left = lengths[:, None] - 1 - place
    classes = torch.full_like(place, 2)
    for number, found in ((3, left == 1), (1, place == 1), (4, left == 0), (0, place == 0)):
        classes = classes.masked_fill(found & (left >= 0), number)
    return classes


def _chosen(values: Float[Tensor, " kinds"], numbers: Int[Tensor, "..."]) -> Float[Tensor, "..."]:
    """Values by number; in one dimension, where the gradient is a plain sum."""
    return values.index_select(0, numbers.flatten()).view(numbers.shape)


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

    def _finished(self, trainer: Trainer, task: PairTask | None) -> "OddsMatcher":
        """Model with its threshold tuned on the validation pairs; calibrated where there are enough of each label."""
        self.network.eval()
        criterion = tuned_criterion(task) if isinstance(task, OddsTask) else self.criterion
        return type(self)(
            self.network,
            self.tokenizers,
            self.config,
            languages=self.languages,
            criterion=criterion,
            record=trainer.record,
        )


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
