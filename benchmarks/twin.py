"""The sequence-to-sequence twin of a Transducer: the same encoders, attention in the place of the lattice.

The baseline `nsed.baselines.seq2seq` is larger: its target looks at the source in every layer.
"""

from collections.abc import Mapping

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders import EncoderConfig, StringEncoder
from nsed.encoders.base import inside
from nsed.encoders.string_encoder import with_end, with_start
from nsed.text import EncodedStrings, PairBatch
from nsed.text.batch import EncodedPairs, PairTable
from nsed.train.task import Batch, Task
from nsed.types import PAD

Sides = tuple[EncodedStrings, EncodedStrings]


class TwinNetwork(nn.Module):
    """Each prefix of the target looks at the source and says which symbol comes next."""

    def __init__(self, encoder: EncoderConfig, *, source_symbols: int, target_symbols: int) -> None:
        super().__init__()
        self.source_encoder = StringEncoder(encoder, source_symbols, causal=False)
        self.target_encoder = StringEncoder(encoder, target_symbols, causal=True)
        self.attention = nn.MultiheadAttention(encoder.dim, encoder.heads, batch_first=True)
        self.output = nn.Linear(encoder.dim, target_symbols)

    def forward(self, batch: PairBatch) -> Float[Tensor, "batch tgt symbols"]:
        """Scores of the next symbol after `<s>`, after the first symbol, ..., after the last one."""
        n, m = batch.source_lengths + 1, batch.target_lengths + 1
        source = self.source_encoder(with_end(batch.source, batch.source_lengths), n)
        target = self.target_encoder(with_start(batch.target), m)
        padding = ~inside(n, source.shape[1])
        seen, _ = self.attention(target, source, source, key_padding_mask=padding, need_weights=False)
        scores: Tensor = self.output(target + seen)
        return scores


def twin_loss(network: TwinNetwork, batch: PairBatch) -> Float[Tensor, ""]:
    """-log p(target | source), its end included, averaged over the pairs."""
    expected = with_end(batch.target, batch.target_lengths)
    scores = network(batch).flatten(0, 1)
    return functional.cross_entropy(scores, expected.flatten(), ignore_index=PAD, reduction="sum") / len(expected)


class TwinTask(Task):
    """Sources and targets as numbers, for training and for validation."""

    network: TwinNetwork
    metric, higher_is_better = "loss", False

    def __init__(
        self, network: TwinNetwork, training: EncodedPairs, validation: EncodedPairs, device: torch.device
    ) -> None:
        self.network, self.training, self.validation, self.device = network, training, validation, device
        self._pairs = PairTable(training, device)

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
        return twin_loss(self.network, PairBatch(*batch))

    def validate(self) -> Mapping[str, float]:
        """The loss of the validation pairs."""
        every = self.validation.batch(np.arange(len(self.validation))).to(self.device)
        return {"loss": twin_loss(self.network, every).item()}
