"""A network's weights, on their way to the disk and back."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from nsed.errors import ArgumentError


def weights_of(network: nn.Module, *, half: bool) -> dict[str, Tensor]:
    """All weights on the CPU, those that two parts share once; `half` precision takes half the space."""
    dtype, state = torch.float16 if half else torch.float32, network.state_dict()
    return {name: state[name].detach().to("cpu", dtype).clone() for name in dict.fromkeys(_owners(state).values())}


def put_weights(network: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Put weights of any float type into a network of float32. Raises `ArgumentError` for those of another one."""
    state = network.state_dict()
    shared = {name: owner for name, owner in _owners(state).items() if name not in tensors and owner in tensors}
    complete = {**tensors, **{name: tensors[owner] for name, owner in shared.items()}}
    try:
        network.load_state_dict({name: value.float() for name, value in complete.items()})
    except RuntimeError as error:
        raise ArgumentError("weights", got="other tensors", expected=f"those of the settings: {error}") from None


def _owners(state: Mapping[str, Tensor]) -> dict[str, str]:
    """For each name, the first name of the same weights."""
    first: dict[int, str] = {}
    return {name: first.setdefault(value.data_ptr(), name) for name, value in state.items()}
