"""Tasks: what the trainer needs to know of what it trains, a loss and a validation, and nothing of the model itself."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor, nn

from nsed.text.batch import EncodedPairs, PairBatch, PairTable
from nsed.train.config import NetworkConfig
from nsed.types import PerPair

Batch = tuple[Tensor, ...]
"""Training batch: some pairs as tensors, in whatever form the task's loss needs."""

SLICE_CELLS, MOST_CELLS = {"cpu": 2**15, "cuda": 2**21}, 2**21
"""Slice size in lattice cells whose losses are computed at once: what fits a CPU's cache, or a small GPU's memory, and
the most where cells are cheap."""


class Task(ABC):
    """Training task: a network with its data."""

    network: nn.Module
    metric: str
    """Model selection metric: the number of a validation that decides which model is best."""
    higher_is_better: bool
    most_cells: int | None = None
    """Cells of lattices that are computed at once, about; larger batches are cut into slices, with None never.

    Several devices do without slices.

    The loss of a batch must be the mean over its pairs, so that the gradients of its slices add up to its own.
    """

    training_share: float = 1.0
    """Share of a time budget that is for training; the rest is for what is tuned afterwards."""
    updates_afterwards: int | None = None
    """Updates, at most, of what is tuned afterwards: training has what they need not; None where that is not known."""

    @property
    @abstractmethod
    def sizes(self) -> np.ndarray:
        """Pair sizes: how long each training pair is, for batches of similar length."""

    @abstractmethod
    def widths(self, rows: np.ndarray, *, multiple: int = 1) -> tuple[int, ...]:
        """Padded widths of a batch of these pairs, on each side; a `multiple` of a number, so that few occur."""

    @abstractmethod
    def batch(self, rows: Int[Tensor, " batch"], widths: tuple[int, ...]) -> Batch:
        """Padded batch of these training pairs, of these widths, where the rows and the network are; nothing waits."""

    @abstractmethod
    def loss(self, batch: Batch) -> Tensor:
        """Mean loss of a batch that is on the network's device."""

    @abstractmethod
    def validate(self) -> Mapping[str, float]:
        """Validation metrics, the deciding one among them."""


class PairTask(Task):
    """Training task on pairs of strings. Abstract: a model has its loss per pair and its validation."""

    in_slices = True
    """Microbatching: whether batches are cut into slices that suit the device, or only those that are too large."""

    def __init__(
        self,
        network: nn.Module,
        config: NetworkConfig,
        training: EncodedPairs,
        validation: EncodedPairs,
        device: torch.device,
    ) -> None:
        self.network, self.config, self.device = network, config, device
        self.training, self.validation = training, validation
        self.most_cells = SLICE_CELLS[device.type] if self.in_slices else MOST_CELLS
        self._pairs = PairTable(training, device)
        weights = training.weights
        self._weights = None if weights is None else torch.from_numpy(weights / weights.mean()).float().to(device)

    @property
    def sizes(self) -> np.ndarray:
        """See `Task.sizes`."""
        return self.training.sizes

    def widths(self, rows: np.ndarray, *, multiple: int = 1) -> tuple[int, int]:
        """See `Task.widths`."""
        return self._pairs.widths(rows, multiple=multiple)

    def batch(self, rows: Int[Tensor, " batch"], widths: tuple[int, ...]) -> Batch:
        """See `Task.batch`."""
        return self._pairs.batch(rows, widths)

    def loss(self, batch: Batch) -> Tensor:
        """See `Task.loss`."""
        made = PairBatch(*batch)
        losses = self.pair_losses(made)
        return losses.mean() if self._weights is None else (losses * self._weights[made.rows]).mean()

    @abstractmethod
    def pair_losses(self, batch: PairBatch) -> PerPair:
        """Loss of each pair."""
