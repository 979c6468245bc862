"""Settings: YAML files and `--set key=value`, for every kind of model."""

import json
import math
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import nsed.config as config_module
from fuzz.targets import Execute
from nsed.config import Config, flat, from_mapping, merged, parse_overrides, read_yaml, to_yaml
from nsed.models.persistence import MODEL_KINDS, model_class

Kinds = list[type[Config]]


def _configs() -> Kinds:
    config_module.field_help = cache(config_module.field_help)  # type: ignore[assignment]  # it parses source code
    found = {config for kind in MODEL_KINDS for config in model_class(kind).configs.values()}
    return sorted(found, key=lambda config: config.__name__)


def settings(folder: Path) -> Execute:
    """YAML files; what is accepted has numbers that are some, and comes back from what is printed of it."""
    configs, path, printed, seen = _configs(), folder / "settings.yaml", folder / "printed.yaml", set[Config]()

    def execute(content: bytes) -> None:
        path.write_bytes(content[1:])
        values = read_yaml(path)
        dict(flat({str(name): value for name, value in values.items()}))
        _check(configs[(content[0] if content else 0) % len(configs)], values, printed, seen)

    return execute


def overrides(folder: Path) -> Execute:
    """Texts `key=value`, one per line, over a kind's defaults."""
    configs, printed, seen = _configs(), folder / "printed.yaml", set[Config]()
    defaults = {config: asdict(config()) for config in configs}

    def execute(content: bytes) -> None:
        texts = content[1:].decode("utf-8", "surrogateescape").split("\n")
        config = configs[(content[0] if content else 0) % len(configs)]
        _check(config, merged(defaults[config], parse_overrides(texts)), printed, seen)

    return execute


def _check(config: type[Config], values: dict[Any, Any], printed: Path, seen: set[Config]) -> None:
    made = from_mapping(config, values)
    for name, value in flat(asdict(made)):
        assert not isinstance(value, float) or math.isfinite(value), f"{name} is {value}"
    if made in seen:
        return
    seen.add(made)
    json.dumps(asdict(made))
    printed.write_text(to_yaml(made), encoding="utf-8", errors="surrogatepass")
    assert from_mapping(config, read_yaml(printed)) == made
