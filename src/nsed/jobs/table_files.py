"""Table files, written batch by batch: Parquet, Arrow, TSV, CSV and JSON lines, by the ending of the file's name.

Nothing heavy is imported before it is needed: the command line has its options from here.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from pathlib import Path
from stat import S_ISREG
from typing import IO, TYPE_CHECKING, Any, BinaryIO, TextIO

from nsed.errors import ArgumentError, DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from nsed.text import Pairs


class RowFormat(StrEnum):
    """Output format of rows."""

    TSV = "tsv"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"


BINARY = frozenset({RowFormat.PARQUET, RowFormat.ARROW})
"""Formats that are no text."""
ENDINGS = {
    "": RowFormat.TSV,
    ".tsv": RowFormat.TSV,
    ".txt": RowFormat.TSV,
    ".csv": RowFormat.CSV,
    ".json": RowFormat.JSON,
    ".jsonl": RowFormat.JSON,
    ".parquet": RowFormat.PARQUET,
    ".arrow": RowFormat.ARROW,
    ".feather": RowFormat.ARROW,
}
"""Output format by the ending of a file's name; TSV where it has none."""


def row_format(path: Path, *, argument: str = "output", advice: str = "") -> RowFormat:
    """Output format that the ending of a name stands for. Raises `ArgumentError` for an ending that nobody knows."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        expected = f"a name that ends in {', '.join(filter(None, ENDINGS))}"
        raise ArgumentError(argument, got=path, expected=expected, advice=advice)
    return ENDINGS[ending]


OR_FORMAT = "Or say --format."
"""Advice on an ending that nobody knows, where there is such an option."""

Table = Mapping[str, Any]
"""Columns of equal length by their names: Arrow's, those of an input, or Python's, answers."""


def answered(given: Table, answers: Table, others: pa.Table | None) -> Table:
    """Output table: what was asked, the answers, then the other columns of the input.

    A column of the input whose name is taken has `input_` before it.
    """
    table = {**given, **answers}
    for own, column in zip(others.column_names, others.columns, strict=True) if others is not None else ():
        name = own
        while name in table:
            name = f"input_{name}"
        table[name] = column
    return table


def other_columns(pairs: Pairs) -> pa.Table | None:
    """Columns of pairs beside source and target: label and languages by their usual names, then further ones."""
    import pyarrow as pa  # noqa: PLC0415  # not before it is needed

    usual = {
        "label": pairs.labels,
        "source_language": pairs.source_languages,
        "target_language": pairs.target_languages,
    }
    known = {name: pa.array(list(column)) for name, column in usual.items() if column is not None}
    names, arrays = list(known), list(known.values())
    if pairs.others is not None:
        names, arrays = names + pairs.others.column_names, arrays + pairs.others.columns
    return pa.Table.from_arrays(arrays, names=names) if arrays else None


def cell(value: object) -> str:
    """TSV cell of a value: truth is 1 or 0, numbers have six digits, nothing is empty."""
    if isinstance(value, bool):
        return str(int(value))
    if value is None:
        return ""
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def plain(row: Mapping[str, object]) -> dict[str, object]:
    """JSON-safe row: infinity, say the log-probability of what cannot be, is null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


_FORBIDDEN = frozenset("\t\n\r")


def tsv_lines(rows: Iterable[Iterable[object]], *, otherwise: str = "") -> Iterator[str]:
    """TSV lines of rows. Raises `ArgumentError`, with advice what to do otherwise, for text that no TSV can hold."""
    for row in rows:
        cells = [str(cell) for cell in row]
        for one in cells:
            if not _FORBIDDEN.isdisjoint(one):
                expected = "text without tabs and line breaks, as TSV has it"
                raise ArgumentError("output", got=repr(one), expected=expected, advice=otherwise)
        yield "\t".join(cells) + "\n"


OTHERWISE = "Use --format json or csv, or -o FILE.parquet."


def unwritable(table: Table, form: RowFormat) -> list[int]:
    """Rows that the format cannot hold: in TSV, those with a tab or a line break in a cell."""
    if form is not RowFormat.TSV:
        return []
    columns = [_values(column) for column in table.values()]
    suspect = [values for values in columns if _breaks("".join(filter(_is_text, values)))]
    return sorted({row for values in suspect for row, value in enumerate(values) if _is_text(value) and _breaks(value)})


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _breaks(text: str) -> bool:
    return any(character in text for character in _FORBIDDEN)


class TextWriter:
    """Writer of TSV, CSV or JSON lines; the header comes with the first rows."""

    def __init__(self, stream: TextIO, form: RowFormat, *, header: bool) -> None:
        self._stream, self._form, self._header = stream, form, header and form is not RowFormat.JSON

    def write(self, table: Table) -> None:
        """Write some rows."""
        text = (_csv_text([list(table)], self._form) if self._header else "") + _text(table, self._form)
        self._header = False
        self._stream.write(text)


def _text(table: Table, form: RowFormat) -> str:
    if form is RowFormat.JSON:
        rows = zip(*map(_values, table.values()), strict=True)
        named = (plain(dict(zip(table, row, strict=True))) for row in rows)
        return "".join(json.dumps(row, ensure_ascii=False, default=str) + "\n" for row in named)
    return _csv_text(list(zip(*(_cells(column) for column in table.values()), strict=True)), form)


