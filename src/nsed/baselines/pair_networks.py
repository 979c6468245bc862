"""Pair classification networks, the black boxes to compare with: two strings in, one logit out.

The cross-encoder: one Transformer reads both strings at once, and its first symbol knows the answer. STANCE (Tam et al.
2019): similarities of symbols, aligned by optimal transport, read by a convolutional network.
"""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders import ENCODERS, EncoderConfig, StringEncoder, TransformerConfig
from nsed.encoders.base import inside
from nsed.encoders.string_encoder import SymbolEmbedding, read_both, with_start
from nsed.text.batch import PaddedStrings
from nsed.types import END, Lengths, PerPair, Table


class Alphabets(NamedTuple):
    """Vocabulary sizes of both sides, the special symbols included, and the number of categories of strings."""

    source: int
    target: int
    shared: bool = False
    """Shared vocabulary: both sides have the same symbols; what is learned of one side is known of the other."""
    categories: int = 0

    def encoders(self, config: EncoderConfig) -> tuple[StringEncoder, StringEncoder]:
        """Encoder for each side; the same one twice, where the alphabets are shared."""
        source = StringEncoder(config, self.source, causal=False, categories=self.categories)
        if self.shared:
            return source, source
        return source, StringEncoder(config, self.target, causal=False, categories=self.categories)


class PairNetwork(nn.Module, ABC):
    """Pair classification network: a logit per pair, above 0 for a match. Padding never changes it."""

    @abstractmethod
    def forward(self, source: PaddedStrings, target: PaddedStrings) -> PerPair:
        """Logit of each pair."""


class CrossEncoder(PairNetwork):
    """Cross-encoder: a Transformer over `[CLS] source [SEP] target`; a linear classifier reads the vector of `[CLS]`.

    Paper: section 4, "Transformer [CLS]", following BERT. Our `[CLS]` is `<s>` and our `[SEP]` is `</s>`; positions
    begin again in the target, whose symbols the second segment's vector tells from those of the source. A string of
    more than `encoder.max_length` symbols raises `TooLongError`.
    """

    def __init__(self, encoder: TransformerConfig, alphabets: Alphabets) -> None:
        super().__init__()
        self.source_embedding = _embedding(encoder, alphabets.source, alphabets.categories)
        self.target_embedding = (
            self.source_embedding if alphabets.shared else _embedding(encoder, alphabets.target, alphabets.categories)
        )
        self.segments = nn.Embedding(2, encoder.dim)
        nn.init.normal_(self.segments.weight, std=encoder.dim**-0.5)
        self.encoder = ENCODERS[encoder.kind](encoder, causal=False)
        self.classifier = nn.Linear(encoder.dim, 1)

    def forward(self, source: PaddedStrings, target: PaddedStrings) -> PerPair:
        """See `PairNetwork.forward`."""
        first = self.source_embedding(with_start(source.symbols), source.category) + self.segments.weight[0]
        separated = functional.pad(target.symbols, (1, 0), value=END)
        second = self.target_embedding(separated, target.category) + self.segments.weight[1]
        lengths = source.lengths + target.lengths + 2
        encoded = self.encoder(joined(first, second, source.lengths + 1), lengths)
        logits: Tensor = self.classifier(encoded[:, 0])[:, 0]
        return logits


def joined(
    first: Float[Tensor, "batch src dim"], second: Float[Tensor, "batch tgt dim"], lengths: Lengths
) -> Float[Tensor, "batch src+tgt dim"]:
    """Concatenated strings: the second right after the first, whose length is given; no padding between them."""
    width = first.shape[1] + second.shape[1]
    places = torch.arange(width, device=first.device)
    beyond = first.shape[1] - lengths[:, None]
    taken = torch.where(places < lengths[:, None], places, (places + beyond).clamp(max=width - 1))
    return torch.cat([first, second], dim=1).gather(1, taken[:, :, None].expand(-1, -1, first.shape[2]))


def _embedding(encoder: TransformerConfig, symbols: int, categories: int) -> SymbolEmbedding:
    return SymbolEmbedding(
        symbols,
        encoder.dim,
        positions=encoder.max_length + 1,  # one more for <s> or </s>
        categories=categories,
        dropout=encoder.dropout,
        hidden=encoder.hidden,
    )


NEVER = -1e30
"""Masked log-weight: its exponential is exactly zero, and it stays finite whatever is added to it."""


def real_pairs(source_lengths: Lengths, target_lengths: Lengths, like: Table) -> Bool[Tensor, "batch src tgt"]:
    """Padding mask of cells: True where both symbols are there, False where one is padding."""
    rows, columns = inside(source_lengths, like.shape[1]), inside(target_lengths, like.shape[2])
    return rows[:, :, None] & columns[:, None, :]


