"""Matcher network: from two strings to the log-probability that one can be edited into the other."""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from nsed.encoders import EncoderConfig, StringEncoder
from nsed.encoders.base import inside
from nsed.encoders.string_encoder import read_both
from nsed.lattice import EditLattice
from nsed.networks.operations import MatchScores, match_scores
from nsed.networks.pair_features import NormedProjection, PairFeatures, pair_scores
from nsed.text.batch import PaddedStrings
from nsed.types import Lengths


class Projected(NamedTuple):
    """Projected pair features of symbols, and their vectors for the similarity heads, if there are any."""

    vectors: Float[Tensor, "*symbols dim"]
    similar: Float[Tensor, "*symbols heads part"] | None


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
        feature_width: int = 1,
    ) -> None:
        super().__init__()
        self.source_encoder = StringEncoder(encoder, source_symbols, causal=False, categories=categories)
        self.target_encoder = (
            self.source_encoder
            if shared
            else StringEncoder(encoder, target_symbols, causal=False, categories=categories)
        )
        self.features = PairFeatures(
            encoder.dim, attention=False, heads=encoder.heads, interaction=interaction, width=feature_width
        )
        self.projection = NormedProjection(encoder.dim, 4, attends=False, width=feature_width)
        self.dropout = nn.Dropout(feature_dropout)

    @property
    def reads_alike(self) -> bool:
        """Shared encoder: whether a string has the same vectors on either side."""
        return self.source_encoder is self.target_encoder

    def projected(self, vectors: Float[Tensor, "*symbols dim"], *, is_source: bool) -> Projected:
        """Projected pair features: what encoded symbols contribute as those of a source, or of a target."""
        project = self.features.source if is_source else self.features.target
        return Projected(project(vectors), self.features.similar_parts(vectors))

    def forward(self, source: PaddedStrings, target: PaddedStrings) -> MatchScores:
        """Arc log-probabilities into each cell, and those of non-match."""
        source_vectors, target_vectors = read_both(self.source_encoder, self.target_encoder, source, target)
        real = inside(source.lengths + 1, source_vectors.shape[1])
        factors = self.features.factors(self.features.of_source(source_vectors, real), target_vectors)
        return match_scores(pair_scores(self.features, self.projection, self.dropout, factors))


def lattice_of(scores: MatchScores, source_lengths: Lengths, target_lengths: Lengths) -> EditLattice:
    """Match lattices, whose log-probability says whether pairs match."""
    return EditLattice(*scores.arcs, source_lengths, target_lengths, validate=False)
