"""The Matcher: learns whether two strings belong together, and says which operations make it think so."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
import torch

from nsed.capabilities import Capability
from nsed.config import bounded, has_key, probable_key
from nsed.encoders import EncoderConfig
from nsed.errors import ArgumentError
from nsed.explain.decision import Decision
from nsed.explain.rule_table import RuleTable
from nsed.explain.weight_rules import weight_rules
from nsed.kernels.dispatch import MATCH_SCORES, Choice
from nsed.lattice import EditLattice
from nsed.lattice.lattice import Weighting
from nsed.models.base import checked_scores
from nsed.models.edit_distance import quiet_about_symbols
from nsed.models.lattice_model import LATTICE_VERBS, LatticeModel
from nsed.models.matcher_mixture import MatcherMixture
from nsed.models.odds import OddsMatcher
from nsed.models.odds_training import OddsConfig
from nsed.models.pair_model import LabelledConfig, LabelledTask, PairModel, in_order, tell_of_languages
from nsed.models.settings import ConfigLike, named_kind, top_names
from nsed.networks.bulk_scores import bulk_scores
from nsed.networks.losses import Reduction, distortion_loss, em_loss, match_loss, non_match_loss, real_cells
from nsed.networks.matcher import MatcherNetwork, lattice_of
from nsed.progress import OnBatch, OnStep, OnValidation, ignore
from nsed.text import EncodedStrings, PairBatch, Pairs, Tokenizer, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs, at_place, placed_in
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts
from nsed.train.config import TrainConfig
from nsed.types import PerPair


@dataclass(frozen=True)
class MatcherConfig(LabelledConfig):
    """Matcher hyperparameters: what it is made of and how it is trained. The loss weights are the paper's."""

    model: Literal["matcher"] = "matcher"
    """The kind of model that these settings are for."""
    encoder: EncoderConfig = EncoderConfig()
    """Encoder hyperparameters: how much of its string a symbol knows."""
    interaction: int = bounded(0, low=0, most=1024)
    """Similarity heads between source and target symbols; a few help much where equal symbols matter."""
    feature_width: int = bounded(1, low=1, most=64)
    """Size of the features of pairs of symbols, as a multiple of `encoder.dim`; the paper's models have 2 or 4."""
    feature_dropout: float = bounded(0.1, low=0, high=1)
    """Dropout rate of pair features: share of the features of pairs of symbols that are dropped in training."""
    em: float = bounded(1.0, low=0, most=1e6)
    """EM loss weight, over positive pairs."""
    em_weighting: Weighting = "cell"
    """Weight of the cells in the EM loss; cell: all alike, as in the paper; posterior: by the probability that a cell
    is visited, as in textbook EM."""
    non_match: float = bounded(1.0, low=0, most=1e6)
    """Non-match loss weight, over negative pairs."""
    match: float = bounded(1.0, low=0, most=1e6)
    """Binary cross-entropy weight."""
    distortion: float = bounded(0.0, low=0, most=1e6)
    """Weight of the interpretability loss."""
    reduction: Reduction = "ours"
    """What the losses of a pair are: ours, means over cells but for the sum of the interpretability loss; code, all
    means, as in the paper's code; printed, all sums, as in the paper."""
    train: TrainConfig = TrainConfig()
    """Training hyperparameters: how the network is trained."""


NETWORK_SETTINGS = {field.name for field in fields(MatcherConfig)} - {field.name for field in fields(OddsConfig)}
"""Settings of a network: without one the Matcher is one in odds form; how long either trains says nothing."""


class MatcherTask(LabelledTask):
    """Matcher task: the weighted terms of its loss, and log alpha."""

    network: MatcherNetwork
    config: MatcherConfig

    def pair_losses(self, batch: PairBatch) -> PerPair:
        """See `PairTask.pair_losses`."""
        return matcher_loss(self.network, self.config, batch)

    def validation_scores(self) -> np.ndarray:
        """See `LabelledTask.validation_scores`."""
        return match_log_probs(self.network, self.validation, self.device)


