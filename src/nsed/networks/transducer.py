"""Transducer network: scores of every operation in every cell, and incremental decoding of targets."""

from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nsed.encoders import Attended, EncoderConfig, Prefix, StringEncoder
from nsed.encoders.base import inside
from nsed.encoders.string_encoder import with_end, with_start
from nsed.networks.operations import Memory, Normalisation, Opened, TargetScores
from nsed.networks.pair_features import NormedProjection, PairFeatures, SourceFactors, pair_scores
from nsed.networks.search import Rows, writable
from nsed.types import Lengths


class EncodedSource(NamedTuple):
    """Encoded source: contextual vectors, ready for any number of targets."""

    factors: SourceFactors
    lengths: Lengths

    @property
    def attended(self) -> Attended | None:
        """Attention context: what the target's encoder may look at."""
        vectors = self.factors.attended
        return None if vectors is None else Attended(vectors, self.factors.padding)

    def reordered(self, rows: Int[Tensor, " chosen"]) -> "EncodedSource":
        """Source reordered along the batch, for beam search: that of the chosen members."""
        return EncodedSource(self.factors.reordered(rows), self.lengths.index_select(0, rows))


class TransducerNetwork(nn.Module):
    """Two encoders, pair features and scores of `1 + 2 * target_symbols` classes: delete, inserts, substitutes.

    Paper: section 3.2 and Equation 5. Without `attention` (of a cell) and `target_attention` (of the target's encoder)
    the lattice is the only way from source to target.
    """

    def __init__(
        self,
        encoder: EncoderConfig,
        *,
        source_symbols: int,
        target_symbols: int,
        attention: bool = False,
        target_attention: bool = False,
        interaction: int = 0,
        feature_dropout: float = 0.0,
        feature_width: int = 1,
        categories: int = 0,
    ) -> None:
        super().__init__()
        self.source_encoder = StringEncoder(encoder, source_symbols, causal=False, categories=categories)
        self.target_encoder = StringEncoder(encoder, target_symbols, causal=True, attends=target_attention)
        self.features = PairFeatures(
            encoder.dim, attention=attention, heads=encoder.heads, interaction=interaction, width=feature_width
        )
        self.projection = NormedProjection(encoder.dim, 1 + 2 * target_symbols, attends=attention, width=feature_width)
        self.dropout = nn.Dropout(feature_dropout)

    def encode(
        self, source: Int[Tensor, "batch n"], lengths: Lengths, category: Int[Tensor, " batch"] | int | None = None
    ) -> EncodedSource:
        """Encoded source: the positions of `s_1 .. s_n </s>`, with the category (language) of each, or of all."""
        of_each = torch.full_like(lengths, category) if isinstance(category, int) else category
        vectors = self.source_encoder(with_end(source, lengths), lengths + 1, of_each)
        factors = self.features.of_source(vectors, inside(lengths + 1, vectors.shape[1]))
        if self.target_encoder.attends:
            factors = factors._replace(attended=vectors)
        return EncodedSource(factors, lengths)

    def forward(self, source: EncodedSource, target: Int[Tensor, "batch m"], target_lengths: Lengths) -> TargetScores:
        """Class scores in all cells of whole targets."""
        vectors = self.target_encoder(with_start(target), target_lengths + 1, attended=source.attended)
        return self.scores(source, vectors)

    def scores(self, source: EncodedSource, target: Float[Tensor, "batch tgt dim"]) -> TargetScores:
        """Class scores in the cells of these columns."""
        factors = self.features.factors(source.factors, target)
        return TargetScores(pair_scores(self.features, self.projection, self.dropout, factors))


class LatticeHypotheses(NamedTuple):
    """Decoder hypotheses: encoder states, forward column of the lattice, and the symbols so far; a row each."""

    source: EncodedSource
    vector: Float[Tensor, "rows dim"]
    prefix: Prefix
    memory: Memory
    symbols: Int[Tensor, "rows length"]


class LatticeExpanded(NamedTuple):
    """Expanded hypotheses: their newest lattice column is open, ready to be continued with a symbol."""

    hypotheses: LatticeHypotheses
    opened: Opened

    @property
    def written(self) -> Float[Tensor, "rows symbols"]:
        """See `Expanded.written`."""
        return writable(self.opened.written)


class LatticeDecoder:
    """Incremental decoder over the lattice: a network and its normalisation, as an `IncrementalDecoder`."""

    def __init__(self, network: TransducerNetwork, normalisation: Normalisation, category: int | None = None) -> None:
        self.network, self.normalisation = network, normalisation
        self.encode = network.encode if category is None else partial(network.encode, category=category)
        """See `IncrementalDecoder.encode`: all sources are of this category."""

    @property
    def device(self) -> torch.device:
        """See `IncrementalDecoder.device`."""
        return next(self.network.parameters()).device

    @property
    def longest(self) -> int | None:
        """See `IncrementalDecoder.longest`."""
        return self.network.target_encoder.longest

    def begin(self, source: EncodedSource) -> LatticeHypotheses:
        """See `IncrementalDecoder.begin`: the vector of `<s>`, where every target starts."""
        encoder, batch = self.network.target_encoder, len(source.lengths)
        alike = 1 if source.attended is None else batch  # what looks at its source begins in its own way
        start = with_start(source.lengths.new_zeros((alike, 0), dtype=torch.long))[:, 0]
        vector, prefix = encoder.step(start, encoder.begin(alike), source.attended)
        if alike != batch:
            everywhere = torch.zeros_like(source.lengths)
            vector, prefix = vector[everywhere], prefix.reordered(everywhere)
        symbols = torch.zeros((batch, 0), dtype=torch.long, device=vector.device)
        memory = self.normalisation.begin(source.factors.projected[:, :, 0])
        return LatticeHypotheses(source, vector, prefix, memory, symbols)

    def expand(self, hypotheses: LatticeHypotheses) -> LatticeExpanded:
        """See `IncrementalDecoder.expand`: the one new column of each hypothesis."""
        network = self.network
        factors = network.features.factors(hypotheses.source.factors, hypotheses.vector[:, None])
        column = TargetScores(pair_scores(network.features, network.projection, network.dropout, factors))
        opened = self.normalisation.open(column, hypotheses.memory, hypotheses.source.lengths)
        return LatticeExpanded(hypotheses, opened)

    def continued(
        self, expanded: LatticeExpanded, rows: Rows, symbols: Rows, *, same_sources: bool = False
    ) -> LatticeHypotheses:
        """See `IncrementalDecoder.continued`."""
        before = expanded.hypotheses
        source = before.source if same_sources else before.source.reordered(rows)
        memory = self.normalisation.close(expanded.opened, rows, symbols)
        vector, prefix = self.network.target_encoder.step(symbols, before.prefix.reordered(rows), source.attended)
        longer = torch.cat([before.symbols[rows], symbols[:, None]], dim=1)
        return LatticeHypotheses(source, vector, prefix, memory, longer)