def transport_plan(
    similarity: Table, source_lengths: Lengths, target_lengths: Lengths, *, temperature: float, iterations: int
) -> Table:
    """Optimal transport plan (Sinkhorn): how much of each source symbol goes to each target symbol, much if similar.

    All symbols of a string have the same mass, and each string's add up to one. Every iteration makes the masses of
    the sources right and then those of the targets: the latter are exact, the former the better the more iterations.
    A lower `temperature` makes plans that are closer to one symbol for one symbol. Padding has no mass at all. Strings
    must have a symbol.

    >>> similarity = torch.tensor([[[5.0, 0.0], [0.0, 5.0]]])
    >>> two = torch.tensor([2])
    >>> (transport_plan(similarity, two, two, temperature=1.0, iterations=20) * 100).round()
    tensor([[[50.,  0.],
             [ 0., 50.]]])
    """
    real = real_pairs(source_lengths, target_lengths, similarity)
    kernel = torch.where(real, similarity / temperature, NEVER)
    rows, columns = real[:, :, :1], real[:, :1, :]
    row_mass, column_mass = _log_mass(source_lengths, kernel), _log_mass(target_lengths, kernel)
    by_row, by_column = torch.zeros_like(kernel[:, :, :1]), torch.zeros_like(kernel[:, :1, :])
    for _ in range(iterations):
        by_row = torch.where(rows, row_mass - (kernel + by_column).logsumexp(2, keepdim=True), 0)
        by_column = torch.where(columns, column_mass - (kernel + by_row).logsumexp(1, keepdim=True), 0)
    return (kernel + by_row + by_column).exp()


def _log_mass(lengths: Lengths, like: Table) -> Float[Tensor, "batch 1 1"]:
    """Log marginals: the mass of one symbol of each string, to be added to tables."""
    return -lengths.to(like.dtype).log()[:, None, None]


class MatrixScorer(nn.Module):
    """CNN scorer: convolutions of 3 x 3 cells, then max and mean pooling of each channel, then a small network.

    Cells of padding are zero before every convolution, as is what lies beyond the table.
    """

    def __init__(self, *, channels: int, layers: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(channels if layer else 1, channels, 3, padding=1) for layer in range(layers)
        )
        for convolution in self.convolutions:  # torch's own initial weights make the numbers of each layer smaller
            assert isinstance(convolution, nn.Conv2d)
            nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
        self.head = nn.Sequential(nn.Linear(2 * channels, channels), nn.ReLU(), nn.Linear(channels, 1))

    def forward(self, table: Table, real: Bool[Tensor, "batch src tgt"]) -> PerPair:
        """Logit of each table; of each at least one cell must be real."""
        mask = real[:, None].to(table.dtype)
        cells = table[:, None] * mask
        for convolution in self.convolutions:
            cells = convolution(cells).relu() * mask
        scores: Tensor = self.head(_pooled(cells, mask))
        return scores[:, 0]


def _pooled(
    cells: Float[Tensor, "batch channels src tgt"], mask: Float[Tensor, "batch 1 src tgt"]
) -> Float[Tensor, "batch both"]:
    """Masked pooling: nothing is below zero, so the zeros of padding are never the only largest values."""
    return torch.cat([cells.amax((2, 3)), cells.sum((2, 3)) / mask.sum((2, 3))], dim=1)


class SoftAlignment(NamedTuple):
    """Soft alignment: similarities of the symbols of pairs, their transport plan, and the padding mask.

    The last symbol of each string is `</s>`: so even empty strings have something to align.
    """

    similarity: Table
    plan: Table
    real: Bool[Tensor, "batch src tgt"]


class Stance(PairNetwork):
    """STANCE network: symbols in context, similarities weighted by a transport plan, and a CNN over the weighted table.

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

    def forward(self, source: PaddedStrings, target: PaddedStrings) -> PerPair:
        """See `PairNetwork.forward`."""
        similarity, plan, real = self.soft_alignment(source, target)
        cells = (source.lengths + 1) * (target.lengths + 1)
        weighted = similarity * plan * cells.to(plan.dtype).sqrt()[:, None, None]
        logits: Tensor = self.scorer(weighted, real)
        return logits

    def soft_alignment(self, source: PaddedStrings, target: PaddedStrings) -> SoftAlignment:
        """Soft alignment: the tables that the CNN reads, and people may."""
        of_source, of_target = read_both(self.source_encoder, self.target_encoder, source, target)
        of_source, of_target = self.source_norm(of_source), self.target_norm(of_target)
        similarity = of_source @ of_target.transpose(1, 2) * of_source.shape[2] ** -0.5
        similarity = similarity.to(torch.promote_types(similarity.dtype, torch.float32))  # products may be in bf16
        lengths = source.lengths + 1, target.lengths + 1
        plan = transport_plan(similarity, *lengths, temperature=self.temperature, iterations=self.iterations)
        return SoftAlignment(similarity, plan, real_pairs(*lengths, similarity))
