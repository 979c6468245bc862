"""A trained network's weights in a network for more symbols: what training starts from when an alphabet has grown.

Symbols that are new begin as copies of `<unk>`. So, before it learns, the larger network reads them as the smaller one
read them, and writes them as rarely as that wrote `<unk>`, that is next to never: nothing learned is disturbed.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nsed.types import UNKNOWN

CLASSES = ("projection.linear.weight", "projection.linear.bias")
"""Weights with a row per operation, not per symbol."""

Rows = Float[Tensor, "rows ..."]
MoreRows = Float[Tensor, "more ..."]


def grow_into(network: nn.Module, smaller: nn.Module) -> None:
    """Give a network the weights of one with the same settings and, perhaps, fewer symbols."""
    given = smaller.state_dict()
    grown = {name: _grown(name, given[name], len(value)) for name, value in network.state_dict().items()}
    network.load_state_dict(grown)


def _grown(name: str, weight: Rows, rows: int) -> MoreRows:
    if len(weight) == rows:
        return weight
    return more_classes(weight, (rows - 1) // 2) if name in CLASSES else more_rows(weight, rows)


def more_rows(weight: Rows, rows: int) -> MoreRows:
    """The rows of a table of symbols, then copies of that of `<unk>`.

    >>> more_rows(torch.tensor([0.0, 7.0, 2.0]), 5).tolist()
    [0.0, 7.0, 2.0, 7.0, 7.0]
    """
    unknown = weight[UNKNOWN].expand(rows - len(weight), *weight.shape[1:])
    return torch.cat([weight, unknown])


def more_classes(weight: Rows, symbols: int) -> MoreRows:
    """The rows of delete, of each insert and of each substitute, for more symbols: every row stays with its operation.

    >>> more_classes(torch.tensor([-1.0, 0.0, 1.0, 10.0, 11.0]), 3).tolist()
    [-1.0, 0.0, 1.0, 1.0, 10.0, 11.0, 11.0]
    """
    insert, substitute = weight[1:].chunk(2)
    return torch.cat([weight[:1], more_rows(insert, symbols), more_rows(substitute, symbols)])
