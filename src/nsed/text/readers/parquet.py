"""Parquet and Arrow files with a source and a target column."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from nsed.errors import DataError
from nsed.text.pairs import LABELS, Pairs, parse_label, present
from nsed.text.texts import Texts


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> Pairs:
    """Read a Parquet file."""
    return _read(path, _read_parquet, columns)


def _read_parquet(path: Path) -> pa.Table:
    with pyarrow.parquet.ParquetFile(path) as file:
        return file.read()


def read_arrow(path: Path, columns: Sequence[str] | None = None) -> Pairs:
    """Read an Arrow IPC file (Feather version 2)."""
    return _read(path, _read_ipc, columns)


def _read_ipc(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        if file.read(4) == b"FEA1":  # Arrow's reader of these files crashes where they are damaged
            advice = "write it again, as with df.to_feather(path)"
            raise DataError(path, f"Feather version 1, which is not read: {advice}")
        return pa.ipc.open_file(file).read_all()


def _read(path: Path, read_table: Callable[[Path], pa.Table], columns: Sequence[str] | None) -> Pairs:
    if not path.is_file():
        raise DataError(path, "cannot be read: No such file")
    table = _validated(path, read_table)
    wanted = list(columns or present(table.column_names))
    missing = [name for name in wanted if name not in table.column_names]
    if missing:
        found = ", ".join(table.column_names)
        raise DataError(path, f"no column named {', '.join(map(repr, missing))}; the file has: {found}")
    twice = [name for name in wanted if table.column_names.count(name) > 1]
    if twice:
        raise DataError(path, f"more than one column named {twice[0]!r}; rename all but one of them")
    if not len(table):
        raise DataError(path, f"there are columns but no row below them: {', '.join(table.column_names)}")
    source, target, *languages = (_strings(path, table.column(name), name) for name in wanted[:2] + wanted[3:])
    labels = _labels(path, table.column(wanted[2])) if len(wanted) > 2 else None
    return Pairs(source, target, labels, *languages)


def _validated(path: Path, read_table: Callable[[Path], pa.Table]) -> pa.Table:
    """Table in which every offset, dictionary index and string is sound: with others, Arrow crashes."""
    try:
        table = read_table(path)
        table.validate(full=True)
        table.column_names  # noqa: B018  # raises where they are no UTF-8
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = (str(error).splitlines() or ["the file is damaged"])[0]
        raise DataError(path, f"cannot be read: {reason}") from None
    return table


def _labels(path: Path, column: pa.ChunkedArray) -> list[bool]:
    labels = []
    for row, value in _rows(column):
        label = parse_label(value)
        if label is None:
            raise DataError(path, f"label {value!r} is none of {LABELS}", line=row)
        labels.append(label)
    return labels


def _strings(path: Path, column: pa.ChunkedArray, name: str) -> Texts:
    try:
        return Texts.of_arrow(column)
    except (ArithmeticError, LookupError, ValueError):
        for row, value in _rows(column):
            if not isinstance(value, str):
                raise DataError(path, f"column {name!r}: expected text, found {value!r}", line=row) from None
        raise


def _rows(column: pa.ChunkedArray) -> Iterator[tuple[int, object]]:
    """Rows as Python has them, from 1 on; for a value that it lacks, say a date in the year 12,000, its type."""
    for row, value in enumerate(column, start=1):
        try:
            yield row, value.as_py()
        except (ArithmeticError, LookupError, ValueError):
            yield row, value.type
