"""Matcher in `odds` form: log-odds of edit operations, begun by EM and trained on by cross-entropy."""

import math
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache, partial
from itertools import chain
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional

from nsed.capabilities import Capability
from nsed.config import bounded
from nsed.errors import ArgumentError, NotExplainableError
from nsed.evaluate.calibration import Form
from nsed.evaluate.ranking import average_precision
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
from nsed.networks.odds import KINSHIP, Odds, OddsNetwork, odds_of
from nsed.networks.operation_table import OperationTable
from nsed.progress import OnBatch, ignore
from nsed.text import AlphabetConfig, EncodedStrings, PairBatch, Pairs, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.columns import Column
from nsed.text.edit_script import EditKind
from nsed.text.pairs import PairsLike
from nsed.text.tokenizer import SPECIALS
from nsed.train.config import TrainConfig
from nsed.train.trainer import Trainer
from nsed.types import UNKNOWN, PerPair

CALIBRATED_FROM, FOLDS = 100, 5
"""Validation pairs of each label from which on threshold and calibration are tuned on these; of fewer pairs, all are
scored by models that have not seen them, in so many folds."""
ONE_ALPHABET = 0.8
"""Share of a side's symbols that the other side has too, from which on both are written in one alphabet."""
IDENTICAL = KINSHIP.index("identical")
PRIOR_SHARES, PRIOR_GAPS = (0.1, 0.15, 0.5), 0.25
"""Prior shares of operations: of substitutions by `KINSHIP`, and of gaps."""
SLICE_CELLS = 2**16
"""Cells of lattices that are computed at once."""
TOLERANCE = 1e-5
"""Share of the log-likelihood that an iteration of EM must improve, to go on."""
SCORE: Form = "score"
"""Form of calibrations: scores are log-odds already."""


@dataclass(frozen=True)
class OddsTrainConfig(TrainConfig):
    """Training hyperparameters of log-odds: few and large steps, as most is known before the first."""

    learning_rate: float = bounded(0.02, low=0, most=1e3)
    """Learning rate, at its highest."""
    weight_decay: float = bounded(0.0, low=0, most=1e3)
    """Weight decay, of adamw; the Gaussian prior of `spread` does without."""
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
    shared_alphabet: Literal[False, True, "auto"] = "auto"  # type: ignore[assignment]
    """Shared vocabulary and symmetric table, where both sides are written alike; auto: where most symbols of either
    side are symbols of the other side too."""
    languages: Literal[False, True, "auto"] = "auto"  # type: ignore[assignment]
    """Language vectors, whose inner product is added to the log-odds; auto: where the pairs have languages."""
    prior: float = bounded(100.0, low=0, most=1e9)
    """Prior of EM: so many operations, mostly of symbols with themselves or their kin, are counted in advance."""
    spread: float = bounded(0.5, low=1e-6, most=1e6)
    """Spread of the log-odds of single operations about what EM says, before training (Gaussian prior)."""
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

    metric, in_slices = "average_precision", False
    network: OddsNetwork
    config: OddsConfig

    def __init__(self, *given: Any, begun: Callable[[EncodedPairs], OddsNetwork]) -> None:
        super().__init__(*given)
        self.begun, self.most_cells = begun, SLICE_CELLS
        self.judged = self.validation if has_enough(self.validation) else joined(self.training, self.validation)

    def pair_losses(self, batch: PairBatch) -> PerPair:
        """See `PairTask.pair_losses`."""
        lattice, bias = self.network(batch)
        log_odds = self.network.scale.exp() * lattice.log_prob + bias
        loss = functional.binary_cross_entropy_with_logits(log_odds, batch.labels.to(log_odds), reduction="none")
        return loss + self.network.prior(self.config.spread) / len(self.training)

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
        """Untrained odds of a learnable edit distance: its `relative: true` scores."""
        own = _alphabet_settings(edit_distance.config) | {"shared_alphabet": False, "languages": False}
        config, tokenizers = resolve_settings(cls.configs, own, settings), edit_distance.tokenizers
        assert isinstance(config, OddsConfig)
        even = OperationTable.uniform(*tokenizers.vocabularies.values(), unknown=True)
        network = cls._network(config, tokenizers, None)
        network.begin(odds_of(edit_distance.table.mixed(even, edit_distance.config.smoothing)), kinship_of(tokenizers))
        return cls(network, tokenizers, config, criterion=Criterion(0.0, UNCALIBRATED))

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
        config = decided(config, pairs)
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
            symmetric=config.shared_alphabet,
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
    return replace(config, shared_alphabet=shared, languages=languages)


