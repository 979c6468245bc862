"""Parquet and Arrow files with a source and a target column, or with sources alone."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from nsed.errors import ArgumentError, DataError
from nsed.text.columns import rows_named
from nsed.text.pairs import COLUMNS, LABELS, Pairs, parse_label, present
from nsed.text.readers.delimited import ReadOptions, Sources, distinct_names, named_twice
from nsed.text.texts import Texts

ReadTable = Callable[[Path], pa.Table]


def read_parquet(path: Path, options: ReadOptions) -> Pairs:
    """Read a Parquet file."""
    return _pairs(path, pyarrow.parquet.read_table, options)


def read_arrow(path: Path, options: ReadOptions) -> Pairs:
    """Read an Arrow IPC (Feather) file."""
    return _pairs(path, pyarrow.feather.read_table, options)


def read_parquet_sources(path: Path, options: ReadOptions) -> Sources:
    """Read the sources of a Parquet file."""
    return _sources(path, pyarrow.parquet.read_table, options)


def read_arrow_sources(path: Path, options: ReadOptions) -> Sources:
    """Read the sources of an Arrow IPC (Feather) file."""
    return _sources(path, pyarrow.feather.read_table, options)


def _pairs(path: Path, read_table: ReadTable, options: ReadOptions) -> Pairs:
    table = _table(path, read_table)
    wanted = list(options.columns or present(table.column_names))
    table = _usable(path, table, wanted, options)
    source, target, *languages = (_strings(path, table.column(name), name) for name in wanted[:2] + wanted[3:])
    labels = [bool(parse_label(value)) for value in table.column(wanted[2]).to_pylist()] if len(wanted) > 2 else None
    one, other = languages or (None, None)
    return Pairs(source, target, labels, one, other, _others(table, wanted) if options.keep_others else None)


def _sources(path: Path, read_table: ReadTable, options: ReadOptions) -> Sources:
    table = _table(path, read_table)
    alone = table.column_names if len(table.column_names) == 1 else COLUMNS[:1]
    wanted = list(options.columns or alone)
    table = _usable(path, table, wanted, options)
    return Sources(_strings(path, table.column(wanted[0]), wanted[0]), _others(table, wanted))


def _table(path: Path, read_table: ReadTable) -> pa.Table:
    if not path.is_file():
        raise DataError(path, "cannot be read: No such file")
    try:
        return read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(path, f"cannot be read: {str(error).splitlines()[0]}") from None


def _usable(path: Path, table: pa.Table, wanted: Sequence[str], options: ReadOptions) -> pa.Table:
    """Usable rows: those with a string, and a label that is one, where that is wanted; others are rejected."""
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        found = ", ".join(table.column_names)
        raise DataError(path, f"no column named {', '.join(map(repr, missing))}; the file has: {found}")
    for name in wanted:
        if table.column_names.count(name) > 1:
            raise named_twice(path, name, table.column_names)
    if not len(table):
        raise DataError(path, f"there are columns but no row below them: {', '.join(table.column_names)}")
    good = np.ones(len(table), dtype=bool)
    for place, name in enumerate(wanted):
        bad = _without_label(table.column(name)) if place == 2 else _without_string(table.column(name))
        if bad.any() and options.on_reject is None:
            raise _unusable(path, table.column(name), name, np.flatnonzero(bad), is_label=place == 2)
        for row in np.flatnonzero(bad & good).tolist():
            error = _unusable(path, table.column(name), name, np.array([row]), is_label=place == 2)
            options.reject(error, [str(value) for value in table.slice(row, 1).to_pylist()[0].values()])
        good &= ~bad
    if not good.any():
        raise DataError(path, "no row can be used: every one was rejected")
    return table if good.all() else table.filter(pa.array(good))


def _without_string(column: pa.ChunkedArray) -> np.ndarray:
    """Rows without a string, where the column has strings; one of another type is no matter of rows."""
    kind = column.type  # a dictionary may have null among its values, which no index shows
    plain = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
    return np.asarray(plain.is_null().to_numpy())


def _without_label(column: pa.ChunkedArray) -> np.ndarray:
    return np.array([parse_label(value) is None for value in column.to_pylist()], dtype=bool)


def _unusable(path: Path, column: pa.ChunkedArray, name: str, rows: np.ndarray, *, is_label: bool) -> DataError:
    """Error for rows without a string or label, all of which are named."""
    value, row = column[int(rows[0])].as_py(), int(rows[0]) + 1
    more = f" ({rows_named(rows + 1)})" if len(rows) > 1 else ""
    if is_label:
        return DataError(path, f"label {value!r} is none of {LABELS}{more}", line=row)
    return DataError(path, f"column {name!r}: expected text, found {value!r}{more}", line=row)


def _others(table: pa.Table, wanted: Sequence[str]) -> pa.Table | None:
    """Further columns, with their types."""
    names = distinct_names(table.column_names)
    kept = [place for place, name in enumerate(table.column_names) if name not in wanted]
    return table.rename_columns(names).select(kept) if kept else None


def _strings(path: Path, column: pa.ChunkedArray, name: str) -> Texts:
    try:
        return Texts.of_arrow(column)
    except ArgumentError:
        value = next(value for value in column.to_pylist() if not isinstance(value, str))
        raise DataError(path, f"column {name!r}: expected text, found {value!r}", line=1) from None
