"""Sequence-to-sequence network: encoder, and decoder with cross-attention to the source. No lattice, no operations."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nsed.encoders import Attended, EncoderConfig, Prefix, StringEncoder
from nsed.encoders.base import inside
from nsed.encoders.string_encoder import with_end, with_start
from nsed.networks.search import Rows, writable
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
