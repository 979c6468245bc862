"""What is known of a data set before it is read."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from nsed.datasets.splits import Splits
from nsed.text import SymbolKind


@dataclass(frozen=True)
class DataFile:
    """A file that can be had from a public address."""

    name: str
    """Its place below the cache or `NSED_DATA`, with slashes."""
    url: str
    sha256: str
    size: int
    """In bytes."""
    member: str | None = None
    """Where the address is that of a ZIP archive: the file's name in it."""

    @property
    def public_name(self) -> str:
        """What the file is called where it comes from, without its folder."""
        return (self.member or self.url).rsplit("/", 1)[-1]


Reading = Callable[[Sequence[Path]], Splits]
"""From the data set's files, in their order, to its parts."""


@dataclass(frozen=True)
class DataSet:
    """A data set that has a name."""

    what: str
    size: str
    """How many words or pairs there are, for people."""
    columns: str
    """What sources and targets, or the columns of a word list, are."""
    licence: str
    citation: str
    parts: Reading | None
    """None for a word list: its protocol makes the parts."""
    files: tuple[DataFile, ...] = ()
    package: str | None = None
    """The Python package that carries the data."""
    symbols: tuple[SymbolKind, SymbolKind] = ("graphemes", "graphemes")
    """What sources and targets are made of."""
