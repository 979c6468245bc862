"""The Transducer: learns to turn strings into other strings, and says how."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import nn

from nsed.capabilities import Capability
from nsed.config import bounded
from nsed.encoders import EncoderConfig, attending_kinds
from nsed.errors import ArgumentError, ConfigError
from nsed.explain.explanation import Explanation
from nsed.explain.rule_table import RuleTable
from nsed.explain.weight_rules import weight_rules
from nsed.lattice import EditLattice
from nsed.lattice.arcs import turned
from nsed.lattice.lattice import Weighting
from nsed.models.base import Contents
from nsed.models.decoding import DecodingModel, DecodingTask, SearchConfig
from nsed.models.lattice_model import LATTICE_VERBS, LatticeTransducer, ScoredLattices
from nsed.models.settings import ConfigLike, SomeConfig, named_settings, with_recipe
from nsed.networks.losses import Reduction, distortion_loss, em_loss, likelihood_loss, next_symbol_nll, real_cells
from nsed.networks.operations import Incoming, Normalisation, Outgoing, next_symbol_distribution
from nsed.networks.transducer import LatticeDecoder, TransducerNetwork
from nsed.progress import OnBatch, OnStep, OnValidation, ignore
from nsed.registry import Registry
from nsed.text import PairBatch, Pairs, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.pairs import PairsLike
from nsed.train.config import TrainConfig
from nsed.train.distillation import GOLD, NBEST, Teacher, check_teacher, kept_taught_pairs
from nsed.types import REACHABLE, PerPair

NORMALISATIONS: Registry[Normalisation] = Registry("normalisation")
NORMALISATIONS.register("outgoing", Outgoing())
NORMALISATIONS.register("incoming", Incoming())


@dataclass(frozen=True)
class TransducerConfig(SearchConfig):
    """Transducer hyperparameters: what it is made of, how it is trained and how it decodes.

    The defaults are exact mode without attention. Paper mode: `normalisation: incoming`, `attention: true`, weights 1
    for `em` and `next_symbol` and 0 for `likelihood`; with `distortion: 0.1`, `likelihood: 1` compensates.
    """

    model: Literal["transducer"] = "transducer"
    """The kind of model that these settings are for."""
    encoder: EncoderConfig = EncoderConfig()
    """Encoder hyperparameters: how much of its string a symbol knows."""
    normalisation: Literal["outgoing", "incoming"] = "outgoing"
    """Normalisation; outgoing: exact conditional probabilities; incoming: as in the paper."""
    direction: Literal["forward", "backward"] = "forward"
    """Direction; backward: strings are read and written from right to left. Answers are in the usual order."""
    languages: Literal[False, True, "auto"] = "auto"
    """Language embeddings: one Transducer for several languages, from pairs with language columns; auto: where these
    have at least two."""
    attention: bool = False
    """Cross-attention of cells to the whole source; without any attention, the lattice is the only way to targets."""
    target_attention: bool = False
    """Cross-attention of the target's encoder layers to the source; rnn and transformer only."""
    interaction: int = bounded(0, low=0, most=1024)
    """Similarity heads between source and target symbols."""
    feature_width: int = bounded(1, low=1, most=64)
    """Size of the features of pairs of symbols, as a multiple of `encoder.dim`; the paper's models have 2 or 4."""
    feature_dropout: float = bounded(0.1, low=0, high=1)
    """Dropout rate of pair features: share of the features of pairs of symbols that are dropped in training."""
    likelihood: float = bounded(1.0, low=0, most=1e6)
    """Likelihood loss weight: of -log p(target | source)."""
    em: float = bounded(0.0, low=0, most=1e6)
    """EM loss weight."""
    em_weighting: Weighting = "cell"
    """Weight of the cells in the EM loss; cell: all alike, as in the paper; posterior: by the probability that a cell
    is visited, as in textbook EM."""
    next_symbol: float = bounded(0.0, low=0, most=1e6)
    """Next-symbol loss weight; exact mode has no use for it, its likelihood is that."""
    distortion: float = bounded(0.0, low=0, most=1e6)
    """Weight of the interpretability loss."""
    reduction: Reduction = "ours"
    """What the losses of a pair are: ours, the EM loss a mean over cells and the others sums; code, all but the
    likelihood means, as in the paper's code; printed, all sums, as in the paper."""
    train: TrainConfig = TrainConfig()
    """Training hyperparameters: how the network is trained."""

    def __post_init__(self) -> None:
        super().__post_init__()
        faults = self._attention_faults()
        if not self.likelihood + self.em + self.next_symbol:
            faults.append("likelihood, em, next_symbol: got 0, expected one above 0")
        if faults:
            raise ConfigError("TransducerConfig", faults)

    def _attention_faults(self) -> list[str]:
        faults, encoder = [], self.encoder
        if self.target_attention and encoder.kind not in attending_kinds():
            able = ", ".join(attending_kinds())
            faults.append(f"target_attention: got True, expected False with encoder.kind {encoder.kind}; {able} can")
        if (self.attention or self.target_attention) and encoder.dim % encoder.heads:
            faults.append(f"encoder.heads: got {encoder.heads}, expected a divisor of encoder.dim ({encoder.dim})")
        return faults


