"""Names for things that users choose by name: backends, models, readers."""

from collections.abc import Iterable, Iterator
from typing import Generic, TypeVar

from rapidfuzz import fuzz, process

from nsed.errors import UnknownNameError

T = TypeVar("T")


def similar_name(name: object, known: Iterable[str]) -> str | None:
    """Most similar of the names that there are, if one is similar enough to have been meant.

    >>> similar_name("sac", ["levenshtein", "sca"]), similar_name("my-model", ["levenshtein", "sca"])
    ('sca', None)
    """
    close = process.extractOne(str(name), list(known), scorer=fuzz.ratio, score_cutoff=60)
    return close[0] if close else None


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Question whether a similar name was meant; empty where none is similar."""
    close = similar_name(name, known)
    return f"Did you mean {close!r}?" if close else ""


class Registry(Generic[T]):
    """A dictionary that, asked for a name it lacks, says which names it has.

    >>> colours = Registry[str]("colour")
    >>> colours.register("red", "#f00")
    >>> colours["red"]
    '#f00'
    >>> colours["rad"]
    Traceback (most recent call last):
    nsed.errors.UnknownNameError: colour: got 'rad', expected one of: red. Did you mean 'red'?
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self._entries: dict[str, T] = {}

    def register(self, name: str, entry: T) -> None:
        """Add an entry; a name is given once."""
        assert name not in self._entries, f"{self.what} {name!r} is registered twice"
        self._entries[name] = entry

    def __getitem__(self, name: str) -> T:
        if name in self._entries:
            return self._entries[name]
        expected = f"one of: {', '.join(self)}"
        raise UnknownNameError(self.what, got=repr(name), expected=expected, advice=did_you_mean(name, self))

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __contains__(self, name: str) -> bool:
        return name in self._entries
