"""Everything that a training needs to go on exactly where it stopped, on disk without pickle."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nsed.errors import ModelFileError
from nsed.train.identity import differences
from nsed.train.saved_model import DESCRIPTION, SavedModel, read_model, write_model

KIND = "checkpoint"


def save_checkpoint(
    path: Path,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    weights: Mapping[str, Mapping[str, Tensor]],
    record: Mapping[str, Any],
) -> None:
    """Network, optimiser, other weights (the best so far, their average) and plain numbers."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    for part, values in weights.items():
        tensors |= {f"{part}.{name}": value for name, value in values.items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    copied = {name: value.detach().cpu().clone() for name, value in tensors.items()}
    write_model(path, SavedModel(KIND, {}, {}, copied, record))


def load_checkpoint(
    path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, *, identity: Mapping[str, str]
) -> tuple[dict[str, Tensor], dict[str, Tensor], Mapping[str, Any]] | None:
    """Put everything back and give best weights, averaged weights and numbers; None where there is no checkpoint."""
    if not (path / DESCRIPTION).exists():
        return None
    saved = read_model(path)
    if saved.kind != KIND:
        raise ModelFileError(path, f"holds a {saved.kind!r}, expected a checkpoint")
    if different := differences(saved.record["identity"], identity):
        raise ModelFileError(path, f"the checkpoint is of another training: {'; '.join(different)}")
    network.load_state_dict(_part(saved.tensors, "network"))
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _part(saved.tensors, "optimiser").items():
        number, _, entry = name.partition(".")
        state.setdefault(int(number), {})[entry] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
    return _part(saved.tensors, "best"), _part(saved.tensors, "average"), saved.record


def _part(tensors: Mapping[str, Tensor], part: str) -> dict[str, Tensor]:
    start = f"{part}."
    return {name.removeprefix(start): value for name, value in tensors.items() if name.startswith(start)}
