"""Batch readers: files of pairs or of sources, of any size, in batches of rows; no more than a batch is in memory."""

import glob
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyarrow as pa

from nsed.errors import ArgumentError, DataError
from nsed.text.pairs import Pairs
from nsed.text.readers import READERS, check_columns, reader_for
from nsed.text.readers.delimited import ReadOptions, Reject, Sources
from nsed.text.readers.lines import STDIN
from nsed.text.readers.parquet import (
    Rows,
    Used,
    checked_table,
    ipc_pieces,
    pairs_of_table,
    parquet_pieces,
    sound,
    sources_of_table,
)
from nsed.text.readers.row_batch import BatchOptions, RowBatch
from nsed.text.readers.text_batches import csv_batches, line_batches, pair_reader, source_reader, tsv_batches


def input_files(inputs: str | Path | Iterable[str | Path]) -> list[Path]:
    """Files that are meant: those named, those of globs, and all tables of folders, each sorted by name.

    In folders, names that begin with `.` or `_` are left out. Raises `DataError` where there is nothing.
    """
    given = [inputs] if isinstance(inputs, str | Path) else list(inputs)
    found = [file for one in given for file in _files_of(Path(one))]
    if found.count(STDIN) and len(found) > 1:
        raise ArgumentError("inputs", got="- and other files", expected="standard input alone, or files")
    if not found:
        raise ArgumentError("inputs", got="none", expected="at least one file")
    return found


def _files_of(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if file.suffix.lower() in READERS and file.name[0] not in "._")
        if not files:
            raise DataError(path, f"no table in this folder; expected files that end in {', '.join(READERS)}")
        return files
    if path == STDIN or path.exists() or not glob.has_magic(str(path)):
        return [path]
    matched = sorted(map(Path, glob.glob(str(path), recursive=True)))
    if not matched:
        raise DataError(path, "no file has a name like this")
    return [file for one in matched for file in _files_of(one)]


def pair_batches(path: Path, options: BatchOptions, *, start: int = 0) -> Iterator[RowBatch]:
    """Batches of a file of pairs, with all of its columns, from a row on: the first `start` rows are left out.

    Raises `DataError` as `nsed.read_pairs` does, for rows that cannot be used too unless they are to be skipped.
    """
    ending, columns = path.suffix.lower(), options.columns
    check_columns(columns)
    if ending in TABLES:
        return _table_batches(path, options, start, pairs_of_table)
    if ending == ".dict":
        return _dictionary_batches(path, options, start)
    reader_for(path)  # raises for endings that nobody knows
    read = pair_reader(columns)
    return (csv_batches if ending == ".csv" else tsv_batches)(path, options, start, read)


def source_batches(path: Path, options: BatchOptions, *, start: int = 0) -> Iterator[RowBatch]:
    """Batches of a file of sources, a line each or a column of a table, see `nsed.text.readers.read_sources`."""
    ending, columns = path.suffix.lower(), options.columns
    if ending in TABLES:
        return _table_batches(path, options, start, sources_of_table)
    read = source_reader(columns)
    if ending == ".csv":
        return csv_batches(path, options, start, read)
    return (line_batches if columns is None else tsv_batches)(path, options, start, read)


TABLES = {".parquet": parquet_pieces, ".arrow": ipc_pieces, ".feather": ipc_pieces}
"""Binary tables by their endings: how to read their rows in pieces."""


def _dictionary_batches(path: Path, options: BatchOptions, start: int) -> Iterator[RowBatch]:
    """Batches of a pronouncing dictionary, which is small enough to be read as a whole."""
    rejects: list[Reject] = []
    pairs = reader_for(path).read(path, ReadOptions(options.columns, True, rejects.append if options.skip else None))
    for first in range(start, len(pairs), options.rows):
        rows = range(first, min(first + options.rows, len(pairs)))
        yield RowBatch(path, pairs.chosen(rows), range(first + 1, rows.stop + 1), [] if first else rejects, len(rows))


def _table_batches(
    path: Path,
    options: BatchOptions,
    start: int,
    content: Callable[[Rows, ReadOptions], Used[Pairs]] | Callable[[Rows, ReadOptions], Used[Sources]],
) -> Iterator[RowBatch]:
    if not path.is_file():
        raise DataError(path, "cannot be read: No such file")
    first = start
    with sound(path):
        pieces = TABLES[path.suffix.lower()](path, start=start, rows=options.rows)
        for table in _cut(map(checked_table, pieces), options.rows):
            rejects: list[Reject] = []
            told = ReadOptions(options.columns, True, rejects.append if options.skip else None)
            used = content(Rows(path, table, first), told)
            yield RowBatch(path, used.content, used.numbers.tolist(), rejects, len(table))
            first += len(table)
    if not first:
        raise DataError(path, "there are columns but no row below them")


def _cut(pieces: Iterable[pa.Table], rows: int) -> Iterator[pa.Table]:
    """The same rows in tables of so many each, and of what is left: whatever pieces a file has."""
    held: list[pa.Table] = []
    for piece in pieces:
        held.append(piece)
        while sum(map(len, held)) >= rows:
            whole = pa.concat_tables(held)
            yield whole.slice(0, rows)
            held = [whole.slice(rows)]
    if sum(map(len, held)):
        yield pa.concat_tables(held)
