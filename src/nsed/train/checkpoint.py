"""Checkpoints: all that a training needs to go on exactly where it stopped, and which training it was."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from nsed.config import flat
from nsed.errors import ModelFileError
from nsed.text import Pairs, Vocabulary
from nsed.train.config import NetworkConfig
from nsed.train.saved_model import DESCRIPTION, SavedModel, read_model, weights_of, write_model

FREE = frozenset(
    {
        "beam",
        "length_penalty",
        "longest_output",
        "symbols_note",
        "train.recipe",
        "train.steps",
        "train.minutes",
        "train.save_seconds",
        "train.threads",
        "train.max_cells",
        "train.patience",
        "train.device",
        "train.logger",
        "train.precision",
        "train.cuda_graph",
    }
)
"""Free settings, which may change when a training is resumed: how long it lasts, where it runs, how it decodes, when it
saves itself, and how long its strings may be."""


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


class Checkpoint(NamedTuple):
    """Training state beside the network and its optimiser."""

    best: Mapping[str, Tensor]
    """Best weights so far; empty before the first validation."""
    average: Mapping[str, Tensor]
    """Averaged weights."""
    losses: Mapping[str, Tensor]
    """Losses since the last validation, if there are any."""
    random: Mapping[str, Tensor]
    """States of the random numbers, see `random_states`; empty right after a validation, where they begin anew."""
    record: Mapping[str, Any]
    """Plain values: the identity, counts and scores."""


def save_checkpoint(path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, checkpoint: Checkpoint) -> None:
    """Save a checkpoint, with network and optimiser."""
    tensors = {f"network.{name}": value for name, value in network.state_dict().items()}
    for part in ("best", "average", "losses", "random"):
        tensors |= {f"{part}.{name}": value for name, value in getattr(checkpoint, part).items()}
    for number, state in optimiser.state_dict()["state"].items():
        tensors |= {f"optimiser.{number}.{name}": torch.as_tensor(value) for name, value in state.items()}
    copied = {name: value.detach().cpu().clone() for name, value in tensors.items()}
    write_model(path, SavedModel(KIND, {}, {}, copied, checkpoint.record))


def load_checkpoint(
    path: Path, network: nn.Module, optimiser: torch.optim.Optimizer, *, identity: Mapping[str, str]
) -> Checkpoint | None:
    """Load a checkpoint, network and optimiser into place; None where there is none."""
    if not (path / DESCRIPTION).exists():
        return None
    saved = read_model(path)
    if saved.kind != KIND:
        raise ModelFileError(path, f"holds a {saved.kind!r}, expected a checkpoint")
    if different := differences(saved.record["identity"], identity):
        instead = "Go on with what it began with, or choose another folder"
        raise ModelFileError(path, f"the checkpoint is of another training: {'; '.join(different)}. {instead}")
    network.load_state_dict(_part(saved.tensors, "network"))
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in _part(saved.tensors, "optimiser").items():
        number, _, entry = name.partition(".")
        state.setdefault(int(number), {})[entry] = value
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
    best, average, losses, random = (_part(saved.tensors, part) for part in ("best", "average", "losses", "random"))
    return Checkpoint(best, average, losses, random, saved.record)


def random_states(device: torch.device) -> dict[str, Tensor]:
    """States of the random numbers: those of the CPU, and of the GPU that trains."""
    states = {"cpu": torch.get_rng_state()}
    return states | ({"cuda": torch.cuda.get_rng_state(device)} if device.type == "cuda" else {})


def restore_random(states: Mapping[str, Tensor], device: torch.device) -> None:
    """Restore the random numbers to these states."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)


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