def matcher_loss(network: MatcherNetwork, config: MatcherConfig, batch: PairBatch) -> PerPair:
    """Matcher loss, the weighted terms per pair: EM counts positive pairs only, non-match negative ones."""
    scores = network(*batch.sides)
    lattice, cells = lattice_of(scores, *batch.lengths), real_cells(*batch.lengths, scores.non_match)
    positive, reduction = batch.labels.to(lattice.log_prob.dtype), config.reduction
    total = config.match * match_loss(lattice.log_prob, batch.labels)
    if config.em:
        em = em_loss(scores.arcs, lattice, cells, weighting=config.em_weighting, reduction=reduction)
        total = total + config.em * positive * em
    if config.non_match:
        non_match = non_match_loss(scores.non_match, cells, reduction=reduction)
        total = total + config.non_match * (1 - positive) * non_match
    if config.distortion:
        total = total + config.distortion * distortion_loss(lattice, *batch.lengths, cells, reduction=reduction)
    return total


def match_lattices(
    network: MatcherNetwork, pairs: EncodedPairs, device: torch.device, *, place: Callable[[int], str] = at_place
) -> Iterator[tuple[PairBatch, EditLattice]]:
    """Match lattices of all pairs, in batches."""
    for batch in pairs.batches(place=place):
        here = batch.to(device)
        with torch.no_grad():
            lattice = lattice_of(network(*here.sides), *here.lengths)
        yield here, lattice


def match_log_probs(
    network: MatcherNetwork,
    pairs: EncodedPairs,
    device: torch.device,
    *,
    on_batch: OnBatch = ignore,
    place: Callable[[int], str] = at_place,
) -> np.ndarray:
    """Log alpha_{n,m} of each pair, in order."""
    found = ((batch, lattice.log_prob) for batch, lattice in match_lattices(network, pairs, device, place=place))
    return in_order(found, len(pairs), on_batch=on_batch)


class Matcher(PairModel, LatticeModel):
    """Matcher: a trained network with its vocabularies, its threshold and its calibration.

    The score of a pair is log alpha_{n,m}; pairs at or above the threshold, tuned for F1 on validation pairs, match.

    `fit` without settings of a network makes an `OddsMatcher` instead, which needs seconds.

    `save`, `load`, `device` and `to` are written once for all networks: `NetworkModel`, in `base.py`.
    """

    configs: ClassVar[Mapping[str, type[MatcherConfig]]] = {"matcher": MatcherConfig}
    capabilities = LATTICE_VERBS | {Capability.MATCH, Capability.FINE_TUNE}
    network: MatcherNetwork
    config: MatcherConfig

    @classmethod
    def fit(  # type: ignore[override]  # also makes the other form
        cls,
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        start: "AnyMatcher | None" = None,
        folder: str | Path | None = None,
        on_step: OnStep = ignore,
        on_validation: OnValidation = ignore,
        spent: float = 0.0,
        **settings: Any,
    ) -> "AnyMatcher":
        """Train a Matcher on labelled pairs: in odds form, an `OddsMatcher`, unless settings are of a network.

        These are settings of the encoder or the losses, or `model="matcher"`; both forms have settings of the training.
        A model to `start` from, of either form or a `MatcherMixture`, learns on as what it is. See `NetworkModel.fit`
        for all arguments.
        """
        fit: Callable[..., AnyMatcher] = OddsMatcher.fit
        if isinstance(start, MatcherMixture):
            fit = MatcherMixture.fit
        elif isinstance(start, Matcher) or (start is None and _are_of_network(config, settings)):
            fit = super().fit
        return fit(
            pairs,
            labels,
            validation=validation,
            config=config,
            start=start,
            folder=folder,
            on_step=on_step,
            on_validation=on_validation,
            **({} if isinstance(start, MatcherMixture) else {"spent": spent}),  # its members have minutes each
            **settings,
        )

    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log alpha_{n,m} of each pair, in the order given: 0 is certain to match."""
        known = Pairs.given(pairs, targets)
        if self.languages is not None:
            tell_of_languages(known, self.languages)
        source, rows, of_source = self._encoded(self.tokenizers.source, known.sources, known.source_languages)
        target, columns, of_target = self._encoded(self.tokenizers.target, known.targets, known.target_languages)
        languages = (of_source, of_target)
        scores = bulk_scores(self.network, source, target, (rows, columns), languages=languages, on_batch=on_batch)
        tiny = np.flatnonzero(np.isneginf(scores))  # beyond what a double can hold: as logarithms
        if len(tiny):
            with quiet_about_symbols():  # just said, of all pairs together
                encoded = self.encoded(known.chosen(tiny.tolist()))
            scores[tiny] = match_log_probs(self.network, encoded, self.device, place=placed_in(tiny))
        return column_like(pairs, checked_scores(scores), "score")

    def scoring_kernel(self) -> Choice:
        """See `LatticeModel.scoring_kernel`."""
        return MATCH_SCORES.explain(self.device)

    def own_rules(self) -> RuleTable:
        """See `LatticeModel.own_rules`."""
        return weight_rules(self.network, self.tokenizers)

    def lattices(self, pairs: Pairs) -> Iterator[tuple[PairBatch, EditLattice]]:
        """See `LatticeModel.lattices`."""
        return match_lattices(self.network, self.encoded(pairs), self.device)

    def _encoded(
        self, tokenizer: Tokenizer, texts: Sequence[str], languages: Sequence[str] | None
    ) -> tuple[EncodedStrings, np.ndarray, np.ndarray | None]:
        """Different strings, encoded, each text's row among them, and the numbers of their languages, if any count."""
        column = Texts.of(texts).compacted()
        if self.languages is None:
            return tokenizer.encode(column.different), column.rows, None
        column, given = with_languages(column, [""] * len(texts) if languages is None else languages)
        return tokenizer.encode(column.different), column.rows, np.array(self.languages.encode(given), dtype=np.int64)

    @staticmethod
    def _network(config: MatcherConfig, tokenizers: Tokenizers, languages: Vocabulary | None) -> MatcherNetwork:
        return MatcherNetwork(
            config.encoder,
            source_symbols=len(tokenizers.source.vocabulary),
            target_symbols=len(tokenizers.target.vocabulary),
            shared=config.shared_alphabet,
            categories=0 if languages is None else len(languages),
            interaction=config.interaction,
            feature_dropout=config.feature_dropout,
            feature_width=config.feature_width,
        )

    def _task(self, training: EncodedPairs, validation: EncodedPairs, device: torch.device) -> MatcherTask:
        return MatcherTask(self.network, self.config, training, validation, device)

    def _decision(self, score: float) -> Decision:
        return self.criterion.decision(score)


