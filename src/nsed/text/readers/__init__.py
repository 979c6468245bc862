"""File readers of pairs, by the ending of the file's name."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from nsed.errors import ArgumentError, DataError
from nsed.registry import Registry
from nsed.text.pairs import Pairs
from nsed.text.readers.delimited import read_csv, read_csv_column, read_tsv, read_tsv_column
from nsed.text.readers.dictionaries import read_cmudict
from nsed.text.readers.lines import STDIN
from nsed.text.readers.parquet import read_arrow, read_arrow_column, read_parquet, read_parquet_column
from nsed.text.symbols import SymbolKind


class Reader(NamedTuple):
    """File reader: how to read a kind of file, and what its targets are made of unless the user says otherwise."""

    read: Callable[[Path, Sequence[str] | None], Pairs]
    target_symbols: SymbolKind = "graphemes"
    column: Callable[[Path, str], list[str] | None] = lambda path, name: None
    """One more column of such a file, by its name."""


READERS: Registry[Reader] = Registry("file ending")
for _ending in (".tsv", ".txt"):
    READERS.register(_ending, Reader(read_tsv, column=read_tsv_column))
READERS.register(".csv", Reader(read_csv, column=read_csv_column))
READERS.register(".dict", Reader(read_cmudict, target_symbols="tokens"))
READERS.register(".parquet", Reader(read_parquet, column=read_parquet_column))
for _ending in (".arrow", ".feather"):
    READERS.register(_ending, Reader(read_arrow, column=read_arrow_column))


def reader_for(path: str | Path) -> Reader:
    """File reader for a file's ending; `-` is tab-separated standard input."""
    ending = Path(path).suffix.lower()
    if Path(path) == STDIN:
        return READERS[".tsv"]
    if ending not in READERS:
        raise DataError(path, f"no reader for {ending or 'a name without ending'!r}; known: {', '.join(READERS)}")
    return READERS[ending]


def read_pairs(path: str | Path, *, columns: Sequence[str] | None = None) -> Pairs:
    """Read pairs of strings from a file: TSV, CSV, CMUdict `.dict`, Parquet or Arrow; `-` is TSV on standard input.

    `columns` names the source, the target, optionally the label, and with it optionally the two language columns of a
    file with a header. Without it, text files have source, target and perhaps label in this order; a header and Parquet
    columns may have the names source, target, label, source_language and target_language.

    Raises `DataError`, with file and line.
    """
    if columns is not None and len(columns) not in (2, 3, 5):
        expected = "the names of 2, 3 or 5: source, target, label, the language of the source and of the target"
        raise ArgumentError("columns", got=", ".join(columns), expected=expected)
    return reader_for(path).read(Path(path), columns)


def read_column(path: str | Path, name: str) -> list[str] | None:
    """Column of a file of pairs, whatever it holds, by its name in upper or lower case: a text for each pair.

    None where there is no such column, or where it cannot be read beside the pairs: of standard input.
    """
    return None if Path(path) == STDIN else reader_for(path).column(Path(path), name)
