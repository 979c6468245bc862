"""Tables of answers: with the columns of the input, in the format of the file's ending; and rows that are skipped."""

from __future__ import annotations

import csv
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from nsed.cli.arguments import cell, open_output, plain, replacing, tsv_lines, write_tsv
from nsed.cli.console import warn
from nsed.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow as pa

    from nsed.text import Pairs
    from nsed.text.readers.delimited import Reject


class RowFormat(StrEnum):
    """Output format of rows."""

    TSV = "tsv"
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
    ARROW = "arrow"


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
RowFormatOption = Annotated[
    RowFormat | None,
    typer.Option(
        "--format",
        help="By default by the ending of --output: .tsv, .csv, .json (a line for each row), .parquet, .arrow or "
        ".feather; else tsv.",
        show_default=False,
    ),
]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="Write here instead of to standard output, in the format of the ending, see --format."
    ),
]
Header = Annotated[bool, typer.Option("--header/--no-header", help="Names of the columns first, in TSV and CSV.")]
Table = Mapping[str, Any]
"""Columns of equal length by their names; those of an input may be Arrow's."""


class TableOutput(NamedTuple):
    """Table output: where the rows go, and how."""

    path: Path | None
    form: RowFormat
    header: bool

    @classmethod
    def of(cls, path: Path | None, form: RowFormat | None, header: bool) -> TableOutput:
        """What the user wants, checked before any work is done."""
        ending = "" if path is None else path.suffix.lower()
        if form is None and ending not in ENDINGS:
            expected = f"a name that ends in {', '.join(filter(None, ENDINGS))}; or say --format"
            raise ArgumentError("--output", got=path, expected=expected)
        chosen = form or ENDINGS[ending]
        if path is None and chosen in (RowFormat.PARQUET, RowFormat.ARROW):
            raise ArgumentError("--format", got=chosen, expected="tsv, csv or json without --output FILE")
        return cls(path, chosen, header)

    def check(self, table: Table) -> None:
        """Refuse what the format cannot hold, before hours are spent on answers to it."""
        if self.form is RowFormat.TSV:
            deque(tsv_lines(_text_rows(table), otherwise=_OTHERWISE), maxlen=0)

    def write(self, table: Table) -> None:
        """Write all rows."""
        if self.form in (RowFormat.PARQUET, RowFormat.ARROW):
            assert self.path is not None
            with replacing(self.path) as beside:
                _write_arrow(table, beside, self.form)
            return
        with open_output(self.path) as stream:
            if self.form is RowFormat.JSON:
                rows = (dict(zip(table, row, strict=True)) for row in zip(*map(_values, table.values()), strict=True))
                stream.writelines(json.dumps(plain(row), ensure_ascii=False, default=str) + "\n" for row in rows)
                return
            lines = chain([list(table)] if self.header else [], _text_rows(table))
            if self.form is RowFormat.CSV:
                csv.writer(stream, lineterminator="\n").writerows(lines)
            else:
                write_tsv(stream, lines, otherwise=_OTHERWISE)


_OTHERWISE = "Use --format json or csv, or -o FILE.parquet."


def _text_rows(table: Table) -> Iterator[Iterable[str]]:
    return zip(*(map(cell, _values(column, exact=True)) for column in table.values()), strict=True)


def _values(column: Any, *, exact: bool = False) -> Iterable[object]:
    """Python values of a column; with `exact`, numbers of an input are text, since those of answers are rounded."""
    import pyarrow as pa

    if not isinstance(column, pa.ChunkedArray):
        return list(column)
    return [str(value) if exact and isinstance(value, float) else value for value in column.to_pylist()]


def _write_arrow(table: Table, path: Path, form: RowFormat) -> None:
    import pyarrow as pa
    from pyarrow import feather, parquet

    columns = [column if isinstance(column, pa.ChunkedArray) else list(column) for column in table.values()]
    try:
        made = pa.table(dict(zip(table, columns, strict=True)))
        (parquet.write_table if form is RowFormat.PARQUET else feather.write_feather)(made, path)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise ArgumentError("output", got=str(error), expected=f"columns that {form} can hold") from None


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
    import pyarrow as pa

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


class OnError(StrEnum):
    """Error policy: what to do about rows that cannot be used."""

    STOP = "stop"
    SKIP = "skip"


OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="What to do about rows that cannot be used, say with a null, a label that is none or too few columns: "
        "stop at the first, or skip them.",
    ),
]
RejectsFile = Annotated[
    Path | None,
    typer.Option("--rejects", help="Skip such rows, and write them here: number, reason, cells.", show_default=False),
]
SHOWN_ROWS = 10


class Rejects:
    """Rejected rows of an input: nothing is kept of them where the first one is to stop the command."""

    def __init__(self, on_error: OnError, path: Path | None) -> None:
        self._skip = on_error is OnError.SKIP or path is not None
        self._output = None if path is None else TableOutput.of(path, None, header=True)
        self._rows: list[Reject] = []

    @property
    def on_reject(self) -> Callable[[Reject], None] | None:
        """See `read_pairs`."""
        return self._rows.append if self._skip else None

    def report(self) -> None:
        """Say how many rows were skipped, and which, and write them to their file."""
        if self._output is not None:
            cells = [json.dumps(row.cells, ensure_ascii=False) for row in self._rows]
            reasons = [" ".join(row.reason.split()) for row in self._rows]
            self._output.write({"row": [row.row for row in self._rows], "reason": reasons, "cells": cells})
        if self._rows:
            shown = "; ".join(f"row {row.row}: {row.reason}" for row in self._rows[:SHOWN_ROWS])
            more = "; ..." if len(self._rows) > SHOWN_ROWS else ""
            where = f"; all are in {self._output.path}" if self._output else ""
            warn(f"{len(self._rows):,} rows skipped: {shown}{more}{where}")
