"""Answers of one line per pair, tab-separated or as JSON lines."""

import json
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
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        else:
            write_tsv(stream, (map(_cell, row.values()) for row in rows), otherwise="Use --format json.")


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)
