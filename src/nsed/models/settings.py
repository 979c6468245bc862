"""Config resolution: settings of a training from whatever the caller has, and those of fine-tuning."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from nsed.config import flat, from_mapping, merged, read_yaml
from nsed.errors import ArgumentError, ConfigError
from nsed.text import StringConfig
from nsed.train.config import NetworkConfig

ConfigLike: TypeAlias = StringConfig | Mapping[str, Any] | str | Path
"""Settings as callers have them: a config, a mapping, or the path of a YAML file."""

FREE = frozenset(
    {
        "encoder.dropout",
        "encoder.hidden",
        "feature_dropout",
        "likelihood",
        "em",
        "next_symbol",
        "distortion",
        "reduction",
        "non_match",
        "match",
        "beam",
        "length_penalty",
        "longest_output",
        "min_count",
    }
)
"""Free settings beside those of training, which may differ from the starting model's: no weight changes meaning."""
SLOW = 5e-5
"""Fine-tuning learning rate at most: a twentieth of what a training has by default."""

SomeConfig = TypeVar("SomeConfig", bound=NetworkConfig)


def resolve_settings(
    kinds: Mapping[str, type[StringConfig]],
    config: ConfigLike | None,
    keywords: Mapping[str, Any],
    *,
    suggested: StringConfig | None = None,
) -> StringConfig:
    """Resolved config of a model of one of these kinds, the first by default; all its faults are reported together.

    Keywords go over the config, in scikit-learn's manner: `encoder__dim=128` is the `dim` inside `encoder`. What
    neither of them says is `suggested`, or the kind's default. A whole config is taken as it is.
    """
    values = _values(config, suggested)
    kind = str(values.get("model", next(iter(kinds))))
    if kind not in kinds:
        raise ArgumentError("config.model", got=repr(kind), expected=f"one of {', '.join(kinds)}")
    given = {name.replace("__", "."): value for name, value in keywords.items()}
    where = str(config) if isinstance(config, str | Path) else "settings"
    return from_mapping(kinds[kind], merged(values, given), where=where)


def _values(config: ConfigLike | None, suggested: StringConfig | None) -> dict[Any, Any]:
    if isinstance(config, StringConfig):
        return asdict(config)
    named = read_yaml(config) if isinstance(config, str | Path) else dict(config or {})
    return merged(asdict(suggested), dict(flat(named))) if suggested else named


def fine_tuning_config(config: SomeConfig) -> SomeConfig:
    """Fine-tuning config, for a handful of pairs: a trained model's settings with slow, small steps, without dropout.

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
    """Compatibility check. Raises `ConfigError` with every setting that differs and that the starting weights need."""
    kept, wanted = dict(flat(asdict(before))), dict(flat(asdict(now)))
    faults = [
        f"{name}: got {wanted.get(name)!r}, expected {kept.get(name)!r}, as the model to start from has it"
        for name in sorted({*kept, *wanted})
        if kept.get(name) != wanted.get(name) and name not in FREE and not name.startswith("train.")
    ]
    if faults:
        raise ConfigError("fine-tuning", faults)
