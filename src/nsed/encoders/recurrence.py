"""Gated recurrent units over whole strings: torch's, and on a GPU several directions in the same steps.

On a GPU a step is one product for all directions and one kernel; torch's own does a direction after the other, and
takes longer for the biases' gradient than for the recurrence. On a CPU, where nothing is learned, see `compiled_gru`.
"""

from collections.abc import Sequence
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nsed.encoders.base import Kinds
from nsed.encoders.compiled_gru import Strings, can_read, read_strings
from nsed.kernels.gpu import launch, power_of_two, runs_triton

KERNELS = "nsed.kernels.triton_gru"


def read_onward(unit: nn.GRU, strings: Strings, kinds: Kinds | None = None) -> Strings:
    """What a unit makes of strings, from left to right."""
    if can_read(unit, strings):
        return read_strings(unit, strings, torch.arange(strings.shape[1]).expand(strings.shape[:2]), kinds=kinds)
    (read,) = read_all([unit], [strings])
    return read


def read_both_ways(
    onward: nn.GRU, backward: nn.GRU, strings: Strings, back: Int[Tensor, "batch length"], kinds: Kinds | None = None
) -> Float[Tensor, "batch length both"]:
    """What two units make of strings, side by side; the second reads the symbols in the order `back`."""
    if can_read(onward, strings):
        return torch.cat(
            [read_onward(onward, strings, kinds), read_strings(backward, strings, back, kinds=kinds)], dim=-1
        )
    places = back[:, :, None].expand_as(strings)
    from_left, from_right = read_all([onward, backward], [strings, strings.gather(1, places)])
    return torch.cat([from_left, from_right.gather(1, places)], dim=-1)


def read_next(
    unit: nn.GRU, vector: Float[Tensor, "batch dim"], hidden: Float[Tensor, "batch dim"], kinds: Kinds | None = None
) -> Float[Tensor, "batch dim"]:
    """The hidden state after one symbol more, which is also what the unit makes of it."""
    if can_read(unit, vector):
        here = torch.zeros(len(vector), 1, dtype=torch.long)
        return read_strings(unit, vector[:, None], here, kinds=kinds, hidden=hidden)[:, 0]
    _, after = unit(vector[:, None], hidden[None].contiguous())
    return torch.as_tensor(after[0])


def read_all(units: Sequence[nn.GRU], strings: Sequence[Strings]) -> list[Strings]:
    """What each unit makes of its strings, from left to right; all strings have the same size."""
    if not _can_run(units[0], strings[0]):
        return [unit(one)[0] for unit, one in zip(units, strings, strict=True)]
    by_step = torch.stack([one.transpose(0, 1) for one in strings])
    parts = [torch.stack([getattr(unit, name) for unit in units]) for name in PARAMETERS]
    hidden: Tensor = _Recurrence.apply(by_step, *parts)  # type: ignore[no-untyped-call]  # torch's apply
    return [one.transpose(0, 1) for one in hidden]


def _can_run(unit: nn.GRU, string: Strings) -> bool:
    """Whether the kernels do strings of this kind, here: weights in float32, under autocast or not."""
    return runs_triton(string) and string.numel() > 0 and unit.weight_ih_l0.dtype == torch.float32


PARAMETERS = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")


class _Recurrence(torch.autograd.Function):
    """Strings [directions, steps, batch, dim], weights [directions, 3 * dim, dim], biases [directions, 3 * dim]."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)  # type: ignore[untyped-decorator]  # torch's own
    def forward(ctx: Any, strings: Tensor, of_input: Tensor, of_hidden: Tensor, *biases: Tensor) -> Tensor:
        directions, steps, batch, dim = strings.shape
        gates = torch.baddbmm(biases[0][:, None], strings.flatten(1, 2), of_input.mT)
        hidden, kept = strings.new_empty(directions, steps + 1, batch, dim), torch.empty_like(strings)
        hidden[:, 0] = 0
        grid, sizes = (batch, directions), _sizes(dim)
        for step in range(steps):
            recurrent = torch.bmm(hidden[:, step], of_hidden.mT)
            launch(
                KERNELS, "step_forward", grid, gates, recurrent, biases[1], hidden, kept, step, steps, batch, **sizes
            )
        ctx.save_for_backward(strings, of_input, of_hidden, gates, hidden, kept)
        return hidden[:, 1:].clone()

    @staticmethod
    @torch.autograd.function.once_differentiable
    @torch.amp.custom_bwd(device_type="cuda")  # type: ignore[untyped-decorator]  # torch's own
    def backward(ctx: Any, gradient: Tensor) -> Any:  # type: ignore[override]  # torch's decorators hide its arguments
        strings, of_input, of_hidden, gates, hidden, kept = ctx.saved_tensors
        directions, steps, batch, dim = strings.shape
        carried, to_input = torch.zeros_like(hidden[:, 0]), torch.empty_like(gates)
        to_recurrent, given = gates.new_empty(directions, steps, batch, 3 * dim), gradient.contiguous()
        grid, sizes = (batch, directions), _sizes(dim)
        for step in range(steps - 1, -1, -1):
            launch(
                KERNELS,
                "step_backward",
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
    """Sums over all symbols, one product per direction: a batch of products would not be cut along so long a sum."""
    return torch.stack([of_gates.T @ of_vectors for of_gates, of_vectors in zip(gates, vectors, strict=True)])


def _sizes(dim: int) -> dict[str, int]:
    return {"DIM": dim, "BLOCK": power_of_two(dim, least=16)}
