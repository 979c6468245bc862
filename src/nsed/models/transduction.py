"""What every model that writes targets gives back, and what it may be asked for."""

from collections.abc import Iterable
from typing import NamedTuple

from nsed.errors import ArgumentError
from nsed.text import Pairs


class Transduction(NamedTuple):
    """One possible target: its text, its symbols, and its log-probability given the source."""

    text: str
    symbols: tuple[str, ...]
    log_prob: float
    exception: bool = False
    """Whether a file of exceptions gave it, see `nsed.Exceptions`; its log-probability is still the model's own."""


def checked_sources(sources: Iterable[str], *, nbest: int = 1, beam: int | None = None, count: int = 1) -> list[str]:
    """The sources as a list. Raises `ArgumentError` where something is no string, or where nothing is asked for."""
    if isinstance(sources, str):
        raise ArgumentError("sources", got=repr(sources), expected="a list of strings")
    for name, value in (("nbest", nbest), ("beam", beam), ("count", count)):
        if value is not None and value < 1:
            raise ArgumentError(name, got=value, expected="at least 1")
    strings = list(sources)
    Pairs(strings, strings)  # raises where something is no string
    return strings
