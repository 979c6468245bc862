"""Sequence-to-sequence model: the black box to compare the Transducer with; its network, and the Transducer's verbs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, NoReturn

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nsed.capabilities import Capability
from nsed.config import bounded
from nsed.encoders import Attended, EncoderConfig, Prefix, StringEncoder, attending_kinds
from nsed.encoders.base import inside
from nsed.encoders.string_encoder import with_end, with_start
from nsed.errors import ConfigError, NotExplainableError
from nsed.models.base import checked_scores
from nsed.models.decoding import DecodingModel, DecodingTask, SearchConfig
from nsed.networks.search import Rows, writable
from nsed.progress import OnBatch, ignore
from nsed.text import Links, PairBatch, Pairs, Tokenizers, Vocabulary
from nsed.text.batch import EncodedPairs
from nsed.text.columns import AnswerColumn, Column, column_like
from nsed.text.pairs import PairsLike
from nsed.train.config import TrainConfig
from nsed.types import NEG, PAD, START, Lengths, PerPair

NextSymbols = Float[Tensor, "batch tgt symbols"]
"""Next-symbol log-probabilities of every symbol after `<s>`, after the first symbol, ..., after the last one."""


class AttendedSource(NamedTuple):
    """Encoded source, with its `</s>`, ready to be attended to."""

    attended: Attended
    lengths: Lengths

    def reordered(self, rows: Rows) -> "AttendedSource":
        """Source reordered along the batch, for beam search: that of the chosen members."""
        vectors, padding = (part.index_select(0, rows) for part in self.attended)
        return AttendedSource(Attended(vectors, padding), self.lengths.index_select(0, rows))


class Seq2SeqHypotheses(NamedTuple):
    """Decoder hypotheses: encoder states, log-probability and symbols so far; a row each."""

    source: AttendedSource
    vector: Float[Tensor, "rows dim"]
    prefix: Prefix
    log_prob: Float[Tensor, " rows"]
    symbols: Int[Tensor, "rows length"]


class Seq2SeqExpanded(NamedTuple):
    """Expanded hypotheses, with the log-probabilities of all their continuations."""

    hypotheses: Seq2SeqHypotheses
    following: Float[Tensor, "rows symbols"]
    """Continuation log-probability of each prefix and each next symbol."""

    @property
    def written(self) -> Float[Tensor, "rows symbols"]:
        """See `Expanded.written`."""
        return writable(self.following)


class Seq2SeqNetwork(nn.Module):
    """An `IncrementalDecoder`: the source's encoder, one of the target that looks at it in every layer, a softmax.

    Paper: section 4, the baselines "RNN Seq2seq" and "Transformer" of Table 3. Over all targets of a source the
    probabilities sum to one.
    """

    def __init__(self, encoder: EncoderConfig, *, source_symbols: int, target_symbols: int) -> None:
        super().__init__()
        self.source_encoder = StringEncoder(encoder, source_symbols, causal=False)
        self.target_encoder = StringEncoder(encoder, target_symbols, causal=True, attends=True)
        self.dropout = nn.Dropout(encoder.dropout)
        self.output = nn.Linear(encoder.dim, target_symbols)

    @property
    def device(self) -> torch.device:
        """See `IncrementalDecoder.device`."""
        return self.output.weight.device

    @property
    def longest(self) -> int | None:
        """See `IncrementalDecoder.longest`."""
        return self.target_encoder.longest

    def encode(self, source: Int[Tensor, "batch n"], lengths: Lengths) -> AttendedSource:
        """See `IncrementalDecoder.encode`: the positions of `s_1 .. s_n </s>`."""
        vectors = self.source_encoder(with_end(source, lengths), lengths + 1)
        return AttendedSource(Attended(vectors, ~inside(lengths + 1, vectors.shape[1])), lengths)

    def forward(self, source: AttendedSource, target: Int[Tensor, "batch m"], lengths: Lengths) -> NextSymbols:
        """Next-symbol log-probabilities (teacher forcing): what follows each prefix of whole targets."""
        return self._following(self.target_encoder(with_start(target), lengths + 1, attended=source.attended))

    def attention(
        self, source: AttendedSource, target: Int[Tensor, "batch m"], lengths: Lengths
    ) -> Float[Tensor, "batch tgt src"]:
        """Cross-attention weights: how much each source symbol (or `</s>`) is looked at for each target symbol."""
        return self.target_encoder.attention(with_start(target), lengths + 1, source.attended)

    def begin(self, source: AttendedSource) -> Seq2SeqHypotheses:
        """See `IncrementalDecoder.begin`."""
        batch = len(source.lengths)
        symbols = torch.zeros((batch, 0), dtype=torch.long, device=self.device)
        start = torch.full((batch,), START, device=self.device)
        vector, prefix = self.target_encoder.step(start, self.target_encoder.begin(batch), source.attended)
        return Seq2SeqHypotheses(source, vector, prefix, vector.new_zeros(batch), symbols)

    def expand(self, hypotheses: Seq2SeqHypotheses) -> Seq2SeqExpanded:
        """See `IncrementalDecoder.expand`."""
        following = self._following(hypotheses.vector[:, None])[:, 0]
        return Seq2SeqExpanded(hypotheses, hypotheses.log_prob[:, None] + following)

    def continued(
        self, expanded: Seq2SeqExpanded, rows: Rows, symbols: Rows, *, same_sources: bool = False
    ) -> Seq2SeqHypotheses:
        """See `IncrementalDecoder.continued`."""
        before = expanded.hypotheses
        source = before.source if same_sources else before.source.reordered(rows)
        vector, prefix = self.target_encoder.step(symbols, before.prefix.reordered(rows), source.attended)
        longer = torch.cat([before.symbols[rows], symbols[:, None]], dim=1)
        return Seq2SeqHypotheses(source, vector, prefix, expanded.following[rows, symbols], longer)

    def _following(self, vectors: Float[Tensor, "batch tgt dim"]) -> NextSymbols:
        scores = self.output(self.dropout(vectors))
        scores = scores.to(torch.promote_types(scores.dtype, torch.float32))  # whatever precision products have
        following: Tensor = scores.masked_fill(~possible_symbols(scores), NEG).log_softmax(-1)
        return following


def possible_symbols(scores: Float[Tensor, "batch tgt symbols"]) -> Bool[Tensor, " symbols"]:
    """Output mask: whether a symbol may follow another; nothing writes padding or a start."""
    number = torch.arange(scores.shape[-1], device=scores.device)
    return (number != PAD) & (number != START)


def target_log_prob(following: NextSymbols, target: Int[Tensor, "batch m"], lengths: Lengths) -> PerPair:
    """Sequence log-probability, log p(target | source): the sum over its symbols and `</s>`."""
    chosen = following.gather(-1, with_end(target, lengths)[..., None])[..., 0]
    return chosen.masked_fill(~inside(lengths + 1, chosen.shape[1]), 0.0).sum(1)


def smoothed_loss(
    following: NextSymbols, target: Int[Tensor, "batch m"], lengths: Lengths, *, smoothing: float
) -> PerPair:
    """Label-smoothed cross-entropy of each target: all possible symbols get an equal part of the share `smoothing`."""
    likelihood = target_log_prob(following, target, lengths)
    if not smoothing:
        return -likelihood
    possible = possible_symbols(following)
    uniform = following.masked_fill(~possible, 0.0).sum(-1) / possible.sum()
    spread = uniform.masked_fill(~inside(lengths + 1, uniform.shape[1]), 0.0).sum(1)
    return -((1 - smoothing) * likelihood + smoothing * spread)


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
    def score(self, pairs: PairsLike, targets: Column | None = None, *, on_batch: OnBatch = ignore) -> AnswerColumn:
        """Log p(target | source) of each pair, in the order given."""
        known = Pairs.given(pairs, targets)
        scores = np.empty(len(known))
        for batch, source in self._encoded(known):
            following = self.network(source, batch.target, batch.target_lengths)
            log_prob = target_log_prob(following, batch.target, batch.target_lengths)
            scores[batch.rows.cpu().numpy()] = log_prob.double().cpu().numpy()
            on_batch(len(batch.rows))
        return column_like(pairs, checked_scores(scores), "score")

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
        for batch in self.encoded(pairs, kin=True).batches():
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
