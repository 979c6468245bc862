"""Configurations: frozen dataclasses with one default each, from YAML, with all faults reported at once.

A field's docstring (the string below it) is its help text on the command line and its comment in printed YAML.
"""

import ast
import dataclasses
import inspect
import math
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import yaml
from rapidfuzz import fuzz, process

from nsed.errors import ConfigError


@dataclasses.dataclass(frozen=True)
class Config:
    """The base of all configurations: whoever makes one, in Python or from YAML, hears of every fault."""

    def __post_init__(self) -> None:
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        faults = _faults(self.__class__, values)
        if faults:
            raise ConfigError(self.__class__.__name__, faults)


T = TypeVar("T", bound=Config)


def bounded(
    default: int | float, *, low: int | float, high: int | float | None = None, most: int | float | None = None
) -> Any:
    """A field whose value must be at least `low` and below `high`, or at most `most`.

    Every number of a model's settings has both bounds: they come from files, and what is built may be as large.
    """
    return dataclasses.field(default=default, metadata={"low": low, "high": high, "most": most})


def named(default: str, known: Iterable[str]) -> Any:
    """A field whose value must be one of the names that are known when it is checked, say those of a registry."""
    return dataclasses.field(default=default, metadata={"known": known})


def from_mapping(config: type[T], values: Mapping[Any, Any], *, where: str = "config", as_keywords: bool = False) -> T:
    """A configuration from plain values. Raises `ConfigError` with every unknown key and every wrong value.

    A field that is a configuration itself takes a mapping. Keys that were probably meant are spelled `encoder.dim`, or,
    where values were given as keywords, `encoder__dim`.
    """
    faults = _mapping_faults(config, values, "" if as_keywords else None)
    if faults:
        raise ConfigError(where, faults)
    hints = _type_hints(config)
    return config(**{name: _made(value, hints[name]) for name, value in values.items()})


_TYPE_HINTS: dict[type[Config], dict[str, Any]] = {}


def _type_hints(config: type[Config]) -> dict[str, Any]:
    """Types of the fields of a configuration, found out once."""
    if config not in _TYPE_HINTS:
        _TYPE_HINTS[config] = get_type_hints(config)
    return _TYPE_HINTS[config]


def merged(values: Mapping[Any, Any], overrides: Mapping[str, Any]) -> dict[Any, Any]:
    """Values with others on top; `a.b` names the key b inside a.

    >>> merged({"encoder": {"kind": "rnn", "dim": 8}}, {"encoder.kind": "cnn", "steps": 3})
    {'encoder': {'kind': 'cnn', 'dim': 8}, 'steps': 3}
    """
    result = dict(values)
    for key, value in overrides.items():
        outer, _, inner = key.partition(".")
        inside = result.get(outer)
        result[outer] = merged(inside if isinstance(inside, Mapping) else {}, {inner: value}) if inner else value
    return result


def flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Every value with its dotted name: what `merged` takes as overrides.

    >>> dict(flat({"encoder": {"kind": "rnn", "dim": 8}, "beam": 3}))
    {'encoder.kind': 'rnn', 'encoder.dim': 8, 'beam': 3}
    """
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


LARGEST_FILE, MOST_VALUES, DEEPEST = 2**18, 10_000, 20
"""Limits of YAML: characters of a file, values in it, those that aliases repeat included, and values inside values."""

UNREADABLE = (yaml.YAMLError, ValueError, OverflowError, RecursionError, AttributeError, LookupError)
"""What PyYAML raises for text that is no YAML: a date such as 2001-13-45, thousands of brackets, `!!int ""` too."""


NEXT_LINE = "\x85"
"""Line break of YAML, which its writer writes so that it is read again only where all that is not ASCII is escaped."""


class _Loader(yaml.SafeLoader):
    """PyYAML's safe loader, whose merges (`<<`) of merges cannot grow beyond the number of values allowed."""

    merged_values = 0

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge, see PyYAML; each merged mapping first, so that its size is known."""
        for key, value in node.value:
            if key.tag == "tag:yaml.org,2002:merge":
                parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
                for part in parts:
                    if isinstance(part, yaml.MappingNode):
                        self.flatten_mapping(part)
                        self.merged_values += len(part.value)
                    if self.merged_values > MOST_VALUES:
                        raise yaml.YAMLError(f"merges (<<) of more than {MOST_VALUES:,} values")
        super().flatten_mapping(node)


def read_yaml(path: str | Path) -> dict[Any, Any]:
    """The values of a YAML file, as `from_mapping` takes them."""
    text = _read_text(path)
    try:
        values = yaml.load(text, _Loader) or {}
    except UNREADABLE as error:
        raise ConfigError(str(path), [f"not readable as YAML: {shortened(str(error), 1000)}"]) from None
    _check_size(values, str(path))
    if not isinstance(values, dict):
        raise ConfigError(str(path), [f"got {shown(values)}, expected lines `key: value`"])
    return values


def _read_text(path: str | Path) -> str:
    try:
        with Path(path).open(encoding="utf-8") as stream:
            text = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ConfigError(str(path), [f"cannot be read: {error.strerror}"]) from None
    except ValueError as error:  # no UTF-8, or no name that a file can have
        raise ConfigError(str(path), [f"not readable as YAML: {error}"]) from None
    if len(text) > LARGEST_FILE:
        raise ConfigError(str(path), [f"got a longer file, expected at most {LARGEST_FILE:,} characters"])
    return text


def _check_size(value: Any, where: str) -> None:
    """Raise `ConfigError` for values that contain themselves or, by aliases of aliases, have no end to speak of."""
    waiting, seen = [(value, 0)], 0
    while waiting:
        one, depth = waiting.pop()
        inside = [*one, *one.values()] if isinstance(one, dict) else one if isinstance(one, list | set | tuple) else ()
        seen += 1 + len(inside)
        if depth > DEEPEST or seen > MOST_VALUES:
            expected = f"at most {MOST_VALUES:,} values, {DEEPEST} inside one another, none inside itself"
            raise ConfigError(where, [f"got more, expected {expected}"])
        waiting += [(each, depth + 1) for each in inside]


def is_whole(value: object, *, low: int) -> bool:
    """Whether a value is a whole number, one of numpy's too, of at least `low`."""
    return isinstance(value, Integral) and int(value) >= low


def shown(value: object) -> str:
    """A value as errors repeat it, shortened."""
    try:
        return shortened(repr(value))
    except (ValueError, RecursionError):  # Python writes no number of more than 4,300 digits
        return f"a very long {type(value).__name__}"


def shortened(text: str, most: int = 200) -> str:
    """A text as errors repeat it: what is longer than two lines, or so many characters, is cut.

    >>> shortened("a" * 1000)
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ... (1,000 characters)'
    """
    return text if len(text) <= most else f"{text[: most * 2 // 5]} ... ({len(text):,} characters)"


def parse_overrides(overrides: Sequence[str]) -> dict[str, Any]:
    """The values of `key=value` texts, read as YAML.

    >>> parse_overrides(["iterations=5", "smoothing=1e-3"])
    {'iterations': 5, 'smoothing': 0.001}
    """
    wrong = [f"{shown(text)}: expected key=value" for text in overrides if "=" not in text]
    wrong += [f"{shown(text)}: no such key" for text in overrides if text.partition("=")[0].count(".") > DEEPEST]
    if wrong:
        raise ConfigError("--set", wrong)
    return {key.strip(): _override(value) for key, _, value in (text.partition("=") for text in overrides)}


def to_yaml(config: Config) -> str:
    """The resolved configuration as YAML, each key below its help text."""
    lines, help_texts = [], field_help(config.__class__)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        lines += textwrap.wrap(help_texts.get(field.name, ""), 100, initial_indent="# ", subsequent_indent="# ")
        if isinstance(value, Config):
            lines += [f"{field.name}:", textwrap.indent(to_yaml(value), "  ").rstrip()]
        else:
            lines.append(yaml.safe_dump({field.name: value}, allow_unicode=NEXT_LINE not in str(value)).strip())
    return "\n".join(lines) + "\n"


