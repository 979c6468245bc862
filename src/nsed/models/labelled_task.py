"""Training on labelled pairs: any loss per pair, and F1 on validation pairs."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor, nn

from nsed.evaluate import best_threshold
from nsed.models.labelled_config import LabelledConfig
from nsed.models.match_data import MatchData
from nsed.text import PairBatch
from nsed.text.batch import PairTable
from nsed.train.task import SLICE_CELLS, Batch, Task
from nsed.types import PerPair


class LabelledTask(Task):
    """Labelled pairs, for training and for validation. Abstract: a model has its loss and its scores."""

    metric, higher_is_better = "f1", True

    def __init__(
        self,
        network: nn.Module,
        config: LabelledConfig,
        training: MatchData,
        validation: MatchData,
        device: torch.device,
    ) -> None:
        self.network, self.config, self.device = network, config, device
        self.training, self.validation = training, validation
        self.most_cells = SLICE_CELLS[device.type]
        self._pairs = PairTable(training.source, training.target, device)
        self._extra = torch.from_numpy(training.labels).to(device), torch.from_numpy(training.languages).to(device)

    @property
    def sizes(self) -> np.ndarray:
        """See `Task.sizes`."""
        return self._pairs.sizes

    def widths(self, rows: np.ndarray, *, multiple: int = 1) -> tuple[int, int]:
        """See `Task.widths`."""
        return self._pairs.widths(rows, multiple=multiple)

    def batch(self, rows: Int[Tensor, " batch"], widths: tuple[int, ...]) -> Batch:
        """See `Task.batch`."""
        return (*self._pairs.batch(rows, widths), *(extra[rows] for extra in self._extra))

    def loss(self, batch: Batch) -> Tensor:
        """See `Task.loss`."""
        *pairs, labels, languages = batch
        return self.pair_losses(PairBatch(*pairs), labels, languages).mean()

    @abstractmethod
    def pair_losses(
        self, batch: PairBatch, labels: Bool[Tensor, " batch"], languages: Int[Tensor, "batch sides"]
    ) -> PerPair:
        """The loss of each pair."""

    @abstractmethod
    def validation_scores(self) -> np.ndarray:
        """The score of each validation pair, in order."""

    def validate(self) -> Mapping[str, float]:
        """F1 at the best threshold. Paper: section 3.1."""
        best = best_threshold(self.validation_scores(), self.validation.labels)
        return {"f1": best.f1, "precision": best.precision, "recall": best.recall}
