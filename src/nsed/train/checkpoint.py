"""Everything that a training needs to go on exactly where it stopped, on disk without pickle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nsed.errors import ModelFileError
from nsed.models.persistence import DESCRIPTION, SavedModel, read_model, write_model

KIND = "checkpoint"


def save_checkpoint(
    path: Path,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    weights: Mapping[str, Mapping[str, Tensor]],
    record: Mapping[str, Any],
) -> None:
    """Network, optimiser, other weights (the best so far, their average), random states and plain numbers."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    for part, values in weights.items():
        tensors |= {f"{part}.{name}": value for name, value in values.items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    tensors |= {f"random.{name}": value for name, value in _random_states().items()}
    copied = {name: value.detach().cpu().clone() for name, value in tensors.items()}
    write_model(path, SavedModel(KIND, {}, {}, copied, record))


def load_checkpoint(
    path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, *, fingerprint: str
) -> tuple[dict[str, Tensor], dict[str, Tensor], Mapping[str, Any]] | None:
    """Put everything back and give best weights, averaged weights and numbers; None where there is no checkpoint."""
    if not (path / DESCRIPTION).exists():
        return None
    saved = read_model(path)
    if saved.kind != KIND:
        raise ModelFileError(path, f"holds a {saved.kind!r}, expected a checkpoint")
    if saved.record.get("fingerprint") != fingerprint:
        raise ModelFileError(path, "the checkpoint belongs to a training with other pairs or settings")
    network.load_state_dict(_part(saved.tensors, "network"))
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _part(saved.tensors, "optimiser").items():
        number, _, entry = name.partition(".")
        state.setdefault(int(number), {})[entry] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
    _restore_random_states(_part(saved.tensors, "random"))
    return _part(saved.tensors, "best"), _part(saved.tensors, "average"), saved.record


def _part(tensors: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    start = f"{part}."
    return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}


def _random_states() -> dict[str, Tensor]:
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states["cuda"] = torch.cuda.get_rng_state()
    return states


def _restore_random_states(states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    if "cuda" in states and torch.cuda.is_available():
        torch.cuda.set_rng_state(states["cuda"])
