"""Pair features of symbols, and scores of operations from them, with no larger tables than must be.

`Linear(h_s + concat + h_t)` is computed once per symbol and added per cell; layer normalisation is folded into the
projection that follows it.
"""

from typing import NamedTuple

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nsed.kernels.contracts import Features
from nsed.kernels.dispatch import PAIR_SCORES
from nsed.kernels.torch.pair_scores import dropped, moments_of, normed

SourceVectors = Float[Tensor, "batch src dim"]
TargetVectors = Float[Tensor, "batch tgt dim"]
Scores = Float[Tensor, "batch src tgt classes"]


class SourceFactors(NamedTuple):
    """Source half of the pair features, good for any number of targets."""

    projected: SourceVectors
    similar: Float[Tensor, "batch heads src part"] | None
    attended: SourceVectors | None
    """Attention context: what cross-attention looks at."""
    padding: Bool[Tensor, "batch src"]

    def reordered(self, rows: Int[Tensor, " chosen"]) -> "SourceFactors":
        """Features reordered along the batch, for beam search: those of the chosen members."""
        similar, attended = (None if part is None else part[rows] for part in (self.similar, self.attended))
        return SourceFactors(self.projected[rows], similar, attended, self.padding[rows])


class Factors(NamedTuple):
    """Pair feature factors: the parts that belong to one side alone."""

    source: SourceVectors
    target: TargetVectors
    similar_source: Float[Tensor, "batch heads src part"] | None
    similar_target: Float[Tensor, "batch heads tgt part"] | None
    attended: TargetVectors | None


class PairFeatures(nn.Module):
    """Pair features of a cell (i, j): ReLU(W_s h_s[i] + W_t h_t[j]), optionally with cross-attention and similarities.

    Paper: Equations 4 and 5. `interaction` similarity heads are ours: a sum of two projections sees badly whether the
    two symbols are the same. The features are `width` times as wide as the symbols' vectors: 1 in the paper's equation
    of the Matcher; its sizes are those of 2 there and of 4 in the Transducer.
    """

    def __init__(self, dim: int, *, attention: bool, heads: int, interaction: int, width: int = 1) -> None:
        super().__init__()
        self.source = nn.Linear(dim, width * dim)
        self.target = nn.Linear(dim, width * dim, bias=False)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True) if attention else None
        self.interaction = interaction
        if interaction:
            self.similar = nn.Linear(dim, interaction * SIMILARITY_DIM, bias=False)
            self.spread = nn.Linear(interaction, width * dim, bias=False)

    @property
    def attends(self) -> bool:
        """Cross-attention switch: whether the features have a second half, from attention."""
        return self.attention is not None

    def of_source(self, source: SourceVectors, real: Bool[Tensor, "batch src"]) -> SourceFactors:
        """Source factors: what can be computed before there is a target; `real` masks padding (False)."""
        return SourceFactors(self.source(source), self._heads(source), source if self.attends else None, ~real)

    def factors(self, source: SourceFactors, target: TargetVectors) -> Factors:
        """Pair feature factors of both sides: everything that can be computed per symbol."""
        attended = None
        if self.attention is not None:
            seen = source.attended
            attended, _ = self.attention(target, seen, seen, key_padding_mask=source.padding, need_weights=False)
        return Factors(source.projected, self.target(target), source.similar, self._heads(target), attended)

    def rectified(self, factors: Factors) -> Float[Tensor, "batch src tgt dim"]:
        """ReLU features of every cell."""
        summed = factors.source[:, :, None] + factors.target[:, None]
        if factors.similar_source is not None and factors.similar_target is not None:
            similarity = factors.similar_source @ factors.similar_target.transpose(-1, -2)
            summed = summed + self.spread(similarity.permute(0, 2, 3, 1) * SIMILARITY_DIM**-0.5)
        return summed.relu()

    def similar_parts(self, vectors: Float[Tensor, "*symbols dim"]) -> Float[Tensor, "*symbols heads part"] | None:
        """Vectors of symbols for the similarity heads, whose dot products are the similarities; None without heads."""
        return self.similar(vectors).unflatten(-1, (self.interaction, SIMILARITY_DIM)) if self.interaction else None

    def head_weights(self) -> Float[Tensor, "heads dim"] | None:
        """What a dot product of each similarity head adds to the features; None without heads."""
        return self.spread.weight.T * SIMILARITY_DIM**-0.5 if self.interaction else None

    def _heads(self, vectors: Float[Tensor, "batch length dim"]) -> Float[Tensor, "batch heads length part"] | None:
        split = self.similar_parts(vectors)
        return None if split is None else split.transpose(1, 2)


SIMILARITY_DIM = 32
"""Similarity head dimension: size of the vectors whose dot products are the similarities."""


class NormedProjection(nn.Module):
    """Layer normalisation and linear projection, fused: `z = (W~ x) / deviation + constant`.

    W~ is the weight times the gain, centred over its inputs, so that the mean of x needs no subtraction. With
    attention, x is a concatenation whose second part depends on j alone and is projected per j.
    """

    def __init__(self, dim: int, classes: int, *, attends: bool, width: int = 1) -> None:
        super().__init__()
        size = (width + attends) * dim
        self.norm = nn.LayerNorm(size)
        self.linear = nn.Linear(size, classes)

    def forward(self, features: Features, attended: TargetVectors | None) -> Scores:
        """Class scores in all cells."""
        weight, constant = self.folded()
        x, total, squares = features
        dim = x.shape[-1]
        projected = functional.linear(x, weight[:, :dim])
        if attended is not None:
            projected = projected + (attended @ weight[:, dim:].T)[:, None]
            total, squares = (a + b[:, None] for a, b in zip((total, squares), moments_of(attended), strict=True))
        return normed(projected, total, squares, constant, size=weight.shape[1], eps=self.norm.eps)

    def folded(self) -> tuple[Float[Tensor, "classes size"], Float[Tensor, " classes"]]:
        """Folded parameters: W~ and the constant."""
        weight = self.linear.weight * self.norm.weight
        return weight - weight.mean(1, keepdim=True), self.linear.weight @ self.norm.bias + self.linear.bias


def pair_scores(features: PairFeatures, projection: NormedProjection, dropout: nn.Dropout, factors: Factors) -> Scores:
    """Class scores in all cells, from factors."""
    sides, rate = (factors.source, factors.target), dropout.p if dropout.training else 0.0
    if factors.similar_source is not None:
        scores: Scores = projection(dropped(features.rectified(factors), dropout=rate), factors.attended)
        return scores
    kernel = PAIR_SCORES.choose(*sides, projection.linear.weight, rate).code
    if factors.attended is not None:
        scores = projection(kernel.features(*sides, dropout=rate), factors.attended)
        return scores
    return kernel.pair_scores(*sides, *projection.folded(), eps=projection.norm.eps, dropout=rate)
