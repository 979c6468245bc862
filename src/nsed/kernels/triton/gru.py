"""GRU on a GPU, several directions in the same steps: a step is one product for all, and one kernel.

Torch's own does a direction after the other, and takes longer for the biases' gradient than for the recurrence. Gates
stand in the order of torch's GRU: reset, update, new. The kernels' tables are [directions, steps, batch, ...].
"""

from collections.abc import Sequence
from typing import Any

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor, nn

from nsed.kernels.contracts import Kinds, Order, Vectors
from nsed.kernels.torch.gru import read_next
from nsed.kernels.triton import launch, power_of_two

__all__ = ["read_both_ways", "read_next", "read_onward"]  # one symbol more is torch's own

PARAMETERS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


def read_onward(unit: nn.GRU, strings: Vectors, kinds: Kinds | None = None) -> Vectors:
    """See `GruKernel.read_onward`."""
    (read,) = read_all([unit], [strings])
    return read


def read_both_ways(
    units: tuple[nn.GRU, nn.GRU], strings: Vectors, back: Order, kinds: Kinds | None = None
) -> Float[Tensor, "batch length both"]:
    """See `GruKernel.read_both_ways`."""
    places = back[:, :, None].expand_as(strings)
    from_left, from_right = read_all(units, [strings, strings.gather(1, places)])
    return torch.cat([from_left, from_right.gather(1, places)], dim=-1)


def read_all(units: Sequence[nn.GRU], strings: Sequence[Vectors]) -> list[Vectors]:
    """GRU outputs of each unit for its strings, from left to right; all strings have the same size."""
    by_step = torch.stack([one.transpose(0, 1) for one in strings])
    parts = [torch.stack([getattr(unit, name) for unit in units]) for name in PARAMETERS]
    hidden: Tensor = _Recurrence.apply(by_step, *parts)
    return [one.transpose(0, 1) for one in hidden]


