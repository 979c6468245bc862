"""State dicts: a network's weights on their way to the disk and back, and in a network for more symbols.

Symbols that are new begin as copies of `<unk>`. So, before it learns, the larger network reads them as the smaller one
read them, and writes them as rarely as that wrote `<unk>`, that is next to never: nothing learned is disturbed.
"""

from collections.abc import Mapping

import torch
from jaxtyping import Float
from torch import Tensor, nn

from nsed.config import shown
from nsed.errors import ArgumentError
from nsed.types import UNKNOWN


def weights_of(network: nn.Module, *, half: bool) -> dict[str, Tensor]:
    """State dict on the CPU, tied weights once; `half` precision takes half the space."""
    dtype, state = torch.float16 if half else torch.float32, network.state_dict()
    return {name: state[name].detach().to("cpu", dtype).clone() for name in dict.fromkeys(_owners(network).values())}


def check_weights(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Compare tensors with a network, which may be on the meta device. Raises `ArgumentError` for those of another."""
    state, owners = network.state_dict(), _owners(network)
    faults = [f"{shown(name)} is missing" for name, owner in owners.items() if not {name, owner} & tensors.keys()]
    for name, value in tensors.items():
        got, expected = tuple(value.shape), tuple(state[name].shape) if name in state else None
        if expected is None:
            faults.append(f"{shown(name)} belongs to no layer")
        elif got != expected or not value.is_floating_point():
            faults.append(f"{shown(name)} is {value.dtype} of shape {got}, not a float of shape {expected}")
    if faults:
        more = f" and {len(faults) - 3} more" if len(faults) > 3 else ""
        raise ArgumentError(
            "weights", got="other tensors", expected=f"those of the settings: {'; '.join(faults[:3])}{more}"
        )


def put_weights(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Load weights of any float type, which `check_weights` has compared with it, into a network of float32."""
    named = {name: tensors[name if name in tensors else owner] for name, owner in _owners(network).items()}
    network.load_state_dict({name: value.float() for name, value in named.items()})


def _owners(network: nn.Module) -> dict[str, str]:
    """Tied weights: for each name, the first name of the same weights."""
    first: dict[int, str] = {}
    return {name: first.setdefault(id(value), name) for name, value in network.state_dict(keep_vars=True).items()}


CLASSES = ("projection.linear.weight", "projection.linear.bias")
"""Output weights, with a row per operation, not per symbol."""

Rows = Float[Tensor, "rows ..."]
MoreRows = Float[Tensor, "more ..."]


def grow_into(network: nn.Module, smaller: nn.Module) -> None:
    """Grow the vocabulary: give a network the weights of one with the same settings and, perhaps, fewer symbols."""
    given = smaller.state_dict()
    grown = {name: _grown(name, given[name], len(value)) for name, value in network.state_dict().items()}
    network.load_state_dict(grown)


def _grown(name: str, weight: Rows, rows: int) -> MoreRows:
    if len(weight) == rows:
        return weight
    return more_classes(weight, (rows - 1) // 2) if name in CLASSES else more_rows(weight, rows)


def more_rows(weight: Rows, rows: int) -> MoreRows:
    """Embedding rows for more symbols: those of the table, then copies of that of `<unk>`.

    >>> more_rows(torch.tensor([0.0, 7.0, 2.0]), 5).tolist()
    [0.0, 7.0, 2.0, 7.0, 7.0]
    """
    unknown = weight[UNKNOWN].expand(rows - len(weight), *weight.shape[1:])
    return torch.cat([weight, unknown])


def more_classes(weight: Rows, symbols: int) -> MoreRows:
    """Output rows for more symbols, of delete, each insert and each substitute: every row stays with its operation.

    >>> more_classes(torch.tensor([-1.0, 0.0, 1.0, 10.0, 11.0]), 3).tolist()
    [-1.0, 0.0, 1.0, 1.0, 10.0, 11.0, 11.0]
    """
    insert, substitute = weight[1:].chunk(2)
    return torch.cat([weight[:1], more_rows(insert, symbols), more_rows(substitute, symbols)])
