"""Similarities that are computed, not learned: only the threshold and the calibration come from labelled pairs."""

from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import ClassVar

import numpy as np

from nsed.baselines.pair_scorer import UNCALIBRATED, Criterion, PairScorer, labels_of, plain_coders
from nsed.config import from_mapping
from nsed.models.persistence import read_kind
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, StringConfig
from nsed.text.pairs import PairsLike
from nsed.train.saved_model import SavedModel, write_model


class Similarity(PairScorer):
    """A similarity between 0 and 1 of every pair, and the threshold from which on it is a match."""

    settings: ClassVar[type[StringConfig]]
    """The class of its settings."""

    def __init__(self, config: StringConfig, criterion: Criterion) -> None:
        self.config, self.criterion = config, criterion
        self.coders = plain_coders(config)

    @abstractmethod
    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """The similarity of each pair, between 0 and 1."""

    @classmethod
    def fit(
        cls,
        pairs: PairsLike,
        labels: Iterable[object] | None = None,
        *,
        validation: Pairs | None = None,
        config: StringConfig | None = None,
    ) -> "Similarity":
        """Tune threshold (best F1) and calibration on the validation pairs, without any on the training pairs."""
        config, given = config or cls.settings(), Pairs.of(pairs, labels) if validation is None else validation
        known = labels_of(given)
        scores = cls(config, Criterion(0.5, UNCALIBRATED)).score(given)
        return cls(config, Criterion.tuned(scores, known))

    def save(self, path: str | Path) -> None:
        """Write settings, threshold and calibration to a folder."""
        record = {"criterion": self.criterion.record()}
        write_model(path, SavedModel(self.kind, asdict(self.config), {}, {}, record))

    @classmethod
    def load(cls, path: str | Path) -> "Similarity":
        """Read what `save` wrote."""
        return cls.from_saved(read_kind(path, cls.kind))

    @classmethod
    def from_saved(cls, saved: SavedModel) -> "Similarity":
        """The similarity again, from what is on disk."""
        config = from_mapping(cls.settings, saved.config, where="saved config")
        return cls(config, Criterion.of_record(*saved.record["criterion"]))