class _Recurrence(torch.autograd.Function):
    """GRU recurrence: strings [directions, steps, batch, dim], weights [directions, 3 * dim, dim], biases alike."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx: Any, strings: Tensor, of_input: Tensor, of_hidden: Tensor, *biases: Tensor) -> Tensor:
        directions, steps, batch, dim = strings.shape
        gates = torch.baddbmm(biases[0][:, None], strings.flatten(1, 2), of_input.mT)
        hidden, kept = strings.new_empty(directions, steps + 1, batch, dim), torch.empty_like(strings)
        hidden[:, 0] = 0
        grid, sizes = (batch, directions), _sizes(dim)
        for step in range(steps):
            recurrent = torch.bmm(hidden[:, step], of_hidden.mT)
            launch(step_forward, grid, gates, recurrent, biases[1], hidden, kept, step, steps, batch, **sizes)
        ctx.save_for_backward(strings, of_input, of_hidden, gates, hidden, kept)
        return hidden[:, 1:].clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]  # torch's decorators hide its arguments
        strings, of_input, of_hidden, gates, hidden, kept = ctx.saved_tensors
        directions, steps, batch, dim = strings.shape
        carried, to_input = torch.zeros_like(hidden[:, 0]), torch.empty_like(gates)
        to_recurrent, given = gates.new_empty(directions, steps, batch, 3 * dim), gradient.contiguous()
        grid, sizes = (batch, directions), _sizes(dim)
        for step in range(steps - 1, -1, -1):
            launch(
                step_backward,
                grid,
                gates,
                hidden,
                kept,
                given,
                carried,
                to_input,
                to_recurrent,
                step,
                steps,
                batch,
                **sizes,
            )
            carried = carried.baddbmm_(to_recurrent[:, step], of_hidden)
        to_recurrent = to_recurrent.flatten(1, 2)
        to_strings = torch.bmm(to_input, of_input).view_as(strings)
        by_input = _products(to_input, strings.flatten(1, 2))
        by_hidden = _products(to_recurrent, hidden[:, :-1].flatten(1, 2))
        return to_strings, by_input, by_hidden, to_input.sum(1), to_recurrent.sum(1)


def _products(gates: Tensor, vectors: Tensor) -> Tensor:
    """Weight gradients: sums over all symbols, one product per direction; a batched product would not cut the sum."""
    return torch.stack([of_gates.T @ of_vectors for of_gates, of_vectors in zip(gates, vectors, strict=True)])


def _sizes(dim: int) -> dict[str, int]:
    return {"DIM": dim, "BLOCK": power_of_two(dim, least=16)}


@triton.jit
def sigmoid(x):
    """The logistic function."""
    return 1.0 / (1.0 + tl.exp(-x))


@triton.jit
def tanh(x):
    """The hyperbolic tangent, from the side where nothing overflows."""
    e = tl.exp(-2.0 * tl.abs(x))
    return tl.where(x >= 0, 1.0, -1.0) * (1.0 - e) / (1.0 + e)


@triton.jit(do_not_specialize=["step", "steps", "batch"])
def step_forward(gates, recurrent, bias, hidden, kept, step, steps, batch, DIM: tl.constexpr, BLOCK: tl.constexpr):
    """`gates` holds what the input says, and then the gates; `hidden[step]` is read, `hidden[step + 1]` written."""
    direction, row, k = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = k < DIM
    here = (direction * steps + step) * batch + row
    gate, above = gates + here * 3 * DIM + k, recurrent + (direction * batch + row) * 3 * DIM + k
    base = bias + direction * 3 * DIM + k
    before = ((direction * (steps + 1) + step) * batch + row) * DIM + k
    reset = tl.load(gate, mask=inside) + tl.load(above, mask=inside) + tl.load(base, mask=inside)
    update = tl.load(gate + DIM, mask=inside) + tl.load(above + DIM, mask=inside) + tl.load(base + DIM, mask=inside)
    reset, update = sigmoid(reset), sigmoid(update)
    remembered = tl.load(above + 2 * DIM, mask=inside) + tl.load(base + 2 * DIM, mask=inside)
    new = tanh(tl.load(gate + 2 * DIM, mask=inside) + reset * remembered)
    after = (1.0 - update) * new + update * tl.load(hidden + before, mask=inside)
    tl.store(gate, reset, mask=inside)
    tl.store(gate + DIM, update, mask=inside)
    tl.store(gate + 2 * DIM, new, mask=inside)
    tl.store(kept + here * DIM + k, remembered, mask=inside)
    tl.store(hidden + before + batch * DIM, after, mask=inside)


@triton.jit(do_not_specialize=["step", "steps", "batch"])
def step_backward(
    gates, hidden, kept, gradient, carried, to_input, to_recurrent, step, steps, batch,
    DIM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip  # an argument a line would be a page
    """Gradients by what enters a step's gates.

    `carried` comes with what later steps give to the hidden state after this one, and goes with what this one gives
    directly to the state before it.
    """
    direction, row, k = tl.program_id(1).to(tl.int64), tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    inside = k < DIM
    here = (direction * steps + step) * batch + row
    gate, carry = gates + here * 3 * DIM + k, carried + (direction * batch + row) * DIM + k
    before = ((direction * (steps + 1) + step) * batch + row) * DIM + k
    given = tl.load(gradient + here * DIM + k, mask=inside) + tl.load(carry, mask=inside)
    reset, update = tl.load(gate, mask=inside), tl.load(gate + DIM, mask=inside)
    new = tl.load(gate + 2 * DIM, mask=inside)
    to_new = given * (1.0 - update) * (1.0 - new * new)
    to_update = given * (tl.load(hidden + before, mask=inside) - new) * update * (1.0 - update)
    to_reset = to_new * tl.load(kept + here * DIM + k, mask=inside) * reset * (1.0 - reset)
    place = here * 3 * DIM + k
    tl.store(to_input + place, to_reset, mask=inside)
    tl.store(to_input + place + DIM, to_update, mask=inside)
    tl.store(to_input + place + 2 * DIM, to_new, mask=inside)
    tl.store(to_recurrent + place, to_reset, mask=inside)
    tl.store(to_recurrent + place + DIM, to_update, mask=inside)
    tl.store(to_recurrent + place + 2 * DIM, to_new * reset, mask=inside)
    tl.store(carry, given * update, mask=inside)
