"""Model base classes, what a user holds: settings, fit, save, load, device, and capabilities."""

import logging
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, NoReturn, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from nsed.capabilities import Capability
from nsed.config import from_mapping, shown
from nsed.errors import ArgumentError, NotExplainableError, NsedError
from nsed.explain.explanation import Explanation
from nsed.models.persistence import read_kind, restored
from nsed.models.settings import (
    ConfigLike,
    SomeConfig,
    check_unchanged,
    fine_tuning_config,
    named_settings,
    resolve_settings,
)
from nsed.progress import OnBatch, OnStep, OnValidation, ignore
from nsed.text import EditScript, Links, Pairs, StringConfig, Tokenizers, Vocabulary, choose_symbols
from nsed.text.batch import EncodedPairs, check_cells
from nsed.text.columns import Column
from nsed.text.pairs import PairsLike
from nsed.train.checkpoint import hash_of_model
from nsed.train.config import NetworkConfig
from nsed.train.run_folder import RunFolder
from nsed.train.saved_model import (
    SavedModel,
    check_weights,
    grow_into,
    holds_another,
    put_weights,
    weights_of,
    write_model,
)
from nsed.train.strategy import checked_device, strategy_for
from nsed.train.task import PairTask
from nsed.train.trainer import Trainer, run_training, save_finished, sole_training

SomeModel = TypeVar("SomeModel", bound="Model")
SomeNetworkModel = TypeVar("SomeNetworkModel", bound="NetworkModel")


class Contents(NamedTuple):
    """Model state: what a model consists of beside its settings."""

    vocabularies: Mapping[str, Vocabulary] = {}
    tensors: Mapping[str, Tensor] = {}
    record: Mapping[str, Any] = {}
    """Metadata as plain values: thresholds, and what training has to tell."""


def checked_scores(scores: np.ndarray) -> np.ndarray:
    """The same scores. Raises `NsedError` where one of them is NaN, as of weights near the largest number there is."""
    if np.isnan(scores).any():
        reason = "its weights are damaged, or too large to compute with"
        raise NsedError(f"a score of the model is not a number (NaN): {reason}; train or copy it again")
    return scores


def checked_start(start: SomeModel, kinds: Collection[str]) -> SomeModel:
    """The model to start from, of one of these kinds. Raises `ArgumentError` for others, and for the name of one."""
    if isinstance(start, Model):
        if start.kind in kinds:
            return start
        raise ArgumentError("start", got=f"a model of kind {start.kind!r}", expected=f"one of kind {', '.join(kinds)}")
    raise ArgumentError("start", got=shown(start), expected="a trained model, as nsed.load reads it from its folder")