def field_help(config: type[Config]) -> dict[str, str]:
    """Each field's docstring, in one line."""
    texts = {name: text for base in config.__bases__ if base is not Config for name, text in field_help(base).items()}
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(config))).body
    assert isinstance(definition, ast.ClassDef)
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            texts[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    return texts


def _override(text: str) -> Any:
    """The value of a text that is YAML; the text itself, if it is none."""
    try:
        value = yaml.load(text, _Loader)
    except UNREADABLE:
        return text
    _check_size(value, "--set")
    if isinstance(value, str):  # YAML wants 1.0e-3; people write 1e-3
        try:
            return float(value)
        except ValueError:
            return value
    return value


def has_key(config: type[Config], name: str) -> bool:
    """Whether a configuration has a key, `train.steps` say."""
    outer, _, inner = name.partition(".")
    hint = _type_hints(config).get(outer)
    return hint is not None and (not inner or (_is_config(hint) and has_key(hint, inner)))


def probable_key(given: str, config: type[Config]) -> str | None:
    """Key, `train.steps` say, that was probably meant by one that there is not; None where none is like it."""
    known = _type_hints(config)
    inside = [f"{outer}.{key}" for outer, hint in known.items() if _is_config(hint) for key in _type_hints(hint)]
    meant = next((key for key in inside if given in (key.partition(".")[2], key.replace(".", "_"))), None)
    close = process.extractOne(given, list(known), scorer=fuzz.ratio, score_cutoff=70)
    return meant or (close[0] if close else None)


def _unknown(name: object, config: type[Config], keyword: str | None) -> str:
    given = shortened(name) if isinstance(name, str) and name.isprintable() else shown(name)
    if meant := probable_key(given, config):
        spelled = meant if keyword is None else keyword + meant.replace(".", "__")
        return f"{given}: no such key; did you mean {spelled!r}?"
    return f"{given}: no such key; known: {', '.join(_type_hints(config))}"


def _mapping_faults(config: type[Config], values: Mapping[Any, Any], keyword: str | None) -> list[str]:
    """Everything wrong with plain values, inner configurations included; `keyword` begins those that reach in here."""
    hints = _type_hints(config)
    faults = [_unknown(name, config, keyword) for name in values if name not in hints]
    plain = {}
    for name, value in values.items():
        if name in hints and _is_config(hints[name]) and isinstance(value, Mapping):
            inner = None if keyword is None else f"{keyword}{name}__"
            faults += [f"{name}.{fault}" for fault in _mapping_faults(hints[name], value, inner)]
        elif name in hints:
            plain[name] = value
    return faults + _faults(config, plain)


def _made(value: Any, hint: Any) -> Any:
    if _is_config(hint) and isinstance(value, Mapping):
        return from_mapping(hint, value)
    return float(value) if hint is float else value


def _is_config(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Config)


def _faults(config: type[Config], values: Mapping[str, Any]) -> list[str]:
    """What is wrong with values of known fields."""
    hints, fields = _type_hints(config), {field.name: field for field in dataclasses.fields(config)}
    faults = []
    for name, value in values.items():
        metadata = fields[name].metadata
        expected = _wrong_type(value, hints[name]) or _out_of_bounds(value, metadata) or _unknown_name(value, metadata)
        if expected:
            faults.append(f"{name}: got {shown(value)}, expected {expected}")
    return faults


def _wrong_type(value: Any, hint: Any) -> str | None:
    """What was expected instead, if the value does not fit its type."""
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        return None if value in choices else f"one of {', '.join(map(str, choices))}"
    accepts = (int, float) if hint is float else (hint,)
    fits = isinstance(value, accepts) and (hint is bool or not isinstance(value, bool))
    words = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}
    return None if fits else words.get(hint, "settings, `key: value`")


def _out_of_bounds(value: Any, metadata: Mapping[str, Any]) -> str | None:
    """What was expected instead, if the value is not within the field's own bounds."""
    if "low" not in metadata:
        return None
    low, high, most = metadata["low"], metadata["high"], metadata["most"]
    if low <= value < (math.inf if high is None else high) and value <= (math.inf if most is None else most):
        return None
    upper = "" if high is None else f" and below {high}"
    return f"at least {low}{upper}" if most is None else f"at least {low} and at most {f'{most:,}'.removesuffix('.0')}"


def _unknown_name(value: Any, metadata: Mapping[str, Any]) -> str | None:
    """What was expected instead, if the value is none of the field's names."""
    known = list(metadata.get("known", [value]))
    return None if value in known else f"one of {', '.join(known)}"
