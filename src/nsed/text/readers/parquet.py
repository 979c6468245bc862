"""Parquet and Arrow files with a source and a target column, or with sources alone."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from nsed.errors import DataError, abbreviate
from nsed.text.columns import rows_named
from nsed.text.pairs import COLUMNS, LABELLED, LABELS, Pairs, parse_label, present
from nsed.text.readers.delimited import (
    ReadOptions,
    Sources,
    distinct_names,
    listed,
    named_twice,
    option,
    shown_cells,
    suggested_columns,
)
from nsed.text.texts import Texts

ReadTable = Callable[[Path], pa.Table]


def read_parquet(path: Path, options: ReadOptions) -> Pairs:
    """Read a Parquet file."""
    return _pairs(path, _read_parquet, options)


def read_arrow(path: Path, options: ReadOptions) -> Pairs:
    """Read an Arrow IPC file (Feather version 2)."""
    return _pairs(path, _read_ipc, options)


def read_parquet_sources(path: Path, options: ReadOptions) -> Sources:
    """Read the sources of a Parquet file."""
    return _sources(path, _read_parquet, options)


def read_arrow_sources(path: Path, options: ReadOptions) -> Sources:
    """Read the sources of an Arrow IPC (Feather) file."""
    return _sources(path, _read_ipc, options)


def _read_parquet(path: Path) -> pa.Table:
    with pyarrow.parquet.ParquetFile(path) as file:
        return file.read()


def _read_ipc(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        return _ipc(path, file).read_all()


def _ipc(path: Path, file: pa.NativeFile) -> pa.RecordBatchFileReader:
    if file.read(4) == b"FEA1":  # Arrow's reader of these files crashes where they are damaged
        advice = "write it again, as with df.to_feather(path)"
        raise DataError(path, f"Feather version 1, which is not read: {advice}")
    return pa.ipc.open_file(file)


READ_AHEAD = 2**20
"""Bytes of a column of a Parquet file that are read at once, whatever the size of its row groups."""
SMALL = 2**24
"""Bytes of a file whose columns are read whole: a reader with a buffer makes room for what a page says of its size, of
a damaged file up to two gigabytes."""


def parquet_pieces(path: Path, *, start: int, rows: int) -> Iterator[pa.Table]:
    """Pieces of a Parquet file from a row on, each of about so many rows: no more is in memory."""
    buffer = READ_AHEAD if path.stat().st_size > SMALL else 0
    with pyarrow.parquet.ParquetFile(path, pre_buffer=False, buffer_size=buffer) as file:
        groups, skipped = _groups_from(file.metadata, start)
        batches = file.iter_batches(rows, row_groups=groups)
        yield from _without_first(batches, start - skipped, file.schema_arrow)


def _groups_from(metadata: pyarrow.parquet.FileMetaData, start: int) -> tuple[list[int], int]:
    """Row groups that have rows from `start` on, and how many rows are before them."""
    before = 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if before + rows > start:
            return list(range(group, metadata.num_row_groups)), before
        before += rows
    return [], before


def ipc_pieces(path: Path, *, start: int, rows: int) -> Iterator[pa.Table]:
    """Pieces of an Arrow IPC file from a row on: its record batches, one after the other."""
    with pa.OSFile(str(path)) as file:
        reader = _ipc(path, file)
        batches = map(reader.get_batch, range(reader.num_record_batches))
        yield from _without_first(batches, start, reader.schema)


def _without_first(batches: Iterable[pa.RecordBatch], count: int, schema: pa.Schema) -> Iterator[pa.Table]:
    for batch in batches:
        if batch.num_rows > count:
            yield pa.Table.from_batches([batch.slice(count)], schema)
        count = max(0, count - batch.num_rows)


def _pairs(path: Path, read_table: ReadTable, options: ReadOptions) -> Pairs:
    table = _some(path, _table(path, read_table))
    return _some_used(path, pairs_of_table(Rows(path, table), options))


def _sources(path: Path, read_table: ReadTable, options: ReadOptions) -> Sources:
    table = _some(path, _table(path, read_table))
    return _some_used(path, sources_of_table(Rows(path, table), options))


class Rows(NamedTuple):
    """Rows of a file, or of a part of it."""

    path: Path
    table: pa.Table
    first: int = 0
    """Number of rows of the file before these."""


Content = TypeVar("Content", Pairs, Sources)


class Used(NamedTuple, Generic[Content]):
    """What is read of rows that can be used, and which these are."""

    content: Content
    numbers: np.ndarray
    """Numbers of the usable rows in their file, from 1."""


def pairs_of_table(rows: Rows, options: ReadOptions) -> Used[Pairs]:
    """Pairs of the usable rows; others are rejected, or raise `DataError`."""
    wanted = options.read_of(options.columns or present(rows.table.column_names))
    table, numbers = _usable(rows, wanted, options)
    label = wanted[2] if len(wanted) in LABELLED else None
    texts = (name for place, name in enumerate(wanted) if place != 2 or label is None)
    source, target, *languages = (Texts.of_arrow(table.column(name)) for name in texts)
    labels = None if label is None else [bool(parse_label(value)) for _, value in _rows(table.column(label))]
    one, other = languages or (None, None)
    others = _others(table, wanted) if options.keep_others else None
    return Used(Pairs(source, target, labels, one, other, others), numbers)


def sources_of_table(rows: Rows, options: ReadOptions) -> Used[Sources]:
    """Sources of the usable rows; others are rejected, or raise `DataError`."""
    names = rows.table.column_names
    wanted = list(options.columns or (names if len(names) == 1 else COLUMNS[:1]))
    table, numbers = _usable(rows, wanted, options)
    return Used(Sources(Texts.of_arrow(table.column(wanted[0])), _others(table, wanted)), numbers)


def _some(path: Path, table: pa.Table) -> pa.Table:
    """The same table. Raises `DataError` where it has no row."""
    if not len(table):
        error = DataError(path, f"there are columns but no row below them: {listed(table.column_names)}")
        error.header = tuple(table.column_names)
        raise error
    return table


def _some_used(path: Path, used: Used[Content]) -> Content:
    if not len(used.numbers):
        raise DataError(path, "no row can be used: every one was rejected")
    return used.content


def _table(path: Path, read_table: ReadTable) -> pa.Table:
    """Table in which every offset, dictionary index and string is sound: with others, Arrow crashes."""
    if not path.is_file():
        raise DataError(path, "cannot be read: No such file")
    with sound(path):
        return checked_table(read_table(path))


def checked_table(table: pa.Table) -> pa.Table:
    """The same table. Raises one of Arrow's errors where it is damaged, see `sound`."""
    table.validate(full=True)
    table.column_names  # noqa: B018  # raises where they are no UTF-8
    return table


