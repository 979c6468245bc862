"""The Matcher's network: from two strings to the log-probability that one can be edited into the other."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders import EncoderConfig, StringEncoder
from nsed.encoders.base import inside
from nsed.lattice import EditLattice
from nsed.models.delimiters import with_end
from nsed.models.op_scores import MatchScores, match_scores
from nsed.models.pair_features import NormedProjection, PairFeatures, SourceVectors, TargetVectors, pair_scores
from nsed.text.vocabulary import PAD
from nsed.types import Lengths

Symbols = Int[Tensor, "batch length"]
Vectors = Float[Tensor, "batch length dim"]
Category = Int[Tensor, " batch"] | None


class Side(NamedTuple):
    """One string of each pair: its symbols, how many, and perhaps its category (a language, a source)."""

    symbols: Symbols
    lengths: Lengths
    category: Category = None


class MatcherNetwork(nn.Module):
    """Two encoders (one, where the alphabets are the same), pair features and four classes per cell.

    Paper: section 3.1 and Equation 4. Categories and similarity heads (`interaction`) are ours.
    """

    def __init__(
        self,
        encoder: EncoderConfig,
        *,
        source_symbols: int,
        target_symbols: int,
        shared: bool = False,
        categories: int = 0,
        interaction: int = 0,
        feature_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.source_encoder = StringEncoder(encoder, source_symbols, causal=False, categories=categories)
        self.target_encoder = (
            self.source_encoder
            if shared
            else StringEncoder(encoder, target_symbols, causal=False, categories=categories)
        )
        self.features = PairFeatures(encoder.dim, attention=False, heads=encoder.heads, interaction=interaction)
        self.projection = NormedProjection(encoder.dim, 4, attends=False)
        self.dropout = nn.Dropout(feature_dropout)

    def projected(self, side: Side, *, is_source: bool) -> Float[Tensor, "batch length dim"]:
        """The part of the pair features that one string contributes, per symbol, `</s>` included."""
        encoder, project = self._parts(is_source)
        projected: Tensor = project(read_by(encoder, side))
        return projected

    def projected_symbols(
        self, symbols: Int[Tensor, " kinds"], positions: Int[Tensor, " kinds"], *, is_source: bool
    ) -> Float[Tensor, "kinds dim"]:
        """The same for single symbols at given positions, by an encoder that sees no context."""
        encoder, project = self._parts(is_source)
        projected: Tensor = project(encoder.without_context(symbols, positions))
        return projected

    def _parts(self, is_source: bool) -> tuple[StringEncoder, nn.Linear]:
        if is_source:
            return self.source_encoder, self.features.source
        return self.target_encoder, self.features.target

    def forward(self, source: Side, target: Side) -> MatchScores:
        """Log-probabilities of the arcs into each cell, and of non-match."""
        source_vectors, target_vectors = self._encoded(source, target)
        real = inside(source.lengths + 1, source_vectors.shape[1])
        factors = self.features.factors(self.features.of_source(source_vectors, real), target_vectors)
        return match_scores(pair_scores(self.features, self.projection, self.dropout, factors))

    def _encoded(self, source: Side, target: Side) -> tuple[SourceVectors, TargetVectors]:
        """The vectors of both sides; one encoder reads both at once."""
        if self.target_encoder is self.source_encoder:
            both = read_by(self.source_encoder, together(source, target))
            of_source, of_target = both.chunk(2)
            return of_source[:, : source.symbols.shape[1] + 1], of_target[:, : target.symbols.shape[1] + 1]
        return read_by(self.source_encoder, source), read_by(self.target_encoder, target)


def read_by(encoder: StringEncoder, side: Side) -> Vectors:
    """The vectors of a side's symbols, `</s>` included."""
    vectors: Tensor = encoder(with_end(side.symbols, side.lengths), side.lengths + 1, side.category)
    return vectors


def together(source: Side, target: Side) -> Side:
    """Both sides as one, the sources first."""
    width = max(source.symbols.shape[1], target.symbols.shape[1])
    symbols = [functional.pad(side.symbols, (0, width - side.symbols.shape[1]), value=PAD) for side in (source, target)]
    category = None
    if source.category is not None and target.category is not None:
        category = torch.cat([source.category, target.category])
    return Side(torch.cat(symbols), torch.cat([source.lengths, target.lengths]), category)


def lattice_of(scores: MatchScores, source_lengths: Lengths, target_lengths: Lengths) -> EditLattice:
    """The lattices whose log-probability says whether pairs match."""
    return EditLattice(*scores.arcs, source_lengths, target_lengths, validate=False)
