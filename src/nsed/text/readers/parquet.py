"""Parquet and Arrow files with a source and a target column, or with sources alone."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from nsed.errors import DataError
from nsed.text.columns import rows_named
from nsed.text.pairs import COLUMNS, LABELLED, LABELS, Pairs, parse_label, present
from nsed.text.readers.delimited import ReadOptions, Sources, distinct_names, named_twice
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
        if file.read(4) == b"FEA1":  # Arrow's reader of these files crashes where they are damaged
            advice = "write it again, as with df.to_feather(path)"
            raise DataError(path, f"Feather version 1, which is not read: {advice}")
        return pa.ipc.open_file(file).read_all()


def _pairs(path: Path, read_table: ReadTable, options: ReadOptions) -> Pairs:
    table = _table(path, read_table)
    wanted = list(options.columns or present(table.column_names))
    table = _usable(path, table, wanted, options)
    label = wanted[2] if len(wanted) in LABELLED else None
    texts = (name for place, name in enumerate(wanted) if place != 2 or label is None)
    source, target, *languages = (Texts.of_arrow(table.column(name)) for name in texts)
    labels = None if label is None else [bool(parse_label(value)) for _, value in _rows(table.column(label))]
    one, other = languages or (None, None)
    return Pairs(source, target, labels, one, other, _others(table, wanted) if options.keep_others else None)


def _sources(path: Path, read_table: ReadTable, options: ReadOptions) -> Sources:
    table = _table(path, read_table)
    alone = table.column_names if len(table.column_names) == 1 else COLUMNS[:1]
    wanted = list(options.columns or alone)
    table = _usable(path, table, wanted, options)
    return Sources(Texts.of_arrow(table.column(wanted[0])), _others(table, wanted))


def _table(path: Path, read_table: ReadTable) -> pa.Table:
    """Table in which every offset, dictionary index and string is sound: with others, Arrow crashes."""
    if not path.is_file():
        raise DataError(path, "cannot be read: No such file")
    try:
        table = read_table(path)
        table.validate(full=True)
        table.column_names  # noqa: B018  # raises where they are no UTF-8
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = (str(error).splitlines() or ["the file is damaged"])[0]
        raise DataError(path, f"cannot be read: {reason}") from None
    return table


def _usable(path: Path, table: pa.Table, wanted: list[str], options: ReadOptions) -> pa.Table:
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
    labelled = len(wanted) in LABELLED
    for name in wanted[:2] + wanted[3 if labelled else 2 :]:
        _check_text(path, table.column(name), name)  # before anything as long as the table, which may be all nulls
    good = np.ones(len(table), dtype=bool)
    for place, name in enumerate(wanted):
        is_label = labelled and place == 2
        bad = _without_label(table.column(name)) if is_label else _without_string(table.column(name))
        if bad.any() and options.on_reject is None:
            raise _unusable(path, table.column(name), name, np.flatnonzero(bad), is_label=is_label)
        for row in np.flatnonzero(bad & good).tolist():
            error = _unusable(path, table.column(name), name, np.array([row]), is_label=is_label)
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
    return np.array([parse_label(value) is None for _, value in _rows(column)], dtype=bool)


def _unusable(path: Path, column: pa.ChunkedArray, name: str, rows: np.ndarray, *, is_label: bool) -> DataError:
    """Error for rows without a string or label, all of which are named."""
    (_, value), row = next(_rows(column.slice(int(rows[0]), 1))), int(rows[0]) + 1
    more = f" ({rows_named(rows + 1)})" if len(rows) > 1 else ""
    if is_label:
        return DataError(path, f"label {value!r} is none of {LABELS}{more}", line=row)
    return DataError(path, f"column {name!r}: expected text, found {value!r}{more}", line=row)


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
    raise DataError(path, f"column {name!r}: expected text, found {value!r}", line=row)


def _rows(column: pa.ChunkedArray) -> Iterator[tuple[int, object]]:
    """Rows as Python has them, from 1 on; for a value that it lacks, say a date in the year 12,000, its type."""
    for row, value in enumerate(column, start=1):
        try:
            yield row, value.as_py()
        except (ArithmeticError, LookupError, ValueError):
            yield row, value.type
