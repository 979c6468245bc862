"""File readers of pairs, by the ending of the file's name."""

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from nsed.config import shown
from nsed.errors import ArgumentError, DataError
from nsed.registry import Registry
from nsed.text.pairs import Pairs
from nsed.text.readers.delimited import (
    ReadOptions,
    Reject,
    Sources,
    read_csv,
    read_csv_sources,
    read_line_sources,
    read_tsv,
)
from nsed.text.readers.dictionaries import read_cmudict, read_cmudict_sources
from nsed.text.readers.lines import STDIN
from nsed.text.readers.parquet import read_arrow, read_arrow_sources, read_parquet, read_parquet_sources
from nsed.text.symbols import SymbolKind


class Reader(NamedTuple):
    """File reader: how to read a kind of file, and what its targets are made of unless the user says otherwise."""

    read: Callable[[Path, ReadOptions], Pairs]
    read_sources: Callable[[Path, ReadOptions], Sources] = read_line_sources
    target_symbols: SymbolKind = "graphemes"


READERS: Registry[Reader] = Registry("file ending")
for _ending in (".tsv", ".txt"):
    READERS.register(_ending, Reader(read_tsv))
READERS.register(".csv", Reader(read_csv, read_csv_sources))
READERS.register(".dict", Reader(read_cmudict, read_cmudict_sources, "tokens"))
READERS.register(".parquet", Reader(read_parquet, read_parquet_sources))
for _ending in (".arrow", ".feather"):
    READERS.register(_ending, Reader(read_arrow, read_arrow_sources))


def reader_for(path: str | Path) -> Reader:
    """File reader for a file's ending; `-` is tab-separated standard input.

    >>> reader_for("words.dict").target_symbols, reader_for("pairs.tsv").target_symbols
    ('tokens', 'graphemes')
    >>> reader_for("pairs.docx")
    Traceback (most recent call last):
    nsed.errors.DataError: pairs.docx: no reader for '.docx'; known: .arrow, .csv, .dict, .feather, .parquet, .tsv, .txt
    """
    ending = _checked_path(path).suffix.lower()
    if Path(path) == STDIN:
        return READERS[".tsv"]
    if ending not in READERS:
        raise DataError(path, f"no reader for {ending or 'a name without ending'!r}; known: {', '.join(READERS)}")
    return READERS[ending]


def read_pairs(
    path: str | Path,
    *,
    columns: Sequence[str] | None = None,
    keep_others: bool = False,
    on_reject: Callable[[Reject], None] | None = None,
) -> Pairs:
    """Read pairs of strings from a file: TSV, CSV, CMUdict `.dict`, Parquet or Arrow; `-` is TSV on standard input.

    `columns` names the source, the target, optionally the label, and optionally the two language columns of a file
    with a header: 2, 3, 4 or 5 names. Without it, text files have source, target and perhaps label in this order; a
    header and Parquet columns may have the names source, target, label, source_language and target_language. Further
    columns become `Pairs.others` with `keep_others`.

    Raises `DataError`, with file and line, at the first row that cannot be used: too few or too many columns, a null, a
    label that is none. With `on_reject` such rows are left out, and it is told of each.
    """
    check_columns(columns)
    return reader_for(path).read(_checked_path(path), ReadOptions(columns, keep_others, on_reject))


def _checked_path(path: object) -> Path:
    """Path of a file. Raises `ArgumentError` for what is none, the pairs themselves, say."""
    if not isinstance(path, str | PathLike):
        advice = "Pairs that are there already need no file: nsed.Pairs.of(...)."
        raise ArgumentError("path", got=shown(path), expected="the path of a file of pairs or sources", advice=advice)
    return Path(path)


def check_columns(columns: Sequence[str] | None) -> None:
    """Check that as many columns are named as pairs have. Raises `ArgumentError`."""
    if columns is not None and not 2 <= len(columns) <= 5:
        expected = "the names of 2, 3 or 5: source, target, label, the language of the source and of the target; of 4: "
        expected += "those without the label"
        raise ArgumentError("columns", got=", ".join(columns), expected=expected)


def read_sources(
    path: str | Path,
    *,
    column: str | None = None,
    on_reject: Callable[[Reject], None] | None = None,
    missing: bool = False,
) -> Sources:
    """Read sources from a file: one per line, words of CMUdict `.dict`, or a column of a table; `-` is standard input.

    Tables are TSV, CSV, Parquet and Arrow. The column is the one that is named, else `source`, else the first of a text
    file. What has no ending of a table and no tab in its first line is lines. With `missing` nulls are empty strings.
    Raises `DataError`, as `read_pairs` does.
    """
    ending = _checked_path(path).suffix.lower()
    read = READERS[ending].read_sources if ending in READERS else read_line_sources
    return read(Path(path), ReadOptions(None if column is None else [column], True, on_reject, missing=missing))