def _csv_text(rows: Sequence[Sequence[str]], form: RowFormat) -> str:
    if form is RowFormat.CSV:
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows(rows)
        return stream.getvalue()
    text = "".join(["\t".join(row) + "\n" for row in rows])
    tabs = sum(len(row) - 1 for row in rows)
    if text.count("\t") != tabs or text.count("\n") != len(rows) or "\r" in text:
        text = "".join(tsv_lines(rows, otherwise=OTHERWISE))  # which says what is wrong
    return text


def _cells(column: Any) -> list[str]:
    """Cells of a column as text; numbers of an input are as exact as they were, those of answers are rounded."""
    values = _values(column)
    if set(map(type, values)) == {str}:
        return values
    if hasattr(column, "to_pylist"):
        return [str(value) if isinstance(value, float) else cell(value) for value in values]
    return [cell(value) for value in values]


def _values(column: Any) -> list[Any]:
    """Python values of a column of Arrow, of numpy, or of Python."""
    for to_list in ("to_pylist", "tolist"):
        if hasattr(column, to_list):
            values: list[Any] = getattr(column, to_list)()
            return values
    return list(column)


class ArrowWriter:
    """Writer of Parquet or of an Arrow IPC file to a binary stream; the first rows say which columns there are."""

    def __init__(self, stream: BinaryIO, form: RowFormat) -> None:
        self._stream, self._form = stream, form
        self._schema: pa.Schema | None = None
        self._writer: Any = None

    def write(self, table: Table) -> None:
        """Write some rows."""
        self.write_arrow(_arrow_table(table, self._form))

    def write_arrow(self, table: pa.Table) -> None:
        """Write some rows; the types of columns are those of the first ones."""
        if self._schema is None:
            self._schema, self._writer = table.schema, _arrow_writer(self._stream, table.schema, self._form)
        self._writer.write_table(table.cast(self._schema))

    def close(self) -> None:
        """Write what ends the file."""
        if self._writer is not None:
            self._writer.close()


def _arrow_writer(stream: BinaryIO, schema: pa.Schema, form: RowFormat) -> Any:
    import pyarrow as pa  # noqa: PLC0415  # not before it is needed
    from pyarrow import parquet  # noqa: PLC0415  # slow to import

    if form is RowFormat.PARQUET:
        return parquet.ParquetWriter(stream, schema)
    return pa.ipc.new_file(stream, schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))


def _arrow_table(table: Table, form: RowFormat) -> pa.Table:
    import pyarrow as pa  # noqa: PLC0415  # not before it is needed

    try:
        return pa.table({name: _arrow_column(column) for name, column in table.items()})
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise ArgumentError("output", got=str(error), expected=f"columns that {form} can hold") from None


def _arrow_column(column: Any) -> Any:
    import pyarrow as pa  # noqa: PLC0415  # not before it is needed

    from nsed.text.texts import Texts  # noqa: PLC0415  # imports numpy, which TSV does not need

    if isinstance(column, Texts):
        return pa.array(column.different, pa.string()).take(pa.array(column.rows))
    return column if isinstance(column, pa.Array | pa.ChunkedArray) else pa.array(column)


TableWriter = TextWriter | ArrowWriter


@contextmanager
def table_writer(path: Path, form: RowFormat, *, header: bool = True) -> Iterator[TableWriter]:
    """Writer of a file in a format; at the end, all of it is on the disk (fsync)."""
    if form in BINARY:
        with path.open("wb") as binary:
            arrow = ArrowWriter(binary, form)
            yield arrow
            arrow.close()
            _sync(binary)
        return
    with path.open("w", encoding="utf-8", errors="backslashreplace", newline="") as text:
        yield TextWriter(text, form, header=header)
        _sync(text)


def _sync(stream: IO[Any]) -> None:
    stream.flush()
    with suppress(OSError):  # devices and pipes have no disk
        os.fsync(stream.fileno())


def check_outputs(outputs: Iterable[str | Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Check that no output is an input or another output, by whatever name: it would be lost. Raises `DataError`.

    Only ordinary files count: folders have checks of their own; standard input, devices and pipes lose nothing.
    """
    read, written = {_identity(one) for one in inputs if one is not None} - {None}, set()
    for one in outputs:
        if one is None or str(one) == "-" or is_device(Path(one)):
            continue
        if _identity(one) in read:
            message = "this output is an input too, which would be overwritten: give the output another name"
            raise DataError(one, message)
        place = os.path.realpath(one)
        if place in written:
            raise DataError(one, "two outputs have this name: give one of them another")
        written.add(place)


def _identity(path: str | Path) -> tuple[int, int] | None:
    """What is the same of all names of an ordinary file: links, relative paths; None of what is none, or not there."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if S_ISREG(found.st_mode) else None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Path to write to instead of a file, whose place it takes when all is written: no half file is ever left.

    What is no ordinary file, a device or a pipe, is written to as it is.
    """
    if is_device(path):
        with _told(path, ""):
            yield path
        return
    final = path.resolve()
    beside = final.with_name(f".{final.name}.{os.getpid()}.part")
    left = "; what was there before is unchanged" if final.exists() else "; nothing is left under this name"
    try:
        with _told(path, left):
            yield beside
            if final.exists():
                shutil.copymode(final, beside)
            beside.replace(final)
    finally:
        beside.unlink(missing_ok=True)


def is_device(path: Path) -> bool:
    """Whether a path is no ordinary file, nor free to become one: a device or a pipe."""
    return path.is_relative_to("/dev") or (path.exists() and not path.is_file())


@contextmanager
def _told(path: Path, left: str) -> Iterator[None]:
    """Errors of the system as those of a file: which, why, and what is left of it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(path, f"cannot be written: {error.strerror or error}{left}") from None
