"""Configurations: frozen dataclasses with one default each, from YAML, with all faults reported at once.

A field's docstring (the string below it) is its help text on the command line and its comment in printed YAML.
"""

import ast
import dataclasses
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import yaml
from rapidfuzz import process

from nsed.errors import ConfigError

T = TypeVar("T")


def from_mapping(config: type[T], values: Mapping[str, Any], *, where: str = "config") -> T:
    """A configuration from plain values. Raises `ConfigError` with every unknown key and every wrong value."""
    hints, faults, accepted = get_type_hints(config), [], {}
    for name, value in values.items():
        if name not in hints:
            faults.append(_unknown(name, list(hints)))
        elif (fault := _fault(value, hints[name])) is not None:
            faults.append(f"{name}: got {value!r}, expected {fault}")
        else:
            accepted[name] = float(value) if hints[name] is float else value
    faults.extend(_out_of_range(config, accepted))
    if faults:
        raise ConfigError(where, faults)
    return config(**accepted)


def from_yaml(config: type[T], path: str | Path, overrides: Mapping[str, Any]) -> T:
    """A configuration from a YAML file, with other values on top."""
    try:
        values = yaml.safe_load(Path(path).read_text(encoding="utf-8")) or {}
    except OSError as error:
        raise ConfigError(str(path), [f"cannot be read: {error.strerror}"]) from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(str(path), [f"not readable as YAML: {error}"]) from None
    if not isinstance(values, dict):
        raise ConfigError(str(path), [f"got {values!r}, expected lines `key: value`"])
    return from_mapping(config, values | dict(overrides), where=str(path))


def parse_overrides(overrides: Sequence[str]) -> dict[str, Any]:
    """The values of `key=value` texts, read as YAML.

    >>> parse_overrides(["iterations=5", "smoothing=1e-3"])
    {'iterations': 5, 'smoothing': 0.001}
    """
    wrong = [f"{text!r}: expected key=value" for text in overrides if "=" not in text]
    if wrong:
        raise ConfigError("--set", wrong)
    return {key.strip(): _scalar(value) for key, _, value in (text.partition("=") for text in overrides)}


def to_yaml(config: Any) -> str:
    """The resolved configuration as YAML, each key below its help text."""
    lines, help_texts = [], field_help(config.__class__)
    for field in dataclasses.fields(config):
        lines += textwrap.wrap(help_texts.get(field.name, ""), 100, initial_indent="# ", subsequent_indent="# ")
        lines.append(yaml.safe_dump({field.name: getattr(config, field.name)}, allow_unicode=True).strip())
    return "\n".join(lines) + "\n"


@cache
def field_help(config: type) -> dict[str, str]:
    """Each field's docstring, in one line."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(config))).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            texts[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return texts


def _scalar(text: str) -> Any:
    value = yaml.safe_load(text)
    if isinstance(value, str):  # YAML wants 1.0e-3; people write 1e-3
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _unknown(name: str, known: list[str]) -> str:
    close = process.extractOne(name, known, score_cutoff=60)
    return f"{name}: no such key" + (f"; did you mean {close[0]!r}?" if close else f"; known: {', '.join(known)}")


def _fault(value: Any, hint: Any) -> str | None:
    """What was expected instead, if the value does not fit its type."""
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return None if value in choices else f"one of {', '.join(map(str, choices))}"
    accepts = (int, float) if hint is float else (hint,)
    fits = isinstance(value, accepts) and (hint is bool or not isinstance(value, bool))
    return None if fits else {int: "a whole number", float: "a number", bool: "true or false"}.get(hint, "text")


def _out_of_range(config: type, values: Mapping[str, Any]) -> list[str]:
    """Faults that the fields' own bounds (metadata `low`, `high`) find."""
    faults = []
    for field in dataclasses.fields(config):
        low, high = field.metadata.get("low"), field.metadata.get("high")
        value = values.get(field.name, field.default)
        if (low is not None and value < low) or (high is not None and value >= high):
            bounds = f"at least {low}" + (f" and below {high}" if high is not None else "")
            faults.append(f"{field.name}: got {value!r}, expected {bounds}")
    return faults


def bounded(default: int | float, *, low: int | float, high: int | float | None = None) -> Any:
    """A field whose value must be at least `low` and below `high`."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high})
