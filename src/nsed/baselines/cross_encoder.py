"""Cross-encoder, the black box: one Transformer reads both strings at once, and its first symbol knows the answer."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from nsed.baselines.pair_network import Alphabets, PairNetwork
from nsed.encoders import ENCODERS, TransformerConfig
from nsed.encoders.embedding import SymbolEmbedding
from nsed.encoders.string_encoder import with_start
from nsed.text.batch import PaddedStrings
from nsed.types import END, Lengths, PerPair


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
