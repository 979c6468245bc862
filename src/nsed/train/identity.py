"""What makes a training that training: its settings and its data. Only the same one can be resumed."""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict

from nsed.config import flat
from nsed.text import Pairs
from nsed.train.config import NetworkConfig

FREE = frozenset(
    {
        "beam",
        "length_penalty",
        "longest_output",
        "train.steps",
        "train.patience",
        "train.device",
        "train.logger",
        "train.precision",
        "train.cuda_graph",
    }
)
"""Settings that may change when a training is resumed: how long it lasts and where it runs."""


def identity_of(config: NetworkConfig, training: Pairs, validation: Pairs, *, start: str = "") -> dict[str, str]:
    """Every setting that matters by its dotted name, and the SHA-256 of the data and of the model it starts from."""
    settings = {name: repr(value) for name, value in flat(asdict(config)) if name not in FREE}
    data = {"training pairs": hash_of(training), "validation pairs": hash_of(validation)}
    return settings | data | ({"model to start from": start} if start else {})


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """What is not the same, in words."""
    return [
        f"{name}: was {before.get(name)}, is {now.get(name)}"
        for name in sorted({*before, *now})
        if before.get(name) != now.get(name)
    ]


def hash_of(pairs: Pairs) -> str:
    """SHA-256 of all columns."""
    digest = hashlib.sha256()
    for name, column in vars(pairs).items():
        digest.update(f"\1{name}".encode())
        for value in column or ():
            digest.update(f"\0{value}".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
