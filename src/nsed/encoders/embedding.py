"""Embeddings of symbols: a vector per symbol, plus one per position and one per category where these matter."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders.base import Vectors
from nsed.errors import TooLongError
from nsed.types import END, PAD, UNKNOWN

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
