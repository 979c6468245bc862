"""String encoder: embedding plus encoder, from symbol numbers to contextual vectors; how both strings are read.

The encoders by name are here too: a new one is one file and one line.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders.base import (
    ENCODERS,
    Attended,
    AttendingEncoder,
    Attention,
    EncoderConfig,
    State,
    UnigramEncoder,
    Vectors,
    reordered,
)
from nsed.encoders.cnn import CnnEncoder
from nsed.encoders.embedding import SymbolEmbedding
from nsed.encoders.rnn import RnnEncoder
from nsed.encoders.transformer import TransformerEncoder
from nsed.kernels.contracts import Kinds
from nsed.text.batch import PaddedStrings
from nsed.types import END, PAD, START, Lengths

ENCODERS.register("unigram", UnigramEncoder)
ENCODERS.register("cnn", CnnEncoder)
ENCODERS.register("rnn", RnnEncoder)
ENCODERS.register("transformer", TransformerEncoder)


def attending_kinds() -> list[str]:
    """Names of the encoders with cross-attention, those that can look at another string."""
    return [kind for kind in ENCODERS if issubclass(ENCODERS[kind], AttendingEncoder)]


class Prefix(NamedTuple):
    """Incremental encoder state: how many symbols a left-to-right encoder has read, and what it remembers of them."""

    position: int
    state: State

    def reordered(self, rows: Int[Tensor, " chosen"]) -> "Prefix":
        """State reordered along the batch, for beam search: that of the chosen members."""
        return Prefix(self.position, reordered(self.state, rows))


class StringEncoder(nn.Module):
    """Embedding and encoder of one side of a model; `causal` reads left to right only, and can go symbol by symbol.

    With `attends` it looks at another string, which `forward` and `step` then must be given.
    """

    def __init__(
        self, config: EncoderConfig, symbols: int, *, causal: bool, categories: int = 0, attends: bool = False
    ) -> None:
        super().__init__()
        self.attends, kind = attends, ENCODERS[config.kind]
        self.encoder = kind(config, causal=causal, attends=True) if attends else kind(config, causal=causal)
        placed = config.positions and self.encoder.needs_positions
        positions = config.max_length + 1 if placed else 0  # one more for <s> or </s>
        self.embedding = SymbolEmbedding(
            symbols,
            config.dim,
            positions=positions,
            categories=categories,
            dropout=config.dropout,
            hidden=config.hidden,
        )

    def forward(
        self,
        symbols: Int[Tensor, "batch length"],
        lengths: Lengths,
        category: Int[Tensor, " batch"] | None = None,
        *,
        attended: Attended | None = None,
    ) -> Vectors:
        """Contextual vectors of whole strings."""
        vectors = self.embedding(symbols, category)
        encoded: Tensor = self.encoder(vectors, lengths, attended, **self._kinds(symbols))
        return encoded

    def _kinds(self, symbols: Int[Tensor, "batch length"]) -> dict[str, Kinds]:
        """Deduplicated embeddings for an encoder that wants them, where there are more symbols than kinds of them."""
        if not self.encoder.wants_kinds or self.training or symbols.numel() <= self.embedding.symbols.num_embeddings:
            return {}
        table = self.embedding.table
        return {} if table is None else {"kinds": Kinds(table, symbols)}

    def attention(self, symbols: Int[Tensor, "batch length"], lengths: Lengths, attended: Attended) -> Attention:
        """Cross-attention weights over the other string; only for an encoder that attends."""
        assert self.attends
        assert isinstance(self.encoder, AttendingEncoder)
        return self.encoder.attention(self.embedding(symbols), lengths, attended)

    def without_context(
        self, symbols: Int[Tensor, " kinds"], positions: Int[Tensor, " kinds"]
    ) -> Float[Tensor, "kinds dim"]:
        """Context-free vectors of single symbols at given positions; only for an encoder that sees no context."""
        assert not self.encoder.sees_context
        vectors = self.embedding.placed(symbols, positions)
        encoded: Tensor = self.encoder(vectors[:, None], torch.ones_like(symbols))
        return encoded[:, 0]

    @property
    def longest(self) -> int | None:
        """Maximum length: symbols of a string at most, beside `<s>` or `</s>`; None for any number."""
        positions = self.embedding.positions
        return None if positions is None else positions.num_embeddings - 1

    def begin(self, batch: int) -> Prefix:
        """Initial state, before the first symbol."""
        weight = self.embedding.symbols.weight
        return Prefix(0, self.encoder.begin(weight.new_zeros(batch, weight.shape[1])))

    def step(
        self, symbols: Int[Tensor, " batch"], prefix: Prefix, attended: Attended | None = None
    ) -> tuple[Float[Tensor, "batch dim"], Prefix]:
        """Incremental step: one more symbol of each string, all at the same position."""
        vector = self.embedding.at(symbols, prefix.position)
        encoded, state = self.encoder.step(vector, prefix.state, attended, **self._kinds(symbols[:, None]))
        return torch.as_tensor(encoded), Prefix(prefix.position + 1, state)


def with_end(symbols: Int[Tensor, "batch n"], lengths: Lengths) -> Int[Tensor, "batch n+1"]:
    """End symbol appended to each string: vector i is then the next symbol after i consumed ones."""
    places = torch.arange(symbols.shape[1] + 1, device=symbols.device)
    return torch.where(places == lengths[:, None], END, functional.pad(symbols, (0, 1)))


def with_start(symbols: Int[Tensor, "batch m"]) -> Int[Tensor, "batch m+1"]:
    """Start symbol prepended to each string: vector j is then the last symbol of j produced ones."""
    return functional.pad(symbols, (1, 0), value=START)


def read_by(encoder: StringEncoder, side: PaddedStrings) -> Vectors:
    """Encoder output for one side: the contextual vectors of its symbols, `</s>` included."""
    vectors: Tensor = encoder(with_end(side.symbols, side.lengths), side.lengths + 1, side.category)
    return vectors


def read_both(
    source_encoder: StringEncoder, target_encoder: StringEncoder, source: PaddedStrings, target: PaddedStrings
) -> tuple[Float[Tensor, "batch src dim"], Float[Tensor, "batch tgt dim"]]:
    """Encoder output for both sides, `</s>` included; where one encoder reads both, it does so in one batch."""
    if target_encoder is source_encoder:
        of_source, of_target = read_by(source_encoder, concatenated(source, target)).chunk(2)
        return of_source[:, : source.symbols.shape[1] + 1], of_target[:, : target.symbols.shape[1] + 1]
    return read_by(source_encoder, source), read_by(target_encoder, target)


def concatenated(source: PaddedStrings, target: PaddedStrings) -> PaddedStrings:
    """Concatenated batch: both sides as one, the sources first."""
    width = max(source.symbols.shape[1], target.symbols.shape[1])
    symbols = [functional.pad(side.symbols, (0, width - side.symbols.shape[1]), value=PAD) for side in (source, target)]
    category = None
    if source.category is not None and target.category is not None:
        category = torch.cat([source.category, target.category])
    return PaddedStrings(torch.cat(symbols), torch.cat([source.lengths, target.lengths]), category)
