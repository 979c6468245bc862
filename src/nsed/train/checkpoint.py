"""Checkpoints: all that a training needs to go on exactly where it stopped, and which training it was."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from nsed.config import flat
from nsed.errors import ModelFileError
from nsed.networks.weights import weights_of
from nsed.text import Pairs, Vocabulary
from nsed.train.config import NetworkConfig
from nsed.train.saved_model import DESCRIPTION, SavedModel, read_model, write_model

FREE = frozenset(
    {
        "beam",
        "length_penalty",
        "longest_output",
        "train.steps",
        "train.minutes",
        "train.patience",
        "train.device",
        "train.logger",
        "train.precision",
        "train.cuda_graph",
    }
)
"""Free settings, which may change when a training is resumed: how long it lasts, where it runs, how it decodes."""


def identity_of(config: NetworkConfig, training: Pairs, validation: Pairs, *, start: str = "") -> dict[str, str]:
    """Training identity: every setting that matters by its dotted name, SHA-256 of data and of the starting model."""
    settings = {name: repr(value) for name, value in flat(asdict(config)) if name not in FREE}
    data = {"training pairs": hash_of(training), "validation pairs": hash_of(validation)}
    return settings | data | ({"model to start from": start} if start else {})


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Differences of two identities, in words."""
    return [
        f"{name}: was {before.get(name)}, is {now.get(name)}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def hash_of(pairs: Pairs) -> str:
    """Data hash: SHA-256 of all columns that are learned from."""
    digest = hashlib.sha256()
    for name, column in pairs.columns.items():
        digest.update(f"\1{name}".encode())
        for value in column or ():
            digest.update(f"\0{value}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


KIND = "checkpoint"


def save_checkpoint(
    path: Path,
    network: nn.Module,
    optimiser: torch.optim.Optimizer,
    weights: Mapping[str, Mapping[str, Tensor]],
    record: Mapping[str, Any],
) -> None:
    """Save a checkpoint: network, optimiser, other weights (the best so far, their average) and plain numbers."""
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
    """Load a checkpoint into place and give best weights, averaged weights and numbers; None where there is none."""
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


def hash_of_model(network: nn.Module, vocabularies: Iterable[Vocabulary | None]) -> str:
    """Model hash: SHA-256 of weights and alphabets, which model a training starts from."""
    digest = hashlib.sha256()
    for vocabulary in vocabularies:
        digest.update(repr(vocabulary).encode("utf-8", "surrogatepass"))
    for name, weight in weights_of(network, half=False).items():
        digest.update(name.encode() + weight.numpy().tobytes())
    return digest.hexdigest()
