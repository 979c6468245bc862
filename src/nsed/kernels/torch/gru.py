"""GRU over whole strings, as torch has it: the readable twin, which can also learn."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nsed.kernels.contracts import Kinds, Order, Vectors


def read_onward(unit: nn.GRU, strings: Vectors, kinds: Kinds | None = None) -> Vectors:
    """See `GruKernel.read_onward`."""
    read: Tensor = unit(strings)[0]
    return read


def read_both_ways(
    units: tuple[nn.GRU, nn.GRU], strings: Vectors, back: Order, kinds: Kinds | None = None
) -> Float[Tensor, "batch length both"]:
    """See `GruKernel.read_both_ways`: the strings are turned round, read, and turned round again."""
    places = back[:, :, None].expand_as(strings)
    turned = strings.gather(1, places)
    from_left, from_right = read_onward(units[0], strings), read_onward(units[1], turned)
    return torch.cat([from_left, from_right.gather(1, places)], dim=-1)


def read_next(
    unit: nn.GRU, vector: Float[Tensor, "batch dim"], hidden: Float[Tensor, "batch dim"], kinds: Kinds | None = None
) -> Float[Tensor, "batch dim"]:
    """See `GruKernel.read_next`."""
    _, after = unit(vector[:, None], hidden[None].contiguous())
    return torch.as_tensor(after[0])
