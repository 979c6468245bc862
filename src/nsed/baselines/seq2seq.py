"""Sequence-to-sequence model: the black box to compare the Transducer with, behind the same verbs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NoReturn

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nsed.baselines.seq2seq_network import AttendedSource, Seq2SeqNetwork, smoothed_loss, target_log_prob
from nsed.capabilities import Capability
from nsed.config import bounded
from nsed.encoders import EncoderConfig, attending_kinds
from nsed.encoders.base import inside
from nsed.errors import ConfigError, NotExplainableError
from nsed.models.base import checked_scores
from nsed.models.decoding import DecodingModel, DecodingTask, SearchConfig
from nsed.progress import OnBatch, ignore
from nsed.text import Links, PairBatch, Pairs, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.columns import Column
from nsed.text.pairs import PairsLike
from nsed.train.config import TrainConfig
from nsed.types import PerPair


@dataclass(frozen=True)
class Seq2SeqConfig(SearchConfig):
    """Sequence-to-sequence hyperparameters: what it is made of, how it is trained and how it decodes."""

    model: Literal["seq2seq"] = "seq2seq"
    """The kind of model that these settings are for."""
    encoder: EncoderConfig = EncoderConfig()
    """Encoder of the source, and decoder of the target with cross-attention in every layer: rnn or transformer."""
    label_smoothing: float = bounded(0.0, low=0, high=1)
    """Label smoothing: share of each target symbol spread over all in training; above 0, scores are too modest."""
    train: TrainConfig = TrainConfig()
    """Training hyperparameters: how the network is trained."""

    def __post_init__(self) -> None:
        super().__post_init__()
        faults, encoder = [], self.encoder
        if encoder.kind not in attending_kinds():
            able = " or ".join(attending_kinds())
            faults.append(f"encoder.kind: got {encoder.kind!r}, expected one that can look at the source: {able}")
        if encoder.dim % encoder.heads:
            faults.append(f"encoder.heads: got {encoder.heads}, expected a divisor of encoder.dim ({encoder.dim})")
        if faults:
            raise ConfigError("Seq2SeqConfig", faults)


class Seq2SeqTask(DecodingTask):
    """Sequence-to-sequence task: cross-entropy of the target's symbols."""

    network: Seq2SeqNetwork
    config: Seq2SeqConfig
    in_slices = False

    def pair_losses(self, batch: PairBatch) -> PerPair:
        """See `PairTask.pair_losses`."""
        following = self.network(
            self.network.encode(batch.source, batch.source_lengths), batch.target, batch.target_lengths
        )
        return smoothed_loss(following, batch.target, batch.target_lengths, smoothing=self.config.label_smoothing)

    @property
    def decoder(self) -> Seq2SeqNetwork:
        """See `DecodingTask.decoder`."""
        return self.network


class Seq2Seq(DecodingModel):
    """Sequence-to-sequence model. Scores are exact; there are no edit operations, only `links` by cross-attention."""

    configs: ClassVar[Mapping[str, type[Seq2SeqConfig]]] = {"seq2seq": Seq2SeqConfig}
    capabilities = frozenset({Capability.SCORE, Capability.TRANSDUCE, Capability.SAMPLE, Capability.LINKS})
    network: Seq2SeqNetwork
    config: Seq2SeqConfig

    @torch.no_grad()
    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """Log p(target | source) of each pair, in the order given."""
        pairs = Pairs.given(pairs, targets)
        scores = np.empty(len(pairs))
        for batch, source in self._encoded(pairs):
            following = self.network(source, batch.target, batch.target_lengths)
            log_prob = target_log_prob(following, batch.target, batch.target_lengths)
            scores[batch.rows.cpu().numpy()] = log_prob.double().cpu().numpy()
            on_batch(len(batch.rows))
        return checked_scores(scores)

    @torch.no_grad()
    def links(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> list[Links]:
        """Attention alignment: for each symbol of each target, the source symbol that was looked at most for it.

        Attention of the last layer, on average over its heads; its share of `</s>` does not count.
        """
        pairs = Pairs.given(pairs, targets)
        found: dict[int, Links] = {}
        for batch, source in self._encoded(pairs):
            shares = self.network.attention(source, batch.target, batch.target_lengths)
            found.update(zip(batch.rows.tolist(), _most_attended(shares, batch), strict=True))
            on_batch(len(batch.rows))
        return [found[row] for row in range(len(pairs))]

    @property
    def decoder(self) -> Seq2SeqNetwork:
        """See `DecodingModel.decoder`."""
        return self.network

    def _encoded(self, pairs: Pairs) -> Iterator[tuple[PairBatch, AttendedSource]]:
        """Encoded batches: pairs of similar lengths together, with their sources in context."""
        for batch in self.encoded(pairs).batches():
            here = batch.to(self.device)
            yield here, self.network.encode(here.source, here.source_lengths)

    @staticmethod
    def _network(config: Seq2SeqConfig, tokenizers: Tokenizers, languages: Vocabulary | None) -> Seq2SeqNetwork:
        sizes = len(tokenizers.source.vocabulary), len(tokenizers.target.vocabulary)
        return Seq2SeqNetwork(config.encoder, source_symbols=sizes[0], target_symbols=sizes[1])

    def _task(self, training: EncodedPairs, validation: EncodedPairs, device: torch.device) -> Seq2SeqTask:
        return Seq2SeqTask(self.network, self.config, training, validation, device)

    def _refuse(self, what: str) -> NoReturn:
        advice = "what its attention looked at is in `links` (nsed align --format pharaoh)"
        raise NotExplainableError(f"a sequence-to-sequence model has no {what}; {advice}")


def _most_attended(shares: Float[Tensor, "batch tgt src"], batch: PairBatch) -> Iterator[Links]:
    """Attention argmax: the source symbol with the largest share of each target symbol; an empty source has none."""
    own = inside(batch.source_lengths, shares.shape[2])
    places = shares.masked_fill(~own[:, None], -1.0).argmax(2).tolist()
    lengths = zip(batch.source_lengths.tolist(), batch.target_lengths.tolist(), strict=True)
    for looked_at, (n, m) in zip(places, lengths, strict=True):
        yield frozenset((i, j) for j, i in enumerate(looked_at[:m])) if n else frozenset()