AnyMatcher: TypeAlias = Matcher | OddsMatcher | MatcherMixture
"""What `Matcher.fit` returns: a network, odds, or a mixture that has learned more."""


def _are_of_network(config: ConfigLike | None, keywords: Mapping[str, Any]) -> bool:
    """Whether settings are of a network: by the kind of model that they name or, if they name none, by their names."""
    if kind := named_kind(config, keywords):
        if kind not in (kinds := (*OddsMatcher.configs, *Matcher.configs)):
            raise ArgumentError("config.model", got=repr(kind), expected=f"one of {', '.join(kinds)}")
        return kind in Matcher.configs
    return any(_is_of_network(name) for name in top_names(config, keywords))


def _is_of_network(name: str) -> bool:
    """Whether a setting is of a network, or would be if it were spelled right: `encoder_dim` for `encoder__dim`."""
    if has_key(OddsConfig, name) or (not has_key(MatcherConfig, name) and probable_key(name, OddsConfig)):
        return False
    meant = name if has_key(MatcherConfig, name) else probable_key(name, MatcherConfig)
    return meant is not None and meant.partition(".")[0] in NETWORK_SETTINGS


def with_languages(texts: Texts, languages: Sequence[str]) -> tuple[Texts, list[str]]:
    """Column whose strings differ where their languages do, and the language of each different one.

    >>> column, languages = with_languages(Texts.of(["die", "die", "do", "die"]), ["de", "en", "en", "de"])
    >>> column.different, column.rows.tolist(), languages
    (['die', 'die', 'do'], [0, 1, 2, 0], ['de', 'en', 'en'])
    """
    known = Texts.of(languages)
    kinds, rows = np.unique(texts.rows * len(known.different) + known.rows, return_inverse=True)
    strings, of_each = np.divmod(kinds, max(1, len(known.different)))
    different = [texts.different[place] for place in strings.tolist()]
    return Texts(different, rows), [known.different[place] for place in of_each.tolist()]
