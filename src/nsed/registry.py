"""Names for things that users choose by name: backends, models, readers."""

from collections.abc import Iterator
from typing import Generic, TypeVar

from rapidfuzz import process

from nsed.errors import UnknownNameError

T = TypeVar("T")


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
        close = process.extractOne(str(name), list(self), score_cutoff=60)
        advice = f"Did you mean {close[0]!r}?" if close else ""
        raise UnknownNameError(self.what, got=repr(name), expected=f"one of: {', '.join(self)}", advice=advice)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._entries))

    def __contains__(self, name: str) -> bool:
        return name in self._entries
