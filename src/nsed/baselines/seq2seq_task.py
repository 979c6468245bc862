"""Training a sequence-to-sequence model: its loss, and error rates on validation words."""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from nsed.baselines.seq2seq_config import Seq2SeqConfig
from nsed.baselines.seq2seq_network import Seq2SeqNetwork, smoothed_loss
from nsed.models.transduction import Sides, error_rates
from nsed.text import PairBatch
from nsed.text.batch import PairTable
from nsed.train.task import Batch, Task


class Seq2SeqTask(Task):
    """Sources and targets as numbers, for training and for validation."""

    network: Seq2SeqNetwork
    metric, higher_is_better = "wer", False

    def __init__(
        self,
        network: Seq2SeqNetwork,
        config: Seq2SeqConfig,
        training: Sides,
        validation: Sides,
        device: torch.device,
    ) -> None:
        self.network, self.config, self.validation = network, config, validation
        self._pairs = PairTable(*training, device)

    @property
    def sizes(self) -> np.ndarray:
        """See `Task.sizes`."""
        return self._pairs.sizes

    def widths(self, rows: np.ndarray, *, multiple: int = 1) -> tuple[int, int]:
        """See `Task.widths`."""
        return self._pairs.widths(rows, multiple=multiple)

    def batch(self, rows: Int[Tensor, " batch"], widths: tuple[int, ...]) -> Batch:
        """See `Task.batch`."""
        return self._pairs.batch(rows, widths)

    def loss(self, batch: Batch) -> Tensor:
        """See `Task.loss`."""
        pairs = PairBatch(*batch)
        source = self.network.encode(pairs.source, pairs.source_lengths)
        following = self.network(source, pairs.target, pairs.target_lengths)
        smoothing = self.config.label_smoothing
        return smoothed_loss(following, pairs.target, pairs.target_lengths, smoothing=smoothing).mean()

    def validate(self) -> Mapping[str, float]:
        """See `error_rates`."""
        return error_rates(self.network, self.config, self.validation)
