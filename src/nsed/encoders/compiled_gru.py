"""Gated recurrent units where nothing is learned, on a CPU (extra `cpu`): matrix products by torch, the rest compiled.

Equal to torch's own, which does a dozen passes over the hidden states in a step, but without turning strings round, and
with one product per kind of symbol where the vectors are those of symbols without context.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders.base import Kinds
from nsed.kernels.compiled import array, has_numba

Strings = Float[Tensor, "batch length dim"]
Order = Int[Tensor, "batch length"]
"""At which place of its string the first, second, ... symbol to be read stands."""


class _Weights(NamedTuple):
    """In the order in which torch has them."""

    of_input: Tensor
    of_hidden: Tensor
    input_bias: Tensor
    hidden_bias: Tensor

    @classmethod
    def of(cls, unit: nn.GRU) -> "_Weights":
        return cls(*unit.parameters())

    def of_inputs(self, vectors: Float[Tensor, "rows dim"]) -> Float[Tensor, "rows gates"]:
        return functional.linear(vectors, self.of_input, self.input_bias)


AT_ONCE = 512
"""Rows of products that are made at once: more would not stay in the cache until their step comes."""


def can_read(unit: nn.GRU, vectors: Float[Tensor, "*places dim"]) -> bool:
    """Whether there is nothing to learn, and a kernel for the device and type of these."""
    if vectors.device.type != "cpu" or torch.is_autocast_enabled("cpu") or not has_numba():
        return False
    parts = vectors, *unit.parameters()
    learns = torch.is_grad_enabled() and any(part.requires_grad for part in parts)
    return not learns and all(part.dtype == torch.float32 for part in parts)


def read_strings(
    unit: nn.GRU,
    vectors: Strings,
    order: Order,
    *,
    kinds: Kinds | None = None,
    hidden: Float[Tensor, "batch dim"] | None = None,
) -> Strings:
    """The hidden state after each symbol, at the symbol's own place; `hidden` is the one before the first."""
    weights, step = _Weights.of(unit), import_module("nsed.kernels.numba_gru").step
    batch, length, dim = vectors.shape
    now = vectors.new_zeros(batch, dim) if hidden is None else hidden.clone(memory_format=torch.contiguous_format)
    out = torch.empty_like(vectors, memory_format=torch.contiguous_format)
    of_hidden = vectors.new_empty(batch, 3 * dim)
    kinds = kinds or Kinds(vectors.reshape(-1, dim), torch.arange(batch * length).view(batch, length))
    for places, (of_inputs, numbers) in zip(order.T, _of_inputs(weights, kinds, order), strict=True):
        torch.addmm(weights.hidden_bias, now, weights.of_hidden.T, out=of_hidden)
        step(*map(array, (of_inputs, numbers, of_hidden, now, out, places)))  # a second thread would gain nothing
    return out


def _of_inputs(weights: _Weights, kinds: Kinds, order: Order) -> Iterator[tuple[Tensor, Tensor]]:
    """For each step, products of vectors with the weights, and which row of them is whose."""
    chosen = kinds.symbols.gather(1, order).T
    if len(kinds.table) <= AT_ONCE:
        made = weights.of_inputs(kinds.table)
        yield from ((made, numbers) for numbers in chosen)
    else:
        rows = torch.arange(len(order))
        yield from ((weights.of_inputs(kinds.table[numbers]), rows) for numbers in chosen)