class TransducerTask(DecodingTask):
    """Transducer task: the weighted terms of its loss."""

    network: TransducerNetwork
    config: TransducerConfig

    def pair_losses(self, batch: PairBatch) -> PerPair:
        """See `PairTask.pair_losses`."""
        return transducer_loss(self.network, self.config, batch)

    @property
    def decoder(self) -> LatticeDecoder:
        """See `DecodingTask.decoder`."""
        return LatticeDecoder(self.network, NORMALISATIONS[self.config.normalisation])

    def parts(self) -> Iterable[tuple[LatticeDecoder, EncodedPairs]]:
        """See `DecodingTask.parts`: a part for each language."""
        normalisation, languages = NORMALISATIONS[self.config.normalisation], self.validation.languages
        if not languages.shape[1]:
            return [(self.decoder, self.validation)]
        return [
            (LatticeDecoder(self.network, normalisation, number), self.validation.chosen(rows))
            for number in np.unique(languages).tolist()
            if len(rows := np.flatnonzero(languages[:, 0] == number))
        ]


def transducer_loss(network: TransducerNetwork, config: TransducerConfig, batch: PairBatch) -> PerPair:
    """Transducer loss: the weighted terms, per pair."""
    encoded = network.encode(batch.source, batch.source_lengths, batch.category)
    scores = network(encoded, batch.target, batch.target_lengths)
    arcs, end = NORMALISATIONS[config.normalisation].normalise(scores, batch.target, batch.lengths)
    lattice = EditLattice(*arcs, *batch.lengths, validate=False)
    cells, reduction = real_cells(*batch.lengths, arcs.delete), config.reduction
    total = torch.zeros_like(lattice.log_prob)
    if config.likelihood:
        total = total + config.likelihood * likelihood_loss(lattice.log_prob + end)
    if config.em:
        em = em_loss(arcs, lattice, cells, weighting=config.em_weighting, reduction=reduction)
        total = total + config.em * em
    if config.next_symbol:
        distribution = next_symbol_distribution(scores, lattice.log_alpha, batch.source_lengths)
        nll = next_symbol_nll(distribution, batch.target, batch.target_lengths, reduction=reduction)
        total = total + config.next_symbol * nll
    if config.distortion:
        total = total + config.distortion * distortion_loss(lattice, *batch.lengths, cells, reduction=reduction)
    return total


