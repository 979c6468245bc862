"""Gated recurrent units where nothing is learned, on a CPU: matrix products by torch, the rest compiled.

Equal to torch's own, which does a dozen passes over the hidden states in a step, but without turning strings round, and
with one product per kind of symbol where the vectors are those of symbols without context.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float
from numba import njit
from torch import Tensor, nn
from torch.nn import functional

from nsed.kernels.contracts import Kinds, Order, Vectors
from nsed.kernels.numba.launch import array
from nsed.kernels.numba.math import exp_below_zero

AT_ONCE = 512
"""Rows of products that are made at once: more would not stay in the cache until their step comes."""
compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


def read_onward(unit: nn.GRU, strings: Vectors, kinds: Kinds | None = None) -> Vectors:
    """See `GruKernel.read_onward`."""
    return read_strings(unit, strings, torch.arange(strings.shape[1]).expand(strings.shape[:2]), kinds=kinds)


def read_both_ways(
    units: tuple[nn.GRU, nn.GRU], strings: Vectors, back: Order, kinds: Kinds | None = None
) -> Float[Tensor, "batch length both"]:
    """See `GruKernel.read_both_ways`."""
    from_left = read_onward(units[0], strings, kinds)
    return torch.cat([from_left, read_strings(units[1], strings, back, kinds=kinds)], dim=-1)


def read_next(
    unit: nn.GRU, vector: Float[Tensor, "batch dim"], hidden: Float[Tensor, "batch dim"], kinds: Kinds | None = None
) -> Float[Tensor, "batch dim"]:
    """See `GruKernel.read_next`."""
    here = torch.zeros(len(vector), 1, dtype=torch.long)
    return read_strings(unit, vector[:, None], here, kinds=kinds, hidden=hidden)[:, 0]


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


def read_strings(
    unit: nn.GRU,
    vectors: Vectors,
    order: Order,
    *,
    kinds: Kinds | None = None,
    hidden: Float[Tensor, "batch dim"] | None = None,
) -> Vectors:
    """The hidden state after each symbol, at the symbol's own place; `hidden` is the one before the first."""
    weights = _Weights.of(unit)
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


@compiled
def _advance(of_input, of_hidden, hidden, out):
    zero, one, dim = hidden.dtype.type(0), hidden.dtype.type(1), hidden.size
    for k in range(dim):
        total = of_input[k] + of_hidden[k]
        small = exp_below_zero(-abs(total))
        reset = (one if total > zero else small) / (one + small)
        total = of_input[dim + k] + of_hidden[dim + k]
        small = exp_below_zero(-abs(total))
        update = (one if total > zero else small) / (one + small)
        total = of_input[dim + dim + k] + reset * of_hidden[dim + dim + k]
        small = exp_below_zero(-abs(total) - abs(total))
        new = (one - small) / (one + small)
        new = new if total > zero else -new
        hidden[k] = new + update * (hidden[k] - new)
        out[k] = hidden[k]


@compiled
def step(of_inputs, numbers, of_hidden, hidden, out, places):
    """The next symbol of every string: new hidden states, also into `out` at the symbols' places.

    The products of a symbol's vector with the weights are row `numbers[string]` of `of_inputs`.
    """
    for string in range(len(hidden)):
        at = places[string]
        _advance(of_inputs[numbers[string]], of_hidden[string], hidden[string], out[string, at])
