"""What every model of labelled pairs has in common: how it learns, decides, promises probabilities, and is kept."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar, TypeVar

import numpy as np
import torch
from torch import nn

from nsed.config import from_mapping
from nsed.errors import ArgumentError
from nsed.evaluate.calibration import Calibration, fit_calibration
from nsed.evaluate.matching import tuned_threshold
from nsed.models.labelled_config import LabelledConfig
from nsed.models.labelled_task import LabelledTask
from nsed.models.match_data import MatchData, languages_of, match_data
from nsed.models.matcher_config import MatcherConfig
from nsed.models.persistence import read_kind
from nsed.networks.weights import grow_into, put_weights, weights_of
from nsed.progress import OnBatch, OnStep, OnValidation, ignore
from nsed.text import Coders, Pairs, Vocabulary
from nsed.text.pairs import PairsLike
from nsed.train.fine_tuning import check_unchanged, fine_tuning_config, hash_of_model
from nsed.train.fitting import finished, trained
from nsed.train.saved_model import SavedModel, write_model
from nsed.train.split import labelled_split
from nsed.train.strategy import crew_of
from nsed.train.trainer import Trainer

Model = TypeVar("Model", bound="Decider")


class Decider(ABC):
    """A network with its vocabularies, its threshold and its calibration.

    The score of a pair is at most 0, which is certain to match; pairs at or above the threshold, tuned for F1 on
    validation pairs, match. Abstract: a model adds its network, the task it is trained by, and its scores.
    """

    configs: ClassVar[Mapping[str, type[LabelledConfig]]]
    """The settings of each kind of model that the class makes; the first kind is what it makes by default."""

    def __init__(
        self,
        network: nn.Module,
        coders: Coders,
        config: LabelledConfig,
        *,
        languages: Vocabulary | None = None,
        threshold: float = -0.6931471805599453,
        calibration: Calibration | None = None,
        record: dict[str, object] | None = None,
    ) -> None:
        self.network = network.eval().requires_grad_(False)
        self.coders, self.config, self.threshold, self.languages = coders, config, threshold, languages
        self.calibration = calibration or Calibration(1.0, -threshold)  # even odds at the threshold
        self.record = record or {}
        """What training has to tell: steps, scores."""

    @abstractmethod
    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """The log-probability that each pair matches, in the order given."""

    @staticmethod
    @abstractmethod
    def _network(config: LabelledConfig, coders: Coders, languages: Vocabulary | None) -> nn.Module:
        """The untrained network."""

    @abstractmethod
    def _task(self, training: MatchData, validation: MatchData, device: torch.device) -> LabelledTask:
        """What trains the network, which is on that device."""

    @classmethod
    def fit(
        cls: type[Model],
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: Pairs | None = None,
        config: LabelledConfig | None = None,
        start: Model | None = None,
        folder: str | Path | None = None,
        on_step: OnStep = ignore,
        on_validation: OnValidation = ignore,
    ) -> Model:
        """Learn from labelled pairs; without validation pairs, a twentieth of the sources is held out for it.

        With a folder, the training saves itself there at every validation, goes on from there if interrupted, and
        leaves settings, curves and the model there in the end.

        With `start`, a trained model learns more: it gains the symbols and languages that are new to it, and by default
        (see `fine_tuning_config`) learns slowly and until all is right. Without validation pairs, nothing is held out
        then, and threshold and calibration stay, which a handful of pairs could not tell better.
        """
        config, known = cls._checked(config, start), Pairs.of(pairs, labels)
        checked = known if start and validation is None else validation
        training, held_out = labelled_split(known, checked, seed=config.train.seed)
        model, crew = (
            start._extended(training, config) if start else cls._untrained(training, config),
            crew_of(config.train),
        )
        model.network.to(crew.device).requires_grad_(True)
        task, data = model._task(model._data(training), model._data(held_out), crew.device), (training, held_out)
        trainer = trained(
            task,
            config,
            data,
            crew,
            folder=folder,
            on_step=on_step,
            on_validation=on_validation,
            start=hash_of_model(start, start.languages) if start else "",
        )
        return finished(model._decided(trainer, None if checked is known else task), folder, crew)

    def probability(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Calibrated probability that each pair matches."""
        return self.calibration.probability(self.score(pairs, on_batch=on_batch))

    def match(self, pairs: PairsLike) -> np.ndarray:
        """Whether each pair matches: its score is at least the threshold."""
        return np.asarray(self.score(pairs) >= self.threshold)

    def save(self, path: str | Path, *, half: bool = False) -> None:
        """Write the model to a folder; `half` precision takes half the space and changes scores a little."""
        vocabularies = self.coders.vocabularies
        if self.languages is not None:
            vocabularies["languages"] = self.languages
        record = {**self.record, "threshold": self.threshold, "calibration": list(self.calibration)}
        weights = weights_of(self.network, half=half)
        write_model(path, SavedModel(self.config.model, asdict(self.config), vocabularies, weights, record))

    @classmethod
    def load(cls: type[Model], path: str | Path) -> Model:
        """Read a model from the folder that `save` wrote."""
        return cls.from_saved(read_kind(path, *cls.configs))

    @classmethod
    def from_saved(cls: type[Model], saved: SavedModel) -> Model:
        """The model again, from what is on disk; weights of any float type become float32."""
        config = from_mapping(cls.configs[saved.kind], saved.config, where="saved config")
        coders, languages = Coders.of(config, saved.vocabularies), saved.vocabularies.get("languages")
        network = cls._network(config, coders, languages)
        put_weights(network, saved.tensors)
        record = dict(saved.record)
        decision = {"threshold": record.pop("threshold"), "calibration": Calibration(*record.pop("calibration"))}
        return cls(network, coders, config, languages=languages, **decision, record=record)

    @property
    def device(self) -> torch.device:
        """Where the network lives."""
        return next(self.network.parameters()).device

    def to(self: Model, device: str | torch.device) -> Model:
        """The model itself, its network now on that device: cpu, cuda, cuda:1, ..."""
        self.network.to(device)
        return self

    @classmethod
    def _checked(cls: type[Model], config: LabelledConfig | None, start: Model | None) -> LabelledConfig:
        """The settings, or those for learning more, or the default ones; those of another model are refused."""
        if start is None:
            config = config or next(iter(cls.configs.values()))()
        elif isinstance(start.config, MatcherConfig):
            config = config or fine_tuning_config(start.config)
        else:
            expected = "none: of the models of labelled pairs, only a matcher can learn more"
            raise ArgumentError("start", got=f"a model of kind {start.config.model!r}", expected=expected)
        if config.model not in cls.configs:
            raise ArgumentError("config.model", got=repr(config.model), expected=f"one of {', '.join(cls.configs)}")
        return config

    @classmethod
    def _untrained(cls: type[Model], pairs: Pairs, config: LabelledConfig) -> Model:
        coders = Coders.learned(config, pairs, min_count=config.min_count)
        coders = coders.shared() if config.shared_alphabet else coders
        languages = languages_of(pairs) if config.languages else None
        torch.manual_seed(config.train.seed)
        return cls(cls._network(config, coders, languages), coders, config, languages=languages)

    def _extended(self: Model, pairs: Pairs, config: LabelledConfig) -> Model:
        """A copy that knows the symbols and languages of these pairs too, to be trained further."""
        check_unchanged(self.config, config)
        coders = self.coders.extended(pairs, shared=config.shared_alphabet, min_count=config.min_count)
        languages = self.languages and self.languages.extended(languages_of(pairs).symbols)
        network = self._network(config, coders, languages)
        grow_into(network, self.network)
        return type(self)(
            network, coders, config, languages=languages, threshold=self.threshold, calibration=self.calibration
        )

    def _decided(self: Model, trainer: Trainer, task: LabelledTask | None) -> Model:
        """With threshold and calibration of the best weights on the validation pairs; without these, as they were."""
        threshold, calibration = self.threshold, self.calibration
        self.network.eval()
        if task is not None:
            scores, labels = task.validation_scores(), task.validation.labels
            threshold, calibration = tuned_threshold(scores, labels), fit_calibration(scores, labels)
        return type(self)(
            self.network,
            self.coders,
            self.config,
            languages=self.languages,
            threshold=threshold,
            calibration=calibration,
            record=trainer.record,
        )

    def _data(self, pairs: Pairs) -> MatchData:
        return match_data(pairs, self.coders, self.languages)
