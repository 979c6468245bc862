"""STANCE (Tam et al. 2019): similarities of symbols, softly aligned by optimal transport, read by a CNN."""

from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from nsed.baselines.matrix_scorer import MatrixScorer
from nsed.baselines.pair_network import Alphabets, PairNetwork
from nsed.baselines.sinkhorn import real_pairs, transport_plan
from nsed.encoders import EncoderConfig
from nsed.networks.sides import Side, read_both
from nsed.types import PerPair, Table


class SoftAlignment(NamedTuple):
    """How similar the symbols of pairs are, how much of each goes to which, and where there is only padding.

    The last symbol of each string is `</s>`: so even empty strings have something to align.
    """

    similarity: Table
    plan: Table
    real: Bool[Tensor, "batch src tgt"]


class Stance(PairNetwork):
    """Symbols in context, their similarities weighted by a transport plan, and a CNN over the weighted table.

    Paper: section 4, "STANCE", following Tam et al. 2019. Similarity is the scaled product of normalised vectors. Ours
    multiplies the weighted table by sqrt(n m), so that its numbers do not shrink with the strings, and reads it with
    pooling over real cells, where theirs has tables of one fixed size; all parts are trained together.
    """

    def __init__(
        self,
        encoder: EncoderConfig,
        alphabets: Alphabets,
        *,
        channels: int,
        convolutions: int,
        temperature: float,
        iterations: int,
    ) -> None:
        super().__init__()
        self.temperature, self.iterations = temperature, iterations
        self.source_encoder, self.target_encoder = alphabets.encoders(encoder)
        self.source_norm, self.target_norm = nn.LayerNorm(encoder.dim), nn.LayerNorm(encoder.dim)
        self.scorer = MatrixScorer(channels=channels, layers=convolutions)

    def forward(self, source: Side, target: Side) -> PerPair:
        """See `PairNetwork.forward`."""
        similarity, plan, real = self.soft_alignment(source, target)
        cells = (source.lengths + 1) * (target.lengths + 1)
        weighted = similarity * plan * cells.to(plan.dtype).sqrt()[:, None, None]
        logits: Tensor = self.scorer(weighted, real)
        return logits

    def soft_alignment(self, source: Side, target: Side) -> SoftAlignment:
        """The tables that the CNN reads, and people may."""
        of_source, of_target = read_both(self.source_encoder, self.target_encoder, source, target)
        of_source, of_target = self.source_norm(of_source), self.target_norm(of_target)
        similarity = of_source @ of_target.transpose(1, 2) * of_source.shape[2] ** -0.5
        similarity = similarity.to(torch.promote_types(similarity.dtype, torch.float32))  # products may be in bf16
        lengths = source.lengths + 1, target.lengths + 1
        plan = transport_plan(similarity, *lengths, temperature=self.temperature, iterations=self.iterations)
        return SoftAlignment(similarity, plan, real_pairs(*lengths, similarity))
