"""GRU inference on a CPU: matrix products by torch, the rest compiled; nothing is learned here.

Equal to torch's own, which does a dozen passes over the hidden states in a step, but without turning strings round, and
with one product per kind of symbol where the vectors are those of symbols without context.
"""

import torch
from jaxtyping import Float
from numba import njit
from torch import Tensor, nn
from torch.nn import functional

from nsed.kernels.contracts import Kinds, Order, Vectors
from nsed.kernels.numba.math import exp_below_zero

AT_ONCE = 512
"""Chunk size: rows of products that are made at once; more would not stay in the cache until their step comes."""
compiled = njit(nogil=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})


def read_onward(unit: nn.GRU, strings: Vectors, kinds: Kinds | None = None) -> Vectors:
    """See `GruKernel.read_onward`."""
    return read_strings(unit, strings, torch.arange(strings.shape[1]).expand(strings.shape[:2]), kinds=kinds)


def read_both_ways(
    units: tuple[nn.GRU, nn.GRU], strings: Vectors, back: Order, kinds: Kinds | None = None
) -> Float[Tensor, "batch length both"]:
    """See `GruKernel.read_both_ways`."""
    onward = torch.arange(strings.shape[1]).expand(strings.shape[:2])
    from_left = read_strings(units[0], strings, onward, kinds=kinds)
    return torch.cat([from_left, read_strings(units[1], strings, back, kinds=kinds)], dim=-1)


def read_next(
    unit: nn.GRU, vector: Float[Tensor, "batch dim"], hidden: Float[Tensor, "batch dim"], kinds: Kinds | None = None
) -> Float[Tensor, "batch dim"]:
    """See `GruKernel.read_next`."""
    here = torch.zeros(len(vector), 1, dtype=torch.long)
    return read_strings(unit, vector[:, None], here, kinds=kinds, hidden=hidden)[:, 0]


def read_strings(
    unit: nn.GRU,
    vectors: Vectors,
    order: Order,
    *,
    kinds: Kinds | None = None,
    hidden: Float[Tensor, "batch dim"] | None = None,
) -> Vectors:
    """The hidden state after each symbol, at the symbol's own place; `hidden` is the one before the first."""
    of_input, of_hidden, input_bias, hidden_bias = unit.parameters()
    batch, length, dim = vectors.shape
    now = vectors.new_zeros(batch, dim) if hidden is None else hidden.clone(memory_format=torch.contiguous_format)
    out = torch.empty_like(vectors, memory_format=torch.contiguous_format)
    recurrent = vectors.new_empty(batch, 3 * dim)
    kinds = kinds or Kinds(vectors.reshape(-1, dim), torch.arange(batch * length).view(batch, length))
    table, few, rows = kinds.table, len(kinds.table) <= AT_ONCE, torch.arange(batch)
    made = functional.linear(table, of_input, input_bias) if few else table
    for places, numbers in zip(order.T, kinds.symbols.gather(1, order).T, strict=True):
        inputs = made if few else functional.linear(table[numbers], of_input, input_bias)
        torch.addmm(hidden_bias, now, of_hidden.T, out=recurrent)
        which = numbers.contiguous() if few else rows
        step(  # a second thread would gain nothing
            inputs.detach().contiguous().numpy(), which.numpy(), recurrent.numpy(), now.numpy(), out.numpy(),
            places.contiguous().numpy(),
        )  # fmt: skip  # an argument a line would be a page
    return out


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