def have_one_alphabet(pairs: Pairs, config: AlphabetConfig) -> bool:
    """Whether most symbols of either side, as often as they occur, are symbols of the other side too."""
    tokenizers = Tokenizers.learned(config, pairs)
    counts = [
        Counter(chain.from_iterable(map(side.split, texts)))
        for side, texts in ((tokenizers.source, pairs.sources), (tokenizers.target, pairs.targets))
    ]
    both = counts[0].keys() & counts[1].keys()
    return all(sum(side[symbol] for symbol in both) >= ONE_ALPHABET * side.total() for side in counts)


def tuned_criterion(task: OddsTask) -> Criterion:
    """Tuned criterion: the threshold with the best F1, and calibrated probabilities, of pairs that were held out.

    These are the validation pairs or, where they are few, all pairs, each scored by a model that has not seen it.
    """
    if has_enough(task.validation):
        return Criterion.tuned(task.validation_scores(), task.validation.labels, form=SCORE)
    pairs = joined(task.training, task.validation)
    return Criterion.tuned(cross_validated_scores(task, pairs), pairs.labels, form=SCORE)


def cross_validated_scores(task: OddsTask, pairs: EncodedPairs) -> np.ndarray:
    """Scores of all pairs, each by a model that was trained without its fold; the folds share no source."""
    scores, folds = np.empty(len(pairs)), folds_of(pairs, seed=task.config.train.seed)
    for fold in range(FOLDS):
        seen, apart = (chosen(pairs, np.flatnonzero((folds == fold) == side)) for side in (False, True))
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


def chosen(pairs: EncodedPairs, rows: np.ndarray) -> EncodedPairs:
    """Some of the pairs."""
    source, target = (EncodedStrings(side[row] for row in rows) for side in (pairs.source, pairs.target))
    return EncodedPairs(source, target, labels=pairs.labels[rows], languages=pairs.languages[rows])


def joined(one: EncodedPairs, other: EncodedPairs) -> EncodedPairs:
    """Pairs of both."""
    source, target = (
        EncodedStrings(side[row] for side in sides for row in range(len(side)))
        for sides in ((one.source, other.source), (one.target, other.target))
    )
    known = (np.concatenate([getattr(one, name), getattr(other, name)]) for name in ("labels", "languages"))
    labels, languages = known
    return EncodedPairs(source, target, labels=labels, languages=languages)


def has_enough(pairs: EncodedPairs) -> bool:
    """Whether there are enough pairs of each label to tune threshold and calibration on."""
    return bool(min(pairs.labels.sum(), (~pairs.labels).sum()) >= CALIBRATED_FROM)


def odds_by_em(
    pairs: EncodedPairs, tokenizers: Tokenizers, kinship: Float[Tensor, "sources targets"], config: OddsConfig
) -> Odds:
    """Log-odds by EM over positive pairs, with pseudo-counts of what is akin, and the prior of identity."""
    small = (pairs.source.lengths + 1) * (pairs.target.lengths + 1) <= config.train.max_cells  # `fit` names the others
    positive = chosen(pairs, np.flatnonzero(pairs.labels & small))
    if config.shared_alphabet:
        positive = joined(
            positive, EncodedPairs(positive.target, positive.source, languages=positive.languages[:, ::-1])
        )
    prior = prior_table(pairs, tokenizers, kinship)
    table, before = prior, -math.inf
    if len(positive):
        batches = positive.batches(max_cells=config.train.max_cells)
        for step in iterate(
            prior,
            batches,
            pairs=len(positive),
            first=1,
            last=config.iterations,
            backend="auto",
            on_batch=ignore,
            prior=prior.times(config.prior),
        ):
            table = step.table
            if step.log_likelihood - before < TOLERANCE * abs(step.log_likelihood):
                break
            before = step.log_likelihood
    odds = odds_of(table.mixed(prior, config.smoothing))
    odds.substitute[kinship == IDENTICAL] = odds.substitute[kinship == IDENTICAL].clamp(min=config.identity)
    return odds


