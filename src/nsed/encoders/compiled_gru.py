"""Gated recurrent units where nothing is learned, on a CPU (extra `cpu`): matrix products by torch, the rest compiled.

Equal to torch's own, which does a dozen passes over the hidden states in a step, but without turning strings round, and
with one product per kind of symbol where the vectors are those of symbols without context.
"""

from importlib import import_module
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders.base import Kinds
from nsed.lattice.backends.compiled import array, has_numba

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


def can_read(unit: nn.GRU, vectors: Float[Tensor, "*places dim"]) -> bool:
    """Whether there is nothing to learn, and a kernel for the device and type of these."""
    if vectors.device.type != "cpu" or torch.is_autocast_enabled("cpu") or not has_numba():
        return False
    parts = vectors, *unit.parameters()
    learns = torch.is_grad_enabled() and any(part.requires_grad for part in parts)
    return not learns and all(part.dtype == torch.float32 for part in parts)


def read_strings(unit: nn.GRU, vectors: Strings, order: Order, kinds: Kinds | None) -> Strings:
    """The hidden state after each symbol, at the symbol's own place."""
    batch, length, dim = vectors.shape
    table, symbols = kinds or Kinds(vectors.reshape(-1, dim), torch.arange(batch * length).view(batch, length))
    of_inputs, numbers = _Weights.of(unit).of_inputs(table), symbols.gather(1, order)
    hidden, out = vectors.new_zeros(batch, dim), torch.empty_like(vectors, memory_format=torch.contiguous_format)
    _advance(unit, of_inputs, numbers, hidden, out, order)
    return out


def read_symbol(
    unit: nn.GRU, vector: Float[Tensor, "batch dim"], hidden: Float[Tensor, "batch dim"], kinds: Kinds | None
) -> Float[Tensor, "batch dim"]:
    """The hidden state after one symbol more."""
    table, symbols = kinds or Kinds(vector, torch.arange(len(vector))[:, None])
    hidden, out = hidden.clone(memory_format=torch.contiguous_format), hidden.new_empty(len(hidden), 1, hidden.shape[1])
    _advance(unit, _Weights.of(unit).of_inputs(table), symbols, hidden, out, torch.zeros_like(symbols))
    return out[:, 0]


def _advance(
    unit: nn.GRU,
    of_inputs: Float[Tensor, "rows gates"],
    numbers: Order,
    hidden: Float[Tensor, "batch dim"],
    out: Strings,
    order: Order,
) -> None:
    """All steps; `hidden` and `out` are written to."""
    step, weights = import_module("nsed.encoders.numba_gru").step, _Weights.of(unit)
    of_hidden = hidden.new_empty(len(hidden), of_inputs.shape[1])
    arrays = [array(part) for part in (of_inputs, numbers, of_hidden, hidden, out, order)]
    for place in range(order.shape[1]):
        torch.addmm(weights.hidden_bias, hidden, weights.of_hidden.T, out=of_hidden)
        step(*arrays, place)
