"""Training that starts from a trained model: which settings it begins with, which it must keep, which model it was."""

import hashlib
from dataclasses import asdict, replace
from typing import Any, Protocol, TypeVar, runtime_checkable

from torch import nn

from nsed.config import flat
from nsed.errors import ConfigError
from nsed.networks.weights import weights_of
from nsed.text import Coders, Vocabulary
from nsed.train.config import NetworkConfig

FREE = frozenset(
    {
        "encoder.dropout",
        "encoder.hidden",
        "feature_dropout",
        "likelihood",
        "em",
        "next_symbol",
        "distortion",
        "non_match",
        "match",
        "beam",
        "length_penalty",
        "longest_output",
        "min_count",
    }
)
"""Settings, beside those of training, that may differ from the starting model's: they change no weight's meaning."""
SLOW = 5e-5
"""The learning rate of a fine-tuning at most: a twentieth of what a training has by default."""

SomeConfig = TypeVar("SomeConfig", bound=NetworkConfig)


@runtime_checkable
class Trained(Protocol):
    """A network with its vocabularies, whatever its kind."""

    @property
    def network(self) -> nn.Module:
        """Its weights."""

    @property
    def coders(self) -> Coders:
        """Its alphabets."""


def fine_tuning_config(config: SomeConfig) -> SomeConfig:
    """A trained model's settings, for a handful of pairs: slow, small steps without dropout, until all is right.

    Each of these forgets less of what the model knows than its own training's setting would. More than a few hundred
    pairs need more `train.steps` and more `train.patience`.
    """
    train = replace(
        config.train,
        learning_rate=min(config.train.learning_rate, SLOW),
        schedule="constant",
        warmup=10,
        steps=500,
        batch_pairs=min(config.train.batch_pairs, 16),
        average=0.0,
        validate_every=5,
        patience=6,
    )
    encoder = replace(config.encoder, dropout=0.0, hidden=0.0)
    changes: dict[str, Any] = {"min_count": 1, "encoder": encoder, "feature_dropout": 0.0, "train": train}
    return replace(config, **changes)


def check_unchanged(before: NetworkConfig, now: NetworkConfig) -> None:
    """Raises `ConfigError` that names every setting which the weights of the starting model depend on, and differs."""
    kept, wanted = dict(flat(asdict(before))), dict(flat(asdict(now)))
    faults = [
        f"{name}: got {wanted.get(name)!r}, expected {kept.get(name)!r}, as the model to start from has it"
        for name in sorted({*kept, *wanted})
        if kept.get(name) != wanted.get(name) and name not in FREE and not name.startswith("train.")
    ]
    if faults:
        raise ConfigError("fine-tuning", faults)


def hash_of_model(model: Trained, *others: Vocabulary | None) -> str:
    """SHA-256 of weights and alphabets."""
    digest = hashlib.sha256()
    for vocabulary in (*model.coders.vocabularies.values(), *others):
        digest.update(repr(vocabulary).encode("utf-8", "surrogatepass"))
    for name, weight in weights_of(model.network, half=False).items():
        digest.update(name.encode() + weight.numpy().tobytes())
    return digest.hexdigest()