def prior_table(
    pairs: EncodedPairs, tokenizers: Tokenizers, kinship: Float[Tensor, "sources targets"]
) -> OperationTable:
    """Table of what is expected before any pair: identical symbols, then those that are akin, as often as they occur."""
    source, target = (
        _frequencies(side, len(one.vocabulary))
        for side, one in ((pairs.source, tokenizers.source), (pairs.target, tokenizers.target))
    )
    cells, substitute = source[:, None] * target, torch.zeros_like(kinship, dtype=source.dtype)
    for number, share in enumerate(PRIOR_SHARES):
        of_kind = torch.where(kinship == number, cells.sqrt() if number == IDENTICAL else cells, 0.0)
        if of_kind.sum() > 0:
            substitute += share * of_kind / of_kind.sum()
    end = torch.tensor(1 / max(1.0, float(pairs.sizes.mean()) / 2), dtype=source.dtype)
    return OperationTable(PRIOR_GAPS * source / 2, PRIOR_GAPS * target / 2, substitute, end).normalised()


def _frequencies(strings: EncodedStrings, symbols: int) -> Float[Tensor, " symbols"]:
    counts = np.bincount(strings.flat, minlength=symbols) + 1.0
    counts[[number for number in range(len(SPECIALS)) if number != UNKNOWN]] = 0
    return torch.from_numpy(counts / counts.sum())


def kinship_of(tokenizers: Tokenizers) -> Float[Tensor, "sources targets"]:
    """Classes of substitutions, see `KINSHIP`: the symbols are identical, or have the same letter in them."""
    source, target = (vocabulary.names for vocabulary in tokenizers.vocabularies.values())
    letters = [
        [frozenset() if n < len(SPECIALS) else letters_of(s) for n, s in enumerate(side)] for side in (source, target)
    ]
    numbers = {symbol: number for number, symbol in enumerate(target) if number >= len(SPECIALS)}
    found = torch.tensor([[float(bool(one & other)) for other in letters[1]] for one in letters[0]])
    for s, symbol in enumerate(source):
        if symbol in numbers and s >= len(SPECIALS):
            found[s, numbers[symbol]] = IDENTICAL
    return found.reshape(len(source), len(target))


@lru_cache(maxsize=2**16)
def letters_of(symbol: str) -> frozenset[str]:
    """Latin letters that the names of a symbol's characters begin with: those of b, B, be and beta are all B.

    >>> [*letters_of("b")], [*letters_of("б")], [*letters_of("é")], [*letters_of("م")]
    (['B'], ['B'], ['E'], ['M'])
    """
    names = (unicodedata.name(character, "") for character in unicodedata.normalize("NFD", symbol))
    found = (_letter(name.partition(" LETTER ")[2].split(" WITH ")[0].split()) for name in names)
    return frozenset(letter for letter in found if letter)


def _letter(words: list[str]) -> str:
    """Letter that a letter's name stands for: that of OPEN O is O, of EM (Cyrillic) M, of BEH (Arabic) B."""
    single = [word for word in words if len(word) == 1]
    words = single or [
        word for word in words if word not in ("SHORT", "FINAL", "SMALL", "CAPITAL", "FARSI", "UKRAINIAN")
    ]
    if not words:
        return ""
    return words[0][-1] if len(words[0]) == 2 and words[0][0] in "EI" else words[0][0]


def _alphabet_settings(config: AlphabetConfig) -> dict[str, Any]:
    return {field.name: getattr(config, field.name) for field in fields(AlphabetConfig)}
