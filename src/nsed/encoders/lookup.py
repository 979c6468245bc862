"""Rows of a table of vectors, whose gradient is one matrix product: on a GPU, torch's own sorts."""

from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

MOST_ROWS = 1024
"""Tables up to this size have the product; larger ones would waste more than a sort costs."""


def looked_up(table: nn.Embedding, symbols: Int[Tensor, "batch length"]) -> Float[Tensor, "batch length dim"]:
    """The vectors of symbols. Those of padding get no gradient."""
    if not symbols.is_cuda or table.num_embeddings > MOST_ROWS:
        found: Tensor = table(symbols)
        return found
    rows: Tensor = _Lookup.apply(table.weight, symbols, table.padding_idx)  # type: ignore[no-untyped-call]  # torch's apply
    return rows


class _Lookup(torch.autograd.Function):
    """`weight[symbols]`."""

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