class Transducer(DecodingModel, LatticeTransducer):
    """Transducer: a trained network with its vocabularies.

    In exact mode scores are exact: over all targets of a source, their probabilities sum to one. Validation sources
    that are also learned from do not count in training.

    `fit`, `save`, `load`, `device` and `to` are written once for all networks: `NetworkModel`, in `base.py`.
    """

    configs: ClassVar[Mapping[str, type[TransducerConfig]]] = {"transducer": TransducerConfig}
    capabilities = LATTICE_VERBS | {Capability.TRANSDUCE, Capability.SAMPLE, Capability.FINE_TUNE}
    network: TransducerNetwork
    config: TransducerConfig
    language: str | None = None
    """Language of sources and pairs that do not say theirs: see `for_language`."""

    @classmethod
    def plan(
        cls, config: SomeConfig, named: Collection[str] | None, pairs: Pairs, validation: Pairs | None
    ) -> SomeConfig:
        """See `NetworkModel.plan`: symbols, a recipe for what is not named, and whether languages count."""
        planned = with_recipe(super().plan(config, named, pairs, validation), named, pairs.positives(), validation)
        if not isinstance(planned, TransducerConfig) or planned.languages != "auto":
            return planned
        told = validation is None or validation.languages is not None
        known = _named_languages(pairs) if told else set()
        if len(known) < 2:
            return replace(planned, languages=False)
        reason = "; ".join(filter(None, [planned.train.recipe, f"a vector for each of {len(known)} languages"]))
        return replace(planned, languages=True, train=replace(planned.train, recipe=reason))

    def for_language(self, language: str) -> "Transducer":
        """The same Transducer, of several languages, for one of them: what does not say its language is of this one.

        A language is named as in `Pairs.languages`. Saved, the model stays for it. Raises `ArgumentError` for one that
        it has not learned.
        """
        known = () if self.languages is None else self.languages.symbols
        if language not in known:
            expected = f"one of {', '.join(known)}" if known else "none: this model was trained without languages"
            raise ArgumentError("language", got=repr(language), expected=expected)
        chosen = copy(self)
        chosen.language = language
        return chosen

    @property
    def fine_tuning_settings(self) -> TransducerConfig:
        """See `NetworkModel.fine_tuning_settings`; whether languages count is decided."""
        settings = super().fine_tuning_settings
        assert isinstance(settings, TransducerConfig)
        return replace(settings, languages=self.languages is not None)

    def language_numbers(self, languages: Sequence[str] | None, count: int) -> np.ndarray | None:
        """See `DecodingModel.language_numbers`; an empty name is of the language of the model, if any.

        Raises `ArgumentError` where languages are needed, and neither the pairs nor the model have them.
        """
        if self.languages is None:
            return None
        if languages is None and self.language is None:
            known = ", ".join(self.languages.symbols)
            expected = (
                "one for each, a column source_language or transduce(..., languages=...), "
                f"or one for all: model.for_language(...), --language; known: {known}"
            )
            raise ArgumentError("language", got="none", expected=expected)
        named = [""] * count if languages is None else languages
        named = named if self.language is None else [one or self.language for one in named]
        return np.array(self.languages.encode(named), dtype=np.int64).reshape(count, 1)

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`."""
        made = super().contents(half=half)
        return made if self.language is None else made._replace(record={**made.record, "language": self.language})

    @classmethod
    def _restored(cls, network: nn.Module, tokenizers: Tokenizers, config: Any, **others: Any) -> "Transducer":
        language = others["record"].pop("language", None)
        if config.languages == "auto":  # of a model that was saved before there was this setting
            config = replace(config, languages=others["languages"] is not None)
        model = super()._restored(network, tokenizers, config, **others)
        return model if language is None else model.for_language(language)

    def _explained(self, pair: Pairs, scripts: int) -> Explanation:
        named = self.languages and pair.languages
        return super(Transducer, self.for_language(named[0]) if named else self)._explained(pair, scripts)

    @classmethod
    def _alphabets(cls, pairs: Pairs, config: Any) -> tuple[Tokenizers, Vocabulary | None]:
        tokenizers, _ = super()._alphabets(pairs, config)
        return tokenizers, Vocabulary.of(_languages_of(pairs)) if config.languages is True else None

    def _more_alphabets(self, pairs: Pairs, config: Any) -> tuple[Tokenizers, Vocabulary | None]:
        tokenizers, _ = super()._more_alphabets(pairs, config)
        return tokenizers, self.languages and self.languages.extended(_languages_of(pairs))

    def _identity(self) -> tuple[Vocabulary | None, ...]:
        return (*super()._identity(), *([self.languages] if self.languages else []))

    @classmethod
    def distill(
        cls,
        pairs: PairsLike,
        *,
        teacher: Teacher,
        words: Iterable[str] = (),
        nbest: int = NBEST,
        gold: float = GOLD,
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        start: "Transducer | None" = None,
        folder: str | Path | None = None,
        on_step: OnStep = ignore,
        on_validation: OnValidation = ignore,
        on_batch: OnBatch = ignore,
        **settings: Any,
    ) -> "Transducer":
        """Train a student on a teacher's n-best targets, weighted by their probabilities: see `taught_pairs`.

        The teacher, say a mixture, answers for the words of the pairs and for `words`, whose targets nobody knows. It
        is validated with known targets only, whose words are not learned. With `start`, a trained model learns the
        rest in less time. For what else there is see `fit`; `on_batch` is told how many words the
        teacher has answered.

        A student is of one language, as its teacher's answers are. Raises `ArgumentError` for pairs of several, unless
        `languages` is False, and for a teacher of several that is for none of them.
        """
        check_teacher(teacher)
        resolved = cls._settings(config, settings, start)
        assert isinstance(resolved, TransducerConfig)
        known, given = Pairs.of(pairs), None if validation is None else Pairs.of(validation)
        resolved = replace(resolved, languages=_without_languages(resolved.languages, known))
        resolved = cls.plan(resolved, None if start else named_settings(config, settings), known, given)
        training, checked = cls._split(known, given, seed=resolved.train.seed)
        apart = {*checked.sources} - {*training.sources}
        asked = [word for word in words if word not in apart]
        options = {"nbest": nbest, "gold": gold, "on_batch": on_batch}
        return cls.fit(
            kept_taught_pairs(folder, teacher, training, asked, **options),
            validation=checked,
            config=resolved,
            start=start,
            folder=folder,
            on_step=on_step,
            on_validation=on_validation,
        )

    def own_rules(self) -> RuleTable:
        """See `LatticeModel.own_rules`."""
        if self.languages is not None:
            self._refuse("rules that hold in all its languages")
        return weight_rules(self.network, self.tokenizers)

    @property
    def decoder(self) -> LatticeDecoder:
        """See `SearchModel.decoder`."""
        numbers = self.language_numbers(None, 1)
        category = None if numbers is None else int(numbers[0, 0])
        return LatticeDecoder(self.network, NORMALISATIONS[self.config.normalisation], category)

    @property
    def backward(self) -> bool:
        """See `SearchModel.backward`."""
        return self.config.direction == "backward"

    def _scored(self, pairs: Pairs) -> Iterator[ScoredLattices]:
        return self.scored(self.encoded(pairs, kin=True))

    def scored(self, pairs: EncodedPairs) -> Iterator[ScoredLattices]:
        """Scored lattices of encoded pairs, which are in the model's direction; the lattices are in the usual one."""
        normalisation = NORMALISATIONS[self.config.normalisation]
        for batch in pairs.batches():
            here = batch.to(self.device)
            with torch.no_grad():
                encoded = self.network.encode(here.source, here.source_lengths, here.category)
                scores = self.network(encoded, here.target, here.target_lengths)
                arcs, end = normalisation.normalise(scores, here.target, here.lengths)
                lattice = EditLattice(*(turned(arcs, *here.lengths) if self.backward else arcs), *here.lengths)
                found = (lattice.log_prob + end).double().cpu().numpy()
            yield here, lattice, np.where(found <= REACHABLE, -np.inf, found)

    @staticmethod
    def _network(config: TransducerConfig, tokenizers: Tokenizers, languages: Vocabulary | None) -> TransducerNetwork:
        return TransducerNetwork(
            config.encoder,
            source_symbols=len(tokenizers.source.vocabulary),
            target_symbols=len(tokenizers.target.vocabulary),
            attention=config.attention,
            target_attention=config.target_attention,
            interaction=config.interaction,
            feature_dropout=config.feature_dropout,
            feature_width=config.feature_width,
            categories=len(languages) if languages else 0,
        )

    def _task(self, training: EncodedPairs, validation: EncodedPairs, device: torch.device) -> TransducerTask:
        return TransducerTask(self.network, self.config, training, validation, device)


def _languages_of(pairs: Pairs) -> list[str]:
    """Languages of pairs. Raises `ArgumentError` if nothing is known of them."""
    if pairs.languages is None:
        expected = "pairs with source_languages or target_languages, for `languages: true`"
        raise ArgumentError("pairs", got="no languages", expected=expected)
    return pairs.languages


def _named_languages(pairs: Pairs) -> set[str]:
    """Different languages that pairs name; an empty cell names none."""
    return {*(pairs.languages or ())} - {""}


def _without_languages(wanted: Literal[False, True, "auto"], pairs: Pairs) -> Literal[False]:
    """The setting `languages` of a student. Raises `ArgumentError` where it, or the pairs, want several."""
    named = sorted(_named_languages(pairs))
    if not wanted or (wanted == "auto" and len(named) < 2):
        return False
    got = f"pairs of {len(named)} ({', '.join(named)})" if len(named) > 1 else "true"
    advice = (
        "Give the pairs of one language, and a teacher of it or teacher.for_language(...); "
        "or all as if they were of one, with languages=False, --set languages=false"
    )
    raise ArgumentError("languages", got=got, expected="one: a student is of one language", advice=advice)