class Model(ABC):
    """Model base class: strings in, answers out. A new kind is one file and one line in `models/persistence.py`.

    Verbs mean one thing: `score` a number, `match` a decision, `transduce` strings, `align` an edit script, `explain`
    the evidence. `capabilities` says which of them a model answers. They record nothing for gradients, whether autograd
    is on or off around them, and answer the same.
    """

    configs: ClassVar[Mapping[str, type[StringConfig]]]
    """Config classes of each kind of model that the class makes; the first kind is what it makes by default."""
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    tokenizers: Tokenizers
    """Tokenizers: how sources and targets become symbols, and symbols numbers."""
    config: StringConfig

    @property
    def kind(self) -> str:
        """Model kind, its name in settings and on disk."""
        return self.config.model

    def __repr__(self) -> str:
        source, target = (len(side.vocabulary.symbols) for side in (self.tokenizers.source, self.tokenizers.target))
        symbols = f": {source:,} source and {target:,} target symbols" if source or target else ""
        size = f", {self._size:,} parameters" if self._size else ""
        return f"<{type(self).__name__} {self.kind!r}{symbols}{size}>"

    @property
    def _size(self) -> int:
        """Size of the model: how many numbers its tables or its network have."""
        return sum(tensor.numel() for tensor in self.contents().tensors.values())

    @property
    def coders(self) -> Tokenizers:
        """The old name of `tokenizers`."""
        message = "model.coders is now model.tokenizers; the old name goes with 2.0"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.tokenizers

    @property
    def fine_tuning_settings(self) -> StringConfig:
        """Fine-tuning settings, with which the model learns more unless others are given; raises where it cannot."""
        expected = "none: a model of this kind cannot learn more; a matcher, a transducer or an edit-distance can"
        raise ArgumentError("start", got=f"a model of kind {self.kind!r}", expected=expected)

    @abstractmethod
    def contents(self, *, half: bool = False) -> Contents:
        """Model state: all that is saved beside the settings; `half` (precision) is for models with a network."""

    @classmethod
    @abstractmethod
    def from_saved(cls: type[SomeModel], saved: SavedModel) -> SomeModel:
        """Model restored from what is on disk."""

    def save(self, path: str | Path, *, half: bool = False) -> None:
        """Write the model to a folder; `half` precision takes half the space and changes scores a little.

        Another model that is there is replaced, and what its training left beside it (settings, provenance, curves) is
        removed.
        """
        given: object = path  # whatever the caller has
        if not isinstance(given, str | PathLike):
            raise ArgumentError("path", got=shown(given), expected="the folder to write the model to")
        made = SavedModel(self.kind, asdict(self.config), *self.contents(half=half))
        is_replaced = holds_another(Path(path), made)
        write_model(path, made)
        if is_replaced:
            RunFolder(Path(path)).forget()

    @classmethod
    def load(cls: type[SomeModel], path: str | Path) -> SomeModel:
        """Read a model from the folder that `save` wrote."""
        model: SomeModel = restored(path, cls, read_kind(path, *cls.configs))
        return model

    @classmethod
    def saved_config(cls, saved: SavedModel) -> StringConfig:
        """Config on disk, checked."""
        return from_mapping(cls.configs[saved.kind], saved.config, where="saved config")

    def align(self, source: str, target: str) -> EditScript:
        """Alignment: the most probable edit operations (Viterbi path) that turn the source into the target."""
        return self.align_all([(source, target)])[0]

    def align_all(
        self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore
    ) -> list[EditScript]:
        """Alignments: the edit script of each pair, in order. Raises `NotExplainableError` where there are none."""
        self._refuse("edit operations")

    def links(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> list[Links]:
        """Alignment links, which source symbol became which target symbol. Raises `NotExplainableError` without any."""
        self._refuse("alignments")

    def explain(self, source: str, target: str, *, scripts: int = 3) -> Explanation:
        """Explanation: the evidence for the answer to one pair. Raises `NotExplainableError` where there is none."""
        return next(self.explain_all([(source, target)], scripts=scripts))

    def explain_all(self, pairs: PairsLike, *, scripts: int = 3) -> Iterator[Explanation]:
        """Explanations of each pair, with up to so many scripts, one after the other."""
        self._refuse("edit operations")

    def _refuse(self, what: str) -> NoReturn:
        raise NotExplainableError(f"a model of kind {self.kind!r} has no {what} to show")


class NetworkModel(Model):
    """A model with a network, trained by gradient descent. Abstract: a model adds network, task and verbs."""

    config: NetworkConfig
    validation_metric: ClassVar[str]
    """Model selection metric: the number of a validation that decides which weights are best."""
    usable_early: ClassVar[bool] = False
    """Whether the network alone can be used, with nothing tuned after training, and is saved while it learns."""
    holds_out_always: ClassVar[bool] = False
    """Whether pairs are held out to tune by where a trained model learns more, too."""

    def __init__(
        self,
        network: nn.Module,
        tokenizers: Tokenizers,
        config: NetworkConfig,
        *,
        languages: Vocabulary | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        self.network = network.eval().requires_grad_(False)
        self.tokenizers, self.config, self.languages = tokenizers, config, languages
        self.record = dict(record or {})
        """What training has to tell: steps, scores, sizes."""

    @staticmethod
    @abstractmethod
    def _network(config: Any, tokenizers: Tokenizers, languages: Vocabulary | None) -> nn.Module:
        """Untrained network."""

    @abstractmethod
    def _task(self, training: EncodedPairs, validation: EncodedPairs, device: torch.device) -> PairTask:
        """Training task of the network, which is on that device."""

    @classmethod
    @abstractmethod
    def _split(cls, pairs: Pairs, validation: PairsLike | None, *, seed: int) -> tuple[Pairs, Pairs]:
        """Train/validation split, held out where there are no validation pairs; raises where they will not do."""

    @classmethod
    def fit(
        cls: type[SomeNetworkModel],
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: PairsLike | None = None,
        config: ConfigLike | None = None,
        start: SomeNetworkModel | None = None,
        folder: str | Path | None = None,
        on_step: OnStep = ignore,
        on_validation: OnValidation = ignore,
        spent: float = 0.0,
        **settings: Any,
    ) -> SomeNetworkModel:
        """Train on pairs; without validation pairs, a twentieth of the sources (at most 2,000) is held out for it.

        Of labelled pairs that is a twentieth of each label.

        The settings are a config, a mapping or the path of a YAML file, and keywords that go over it: `beam=10,
        encoder__dim=128, train__steps=2000`. A Transducer without any, or with keywords only, takes the others from a
        recipe for so many pairs of that length, see `nsed.train.config`; `config.train.recipe` says it in a line.

        With a folder, the training saves itself there, at validations and every minute, goes on from there if
        interrupted, and leaves settings, curves and the model there in the end.

        With `start`, a trained model learns more: it gains the symbols (and languages) that are new to it, and by
        default (see `fine_tuning_config`) learns slowly and until all is right. Without validation pairs, nothing is
        held out then, and what was tuned on such pairs stays.

        Seconds that are `spent` already, say on loading this package, count among `train.minutes`.
        """
        begun, known = time.monotonic() - spent, Pairs.of(pairs, labels)
        given, named = None if validation is None else Pairs.of(validation), named_settings(config, settings)
        resolved = cls.plan(cls._settings(config, settings, start), None if start else named, known, given)
        for note in filter(None, (resolved.symbols_note, resolved.train.recipe)):
            logging.getLogger("nsed").info(note)
        held_out = start is None or given is not None or cls.holds_out_always
        data = cls._split(known, given if held_out else known, seed=resolved.train.seed)
        model = start._extended(data[0], resolved) if start else cls._untrained(data[0], resolved)
        strategy = strategy_for(resolved.train)
        model.network.to(strategy.device).requires_grad_(True)
        encode = model._validated if held_out else model._checked
        validated = encode(data[1], given or known, "validation" if given else "pairs")
        task = model._task(model._checked(data[0], known), validated, strategy.device)
        with sole_training(folder, strategy, threads=resolved.train.threads):
            trainer = run_training(
                task,
                resolved,
                data,
                strategy,
                folder=folder,
                on_step=on_step,
                on_validation=on_validation,
                start=hash_of_model(start.network, start._identity()) if start else "",
                spent=time.monotonic() - begun,
                save_early=model._save_early if model.usable_early else None,
            )
            if not held_out:
                _tell_of_unlearned(trainer, task)
            return save_finished(model._finished(trainer, task if held_out else None), folder, strategy)

    @classmethod
    def plan(
        cls, config: SomeConfig, named: Collection[str] | None, pairs: Pairs, validation: Pairs | None
    ) -> SomeConfig:
        """Settings with what follows from the pairs: symbols, say, in the place of `auto`.

        The settings that were given one by one are `named`, see `named_settings`.
        """
        return choose_symbols(config, pairs)

    def _checked(self, pairs: Pairs, given: Pairs, name: str = "pairs") -> EncodedPairs:
        """Encoded pairs, none too long to train with; an error names the row in what was given, before the split."""
        encoded, most = self.encoded(pairs), self.config.train.max_cells
        check_cells(
            encoded.source.lengths + 1,
            encoded.target.lengths + 1,
            most,
            name=name,
            place=lambda pair: given.row_of((pairs.sources[pair], pairs.targets[pair])),
            advice="Shorten or leave out this pair, or raise train.max_cells: a cell takes up to 10 kB of memory.",
        )
        return encoded

    def _validated(self, pairs: Pairs, given: Pairs, name: str) -> EncodedPairs:
        """Encoded validation pairs, see `_checked`."""
        return self._checked(pairs, given, name)

    def encoded(self, pairs: Pairs) -> EncodedPairs:
        """Encoded pairs, as symbol numbers; one warning names all symbols that are new (out of vocabulary)."""
        return EncodedPairs(*self.tokenizers.encode(pairs))

    @property
    def fine_tuning_settings(self) -> NetworkConfig:
        """See `Model.fine_tuning_settings`: slow and small steps, see `fine_tuning_config`."""
        if Capability.FINE_TUNE not in self.capabilities:
            super().fine_tuning_settings  # noqa: B018  # raises
        return fine_tuning_config(self.config)

    def contents(self, *, half: bool = False) -> Contents:
        """See `Model.contents`."""
        languages = {} if self.languages is None else {"languages": self.languages}
        return Contents(self.tokenizers.vocabularies | languages, weights_of(self.network, half=half), self.record)

    @classmethod
    def from_saved(cls: type[SomeNetworkModel], saved: SavedModel) -> SomeNetworkModel:
        """See `Model.from_saved`; weights of any float type become float32."""
        config = cls.saved_config(saved)
        tokenizers, languages = Tokenizers.of(config, saved.vocabularies), saved.vocabularies.get("languages")
        with torch.device("meta"):  # takes no memory, whatever the settings say
            check_weights(cls._network(config, tokenizers, languages), saved.tensors)
        network = cls._network(config, tokenizers, languages)
        put_weights(network, saved.tensors)
        return cls._restored(network, tokenizers, config, languages=languages, record=dict(saved.record))

    @classmethod
    def _restored(
        cls: type[SomeNetworkModel], network: nn.Module, tokenizers: Tokenizers, config: Any, **others: Any
    ) -> SomeNetworkModel:
        """Model from its parts; `record` has everything that was saved in it."""
        return cls(network, tokenizers, config, **others)

    @property
    def _size(self) -> int:
        return sum(parameter.numel() for parameter in self.network.parameters())

    @property
    def device(self) -> torch.device:
        """Device where the network lives."""
        return next(self.network.parameters()).device

    def to(self: SomeNetworkModel, device: str | torch.device) -> SomeNetworkModel:
        """Move the network to a device, cpu, cuda, cuda:1, ..., and return the model itself."""
        self.network.to(checked_device(device))
        return self

    @classmethod
    def _settings(
        cls, config: ConfigLike | None, keywords: Mapping[str, Any], start: SomeNetworkModel | None
    ) -> NetworkConfig:
        suggested = None if start is None else checked_start(start, cls.configs).fine_tuning_settings
        resolved = resolve_settings(cls.configs, config, keywords, suggested=suggested)
        assert isinstance(resolved, NetworkConfig)
        return resolved

    @classmethod
    def _untrained(cls: type[SomeNetworkModel], pairs: Pairs, config: NetworkConfig) -> SomeNetworkModel:
        tokenizers, languages = cls._alphabets(pairs, config)
        torch.manual_seed(config.train.seed)
        return cls(cls._network(config, tokenizers, languages), tokenizers, config, languages=languages)

    @classmethod
    def _alphabets(cls, pairs: Pairs, config: NetworkConfig) -> tuple[Tokenizers, Vocabulary | None]:
        """Alphabets: the symbols, and perhaps the languages, of the training pairs."""
        return Tokenizers.learned(config, pairs, min_count=config.min_count), None

    def _more_alphabets(self, pairs: Pairs, config: NetworkConfig) -> tuple[Tokenizers, Vocabulary | None]:
        """Alphabets extended by those of more pairs; what has a number keeps it."""
        return self.tokenizers.extended(pairs, min_count=config.min_count), None

    def _extended(self: SomeNetworkModel, pairs: Pairs, config: NetworkConfig) -> SomeNetworkModel:
        """Copy with an extended vocabulary: it knows the symbols and languages of these pairs too, to learn more."""
        check_unchanged(self.config, config)
        tokenizers, languages = self._more_alphabets(pairs, config)
        network = self._network(config, tokenizers, languages)
        grow_into(network, self.network)
        return self._with(network, tokenizers, config, languages)

    def _with(
        self: SomeNetworkModel,
        network: nn.Module,
        tokenizers: Tokenizers,
        config: NetworkConfig,
        languages: Vocabulary | None,
    ) -> SomeNetworkModel:
        """Copy that has these parts, and the rest from this model."""
        return type(self)(network, tokenizers, config, languages=languages)

    def _save_early(self, folder: Path, trainer: Trainer) -> None:
        """Save the model as it is in the middle of its training, which its record says."""
        with trainer.updates.average.in_use():
            steps = trainer.record if trainer.validations else {"steps": trainer.step}
            contents = self.contents()
            contents = contents._replace(record={**contents.record, **steps, "unfinished": True})
            write_model(folder, SavedModel(self.kind, asdict(self.config), *contents))

    def _finished(self: SomeNetworkModel, trainer: Trainer, task: PairTask | None) -> SomeNetworkModel:
        """Model after training; the task has held-out pairs, unless there were none."""
        return type(self)(self.network, self.tokenizers, self.config, languages=self.languages, record=trainer.record)

    def _identity(self) -> tuple[Vocabulary | None, ...]:
        """Model identity beside its weights, for checkpoints."""
        return tuple(self.tokenizers.vocabularies.values())


def _tell_of_unlearned(trainer: Trainer, task: PairTask) -> None:
    """Say that learning more ended with pairs wrong, and which setting goes on longer."""
    if trainer.best == float(task.higher_is_better):
        return
    ended = "train.patience" if trainer.schedule.exhausted else "train.minutes"
    ended = ended if trainer.step < trainer.config.steps else "train.steps"
    now = getattr(trainer.config, ended.removeprefix("train."))
    message = f"not all pairs are learned: {task.metric} {trainer.best:.4f} on the pairs themselves; a larger {ended}"
    logging.getLogger("nsed").warning(f"{message} (now {now}) goes on longer")
