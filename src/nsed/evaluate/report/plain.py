"""Records as plain values, ready for JSON."""

from dataclasses import fields, is_dataclass
from math import isfinite
from typing import Any

from nsed.text import EditScript


def plain(value: Any) -> Any:
    """Records as dictionaries and tuples as lists, all the way down; numbers that JSON does not have are None.

    >>> from nsed.evaluate.report.records import Line, Point
    >>> plain(Line("f1", (Point(0.5, float("-inf")),)))
    {'name': 'f1', 'points': [{'x': 0.5, 'y': None, 'items': None, 'name': ''}]}
    """
    if isinstance(value, EditScript):
        return plain(value.to_dict())
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return _plain_sequence(value)
    return None if isinstance(value, float) and not isfinite(value) else value


def _plain_sequence(values: Any) -> Any:
    names = getattr(values, "_fields", None)
    if names is None:
        return [plain(value) for value in values]
    return {name: plain(value) for name, value in zip(names, values, strict=True)}
