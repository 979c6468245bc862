"""String encoder: embedding plus encoder, from symbol numbers to contextual vectors; how both strings are read.

An embedding is a vector per symbol, plus one per position and one per category where these matter. The encoders by name
are here too: a new one is one file and one line.
"""

from typing import Any, NamedTuple

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
from nsed.encoders.rnn import RnnEncoder
from nsed.encoders.transformer import TransformerEncoder
from nsed.errors import TooLongError
from nsed.kernels.contracts import Kinds
from nsed.text.batch import PaddedStrings
from nsed.types import END, PAD, START, UNKNOWN, Lengths

MOST_ROWS = 1024
"""Largest embedding table whose gradient is a matrix product; larger ones would waste more than a sort costs."""


def looked_up(table: nn.Embedding, symbols: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length dim"]:
    """Embedding lookup: the vectors of symbols. Those of padding get no gradient."""
    if not symbols.is_cuda or table.num_embeddings > MOST_ROWS:
        found: Tensor = table(symbols)
        return found
    rows: Tensor = _Lookup.apply(table.weight, symbols, table.padding_idx)  # type: ignore[no-untyped-call]  # torch's apply
    return rows


class _Lookup(torch.autograd.Function):
    """Embedding lookup `weight[symbols]` whose gradient is a matrix product, faster for small tables on a GPU."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, symbols: Tensor, padding: int | None) -> Tensor:
        ctx.save_for_backward(symbols)
        ctx.rows, ctx.padding = len(weight), padding
        return functional.embedding(symbols, weight)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (symbols,) = ctx.saved_tensors
        rows = torch.arange(ctx.rows, device=symbols.device)[:, None]
        chosen = (rows == symbols.flatten()) & (rows != (-1 if ctx.padding is None else ctx.padding))
        return chosen.to(gradient.dtype) @ gradient.flatten(0, 1), None, None


class SymbolEmbedding(nn.Module):
    """Embedding layer, symbol numbers to vectors. Paper: section 4, symbol embeddings plus learned position embeddings.

    `positions` is how many positions can be told apart, 0 for none; `categories` how many kinds of strings (languages,
    data sources), 0 for none. In training, `hidden` is the share of symbols that are seen as unknown: so the network
    learns to do without any one of them, and what to make of an unknown one.
    """

    def __init__(
        self,
        symbols: int,
        dim: int,
        *,
        positions: int = 0,
        categories: int = 0,
        dropout: float = 0.0,
        hidden: float = 0.0,
    ) -> None:
        super().__init__()
        self.hidden = hidden
        self.symbols = nn.Embedding(symbols, dim, padding_idx=PAD)
        self.positions = nn.Embedding(positions, dim) if positions else None
        self.categories = nn.Embedding(categories, dim) if categories else None
        self.dropout = nn.Dropout(dropout)
        for part in (self.symbols, self.positions, self.categories):
            if part is not None:
                nn.init.normal_(part.weight, std=dim**-0.5)
        if self.categories is not None:
            nn.init.zeros_(self.categories.weight[UNKNOWN])

    def forward(self, symbols: Int[Tensor, "batch length"], category: Int[Tensor, " batch"] | None = None) -> Vectors:
        """Embeddings of whole strings. Raises `TooLongError` beyond the last position."""
        vectors = looked_up(self.symbols, self._partly_hidden(symbols))
        if self.positions is not None:
            self.check(symbols.shape[1])
            vectors = vectors + self.positions.weight[: symbols.shape[1]]
        if self.categories is not None and category is not None:
            vectors = vectors + self.categories(category)[:, None]
        return torch.as_tensor(self.dropout(vectors))

    @property
    def table(self) -> Float[Tensor, "symbols dim"] | None:
        """Embedding table of all symbols where nothing else matters, neither position nor category; otherwise None."""
        return None if self.positions is not None or self.categories is not None else self.symbols.weight

    def at(self, symbols: Int[Tensor, " batch"], position: int) -> Float[Tensor, "batch dim"]:
        """Embeddings of single symbols that all stand at the same position."""
        vectors: Tensor = self.symbols(symbols)
        if self.positions is not None:
            self.check(position + 1)
            vectors = vectors + self.positions.weight[position]
        return torch.as_tensor(self.dropout(vectors))

    def placed(self, symbols: Int[Tensor, " kinds"], positions: Int[Tensor, " kinds"]) -> Float[Tensor, "kinds dim"]:
        """Embeddings of single symbols, each at its own position."""
        vectors: Tensor = self.symbols(symbols)
        if self.positions is not None:
            self.check(int(positions.max()) + 1 if len(positions) else 0)
            vectors = vectors + self.positions(positions)
        return torch.as_tensor(self.dropout(vectors))

    def _partly_hidden(self, symbols: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
        if not (self.training and self.hidden):
            return symbols
        chosen = torch.rand(symbols.shape, device=symbols.device) < self.hidden
        return torch.where(chosen & (symbols > END), UNKNOWN, symbols)

    def check(self, length: int) -> None:
        """Maximum length check: a string must not have more symbols than there are positions."""
        if self.positions is not None and length > self.positions.num_embeddings:
            limit = self.positions.num_embeddings - 1  # one position is for <s> or </s>
            advice = "Train with a larger encoder.max_length, or shorten the strings."
            raise TooLongError("length", got=f"{length - 1} symbols", expected=f"at most {limit}", advice=advice)


ENCODERS.register("unigram", UnigramEncoder)
ENCODERS.register("cnn", CnnEncoder)
ENCODERS.register("rnn", RnnEncoder)
ENCODERS.register("transformer", TransformerEncoder)


def attending_kinds() -> list[str]:
    """Names of the encoders with cross-attention, those that can look at another string.

    >>> attending_kinds()
    ['rnn', 'transformer']
    """
    return [kind for kind in ENCODERS if issubclass(ENCODERS[kind], AttendingEncoder)]


class Prefix(NamedTuple):
    """Incremental encoder state: how many symbols a left-to-right encoder has read, and what it remembers of them.

    >>> encoder = StringEncoder(EncoderConfig("rnn", dim=8), symbols=10, causal=True).eval()
    >>> start: Prefix = encoder.begin(2)
    >>> vectors, prefix = encoder.step(torch.tensor([4, 5]), start)
    >>> start.position, prefix.position, vectors.shape
    (0, 1, torch.Size([2, 8]))
    """

    position: int
    state: State

    def reordered(self, rows: Int[Tensor, " chosen"]) -> "Prefix":
        """State reordered along the batch, for beam search: that of the chosen members."""
        return Prefix(self.position, reordered(self.state, rows))


class StringEncoder(nn.Module):
    """Embedding and encoder of one side of a model; `causal` reads left to right only, and can go symbol by symbol.

    With `attends` it looks at another string, which `forward` and `step` then must be given.

    >>> encoder = StringEncoder(EncoderConfig("rnn", dim=8), symbols=10, causal=False).eval()
    >>> encoder(torch.tensor([[4, 5, END]]), torch.tensor([3])).shape
    torch.Size([1, 3, 8])
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
