"""Config resolution: settings of a training from whatever the caller has, and those of fine-tuning."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np

from nsed.config import Config, flat, from_mapping, merged, read_yaml, shown
from nsed.errors import ArgumentError, ConfigError
from nsed.text import Pairs, StringConfig, choose_symbols
from nsed.train.config import NetworkConfig, recipe_for
from nsed.train.split import held_out_count
from nsed.train.strategy import chosen_device

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
        "table_scripts",
        "reduction",
        "non_match",
        "match",
        "beam",
        "length_penalty",
        "longest_output",
        "min_count",
        "symbols_note",
    }
)
"""Free settings beside those of training, which may differ from the starting model's: no weight changes meaning."""
MEASURED = 2000
"""Pairs whose length is measured for a recipe, at most."""
SLOW = 5e-5
"""Fine-tuning learning rate at most: a twentieth of what a training has by default."""

SomeConfig = TypeVar("SomeConfig", bound=NetworkConfig)


def resolve_settings(
    kinds: Mapping[str, type[StringConfig]],
    config: ConfigLike | None,
    keywords: Mapping[str, Any],
    *,
    suggested: StringConfig | None = None,
    pairs: Pairs | None = None,
) -> StringConfig:
    """Resolved config of a model of one of these kinds, the first by default; all its faults are reported together.

    Keywords go over the config, in scikit-learn's manner: `encoder__dim=128` is the `dim` inside `encoder`, also of the
    `encoder` that is given beside it. What neither of them says is `suggested`, or the kind's default. A whole config
    is taken as it is. With pairs, symbols that are left to `auto` are chosen from these.
    """
    values = _values(config, suggested)
    kind = str(keywords.get("model", values.get("model", next(iter(kinds)))))
    if kind not in kinds:
        raise ArgumentError("config.model", got=repr(kind), expected=f"one of {', '.join(kinds)}")
    where = str(config) if isinstance(config, str | Path) else "settings"
    resolved = from_mapping(kinds[kind], merged(values, _dotted(keywords)), where=where, as_keywords=bool(keywords))
    return resolved if pairs is None else choose_symbols(resolved, pairs)


def _values(config: ConfigLike | None, suggested: StringConfig | None) -> dict[Any, Any]:
    if isinstance(config, StringConfig):
        return asdict(config)
    named = _named(config)
    return merged(asdict(suggested), dict(flat(named))) if suggested else named


def _named(config: ConfigLike | None) -> dict[Any, Any]:
    """Settings that a mapping or a YAML file names, as plain values. Raises `ArgumentError` for what is neither."""
    if isinstance(config, str | Path):
        return read_yaml(config)
    if config is None or isinstance(config, Mapping):
        return {name: _plain(value) for name, value in (config or {}).items()}
    expected = "the config of a model (nsed.TransducerConfig(), say), a mapping, or the path of a YAML file"
    part = {"EncoderConfig": "encoder", "TrainConfig": "train"}.get(type(config).__name__)
    advice = f"A {type(config).__name__} is a part of one: fit(..., {part}=...)." if part else ""
    raise ArgumentError("config", got=shown(config), expected=expected, advice=advice)


def _dotted(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords by dotted names, as plain values: `train` first, then `train.steps`, which goes over it."""
    named = {name.replace("__", "."): _plain(value) for name, value in keywords.items()}
    return dict(sorted(named.items(), key=lambda item: item[0].count(".")))


def _plain(value: Any) -> Any:
    """Plain value: a mapping for a config, `nsed.TrainConfig()` say, and Python's number for one of numpy's."""
    if isinstance(value, Config):
        return asdict(value)
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def named_kind(config: ConfigLike | None, keywords: Mapping[str, Any]) -> str:
    """Kind of model that settings name; nothing where they name none.

    >>> named_kind({"model": "odds", "iterations": 3}, {})
    'odds'
    """
    return str(keywords.get("model", _values(config, None).get("model", "")))


def top_names(config: ConfigLike | None, keywords: Mapping[str, Any]) -> set[str]:
    """Names of settings that are given, without what is inside them.

    >>> sorted(top_names({"encoder": {"dim": 8}}, {"train__minutes": 1}))
    ['encoder', 'train']
    """
    return {str(name).replace("__", ".").partition(".")[0] for name in (*_values(config, None), *keywords)}


def named_settings(config: ConfigLike | None, keywords: Mapping[str, Any]) -> frozenset[str] | None:
    """Dotted names of settings that are given one by one, over a recipe; None where they are whole without one.

    So are a config, and a mapping or file that says something of `encoder` or `train`. A keyword may name several at
    once.

    >>> sorted(named_settings(None, {"beam": 3, "train": {"steps": 9}}))
    ['beam', 'train', 'train.steps']
    """
    if isinstance(config, StringConfig):
        return None
    values, given = _named(config), _dotted(keywords)
    if not values.keys().isdisjoint(("encoder", "train")):
        return None
    return frozenset({*values, *given, *(name for name, _ in flat(given))})


def with_recipe(
    config: SomeConfig, named: Collection[str] | None, pairs: Pairs, validation: Pairs | None
) -> SomeConfig:
    """Settings with those of a recipe, where they are not named; all of them as they are where `named` is None.

    The symbols are chosen already: lengths count in them.
    """
    if named is None or not len(pairs):
        return config
    validated = held_out_count(len(set(pairs.sources))) if validation is None else len(validation)
    gpu = chosen_device(config.train).type == "cuda"
    recipe = recipe_for(
        len(pairs),
        _mean_lengths(config, pairs),
        validated=validated,
        gpu=gpu,
        named=named,
        steps=config.train.steps if "train.steps" in named else None,
        minutes=config.train.minutes if "train.minutes" in named else None,
    )
    values = merged(asdict(config), {**recipe.settings, "train.recipe": recipe.reason})
    return from_mapping(type(config), values)


def _mean_lengths(config: StringConfig, pairs: Pairs) -> tuple[float, float]:
    """Mean number of symbols of sources and of targets, of some of the pairs."""
    sides = zip((pairs.sources, pairs.targets), config.splitters, strict=True)
    step = -(-len(pairs) // MEASURED)
    source, target = ([len(splitter.split(text)) for text in texts[::step]] for texts, splitter in sides)
    return sum(source) / len(source), sum(target) / len(target)


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
        patience=20,
        perfect=0,
        keep="best",
        minutes=0.0,
        recipe="",
    )
    encoder = replace(config.encoder, dropout=0.0, hidden=0.0)
    changes: dict[str, Any] = {"min_count": 1, "encoder": encoder, "feature_dropout": 0.0, "train": train}
    return replace(config, **changes)


def check_unchanged(before: StringConfig, now: StringConfig) -> None:
    """Compatibility check. Raises `ConfigError` with every setting that differs and that the starting weights need."""
    kept, wanted = dict(flat(asdict(before))), dict(flat(asdict(now)))
    faults = [
        f"{name}: got {wanted.get(name)!r}, expected {kept.get(name)!r}, as the model to start from has it"
        for name in sorted({*kept, *wanted})
        if kept.get(name) != wanted.get(name) and name not in FREE and not name.startswith("train.")
    ]
    if faults:
        raise ConfigError("fine-tuning", faults)