@contextmanager
def sound(path: Path) -> Iterator[None]:
    """Errors of Arrow as `DataError` of a file."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = (str(error).splitlines() or ["the file is damaged"])[0]
        raise DataError(path, f"cannot be read: {reason}") from None


def _usable(rows: Rows, wanted: list[str], options: ReadOptions) -> tuple[pa.Table, np.ndarray]:
    """Usable rows, with their numbers: with a string, and a label that is one, where wanted; others are rejected."""
    path, table, first = rows
    _check_names(path, table.column_names, wanted, advise=options.columns is None)
    table = _filled(table, wanted) if options.missing else table
    labelled = len(wanted) in LABELLED
    for name in wanted[:2] + wanted[3 if labelled else 2 :]:
        _check_text(path, table.column(name), name)  # before anything as long as the table, which may be all nulls
    good = np.ones(len(table), dtype=bool)
    for place, name in enumerate(wanted):
        is_label = labelled and place == 2
        bad = _without_label(table.column(name)) if is_label else _without_string(table.column(name))
        if bad.any() and options.on_reject is None:
            raise _unusable(rows, name, np.flatnonzero(bad), is_label=is_label)
        for row in np.flatnonzero(bad & good).tolist():
            error = _unusable(rows, name, np.array([row]), is_label=is_label)
            options.reject(error, shown_cells(table.slice(row, 1).to_pylist()[0].values()))
        good &= ~bad
    numbers = np.flatnonzero(good) + first + 1
    return table if good.all() else table.filter(pa.array(good)), numbers


def _filled(table: pa.Table, names: Sequence[str]) -> pa.Table:
    """The same table with empty strings for the nulls of some columns."""
    for name in names:
        column, place = table.column(name), table.column_names.index(name)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        text = column.cast(pa.string() if pa.types.is_null(kind) else kind)
        filled = text.fill_null("") if pa.types.is_string(text.type) or pa.types.is_large_string(text.type) else text
        table = table.set_column(place, name, filled)
    return table


def _check_names(path: Path, names: Sequence[str], wanted: Sequence[str], *, advise: bool) -> None:
    """Check that the columns that are wanted are there, once. Raises `DataError`, perhaps with those to be named."""
    missing = [name for name in wanted if name not in names]
    if missing:
        message = f"no column named {', '.join(map(repr, missing))}; the file has: {listed(names)}"
        raise DataError(path, message + (_which_to_name(names, len(wanted)) if advise else ""))
    for name in wanted:
        if names.count(name) > 1:
            raise named_twice(path, name, names)


def _which_to_name(names: Sequence[str], wanted: int) -> str:
    """Advice on the option that names columns, of pairs, or of sources."""
    if wanted > len(names) or len(names) < 2:
        return ""
    found = suggested_columns(names)
    named = option("--columns", *found) if wanted > 1 else option("--column", found[0])
    return f". Name those that are meant, say {named}"


def _without_string(column: pa.ChunkedArray) -> np.ndarray:
    """Rows without a string, where the column has strings; one of another type is no matter of rows."""
    kind = column.type  # a dictionary may have null among its values, which no index shows
    plain = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
    return np.asarray(plain.is_null().to_numpy())


def _without_label(column: pa.ChunkedArray) -> np.ndarray:
    return np.array([parse_label(value) is None for _, value in _rows(column)], dtype=bool)


def _unusable(of: Rows, name: str, rows: np.ndarray, *, is_label: bool) -> DataError:
    """Error for rows without a string or label, all of which are named."""
    column, numbers = of.table.column(name), rows + of.first + 1
    _, value = next(_rows(column.slice(int(rows[0]), 1)))
    more = f" ({rows_named(numbers)})" if len(rows) > 1 else ""
    found = abbreviate(repr(value))
    message = f"label {found} is none of {LABELS}" if is_label else f"column {name!r}: expected text, found {found}"
    return DataError(of.path, message + more, line=int(numbers[0]))


def _others(table: pa.Table, wanted: Sequence[str]) -> pa.Table | None:
    """Further columns, with their types."""
    names = distinct_names(table.column_names)
    kept = [place for place, name in enumerate(table.column_names) if name not in wanted]
    return table.rename_columns(names).select(kept) if kept else None


def _check_text(path: Path, column: pa.ChunkedArray, name: str) -> None:
    """Check that a column is one of text, whatever its nulls. Raises `DataError` with the first value that is none."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return
    row, value = next(((row, value) for row, value in _rows(column) if value is not None), (1, None))
    raise DataError(path, f"column {name!r}: expected text, found {abbreviate(repr(value))}", line=row)


def _rows(column: pa.ChunkedArray) -> Iterator[tuple[int, object]]:
    """Rows as Python has them, from 1 on; for a value that it lacks, say a date in the year 12,000, its type."""
    for row, value in enumerate(column, start=1):
        try:
            yield row, value.as_py()
        except (ArithmeticError, LookupError, ValueError):
            yield row, value.type
