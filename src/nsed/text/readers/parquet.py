"""Parquet and Arrow files with a source and a target column."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet

from nsed.errors import ArgumentError, DataError
from nsed.text.pairs import LABELS, Pairs, parse_label, present
from nsed.text.texts import Texts


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> Pairs:
    """Read a Parquet file."""
    return _read(path, pyarrow.parquet.read_table, columns)


def read_arrow(path: Path, columns: Sequence[str] | None = None) -> Pairs:
    """Read an Arrow IPC (Feather) file."""
    return _read(path, pyarrow.feather.read_table, columns)


def read_parquet_column(path: Path, name: str) -> list[str] | None:
    """Values of the Parquet column of this name, as text, a value for each pair; None where there is none."""
    return _column(pyarrow.parquet.read_table(path), name)


def read_arrow_column(path: Path, name: str) -> list[str] | None:
    """Values of the Arrow column of this name, see `read_parquet_column`."""
    return _column(pyarrow.feather.read_table(path), name)


def _column(table: pa.Table, name: str) -> list[str] | None:
    found = next((one for one in table.column_names if one.lower() == name.lower()), None)
    return None if found is None else [str(value) for value in table.column(found).to_pylist()]


def _read(path: Path, read_table: Callable[[Path], pa.Table], columns: Sequence[str] | None) -> Pairs:
    if not path.is_file():
        raise DataError(path, "cannot be read: No such file")
    try:
        table = read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise DataError(path, f"cannot be read: {str(error).splitlines()[0]}") from None
    wanted = list(columns or present(table.column_names))
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        found = ", ".join(table.column_names)
        raise DataError(path, f"no column named {', '.join(map(repr, missing))}; the file has: {found}")
    if not len(table):
        raise DataError(path, f"there are columns but no row below them: {', '.join(table.column_names)}")
    source, target, *languages = (_strings(path, table.column(name), name) for name in wanted[:2] + wanted[3:])
    labels = _labels(path, table.column(wanted[2])) if len(wanted) > 2 else None
    return Pairs(source, target, labels, *languages)


def _labels(path: Path, column: pa.ChunkedArray) -> list[bool]:
    labels = []
    for row, value in enumerate(column.to_pylist(), start=1):
        label = parse_label(value)
        if label is None:
            raise DataError(path, f"label {value!r} is none of {LABELS}", line=row)
        labels.append(label)
    return labels


def _strings(path: Path, column: pa.ChunkedArray, name: str) -> Texts:
    try:
        return Texts.of_arrow(column)
    except ArgumentError:
        for row, value in enumerate(column.to_pylist(), start=1):
            if not isinstance(value, str):
                raise DataError(path, f"column {name!r}: expected text, found {value!r}", line=row) from None
        raise
