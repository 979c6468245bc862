"""Answers of one line per pair, tab-separated or as JSON lines."""

import json
import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nsed.cli.arguments import open_output, write_tsv


class RowFormat(StrEnum):
    """How rows are written."""

    TSV = "tsv"
    JSON = "json"


RowFormatOption = Annotated[RowFormat, typer.Option("--format", help="Tab-separated or JSON lines.")]


def write_rows(output: Path | None, form: RowFormat, rows: Iterable[Mapping[str, object]]) -> None:
    """Write rows that all have the same columns; TSV has them without names."""
    with open_output(output) as stream:
        if form is RowFormat.JSON:
            stream.writelines(json.dumps(plain(row), ensure_ascii=False) + "\n" for row in rows)
        else:
            write_tsv(stream, (map(cell, row.values()) for row in rows), otherwise="Use --format json.")


def plain(row: Mapping[str, object]) -> dict[str, object]:
    """A row as JSON can have it: infinity, say the log-probability of what cannot be, is null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


def cell(value: object) -> str:
    """A value of a row as TSV has it: truth is 1 or 0, numbers have six digits."""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)
