"""Command line arguments that several commands share, and how they become pairs and output.

This file and those of the commands import what they work with when they work: help is there at once.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from nsed.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from nsed.text import Pairs

Model = Any
"""A model of any kind: `nsed.capabilities.can` says what may be asked of it."""
ModelPath = Annotated[
    Path,
    typer.Argument(help="Folder of a saved model, or the name of a shipped one (see nsed models).", show_default=False),
]
PairsPath = Annotated[
    Path | None,
    typer.Argument(
        help="File of pairs: TSV, CSV, CMUdict .dict, Parquet or Arrow; - is TSV on standard input.",
        show_default=False,
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        help="Names of the source, target and, optionally, label column of a file with a header, say word,ipa; "
        "then perhaps those of the two languages."
    ),
]
OnePair = Annotated[
    tuple[str, str] | None,
    typer.Option("--pair", help="A single pair instead of a file: --pair SOURCE TARGET.", show_default=False),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write here instead of to standard output.")]
SymbolKind = Literal["graphemes", "tokens", "letters"]
"""What strings can be made of: `nsed.text.SymbolKind`."""


def load_model(path: Path) -> Model:
    """Load the model in a folder, of whatever kind."""
    from nsed.models.persistence import load

    return load(path)


def pairs_from(path: Path | None, columns: str | None, pair: tuple[str, str] | None) -> Pairs:
    """Pairs that the user means: a file, or a single one."""
    from nsed.text import Pairs, read_pairs

    if (path is None) == (pair is None):
        got = "neither" if path is None else "both"
        raise ArgumentError("PAIRS or --pair", got=got, expected="one of them")
    if pair is not None:
        if columns is not None:
            raise ArgumentError("--columns", got=columns, expected="nothing beside --pair")
        return Pairs.of([pair])
    assert path is not None
    return read_pairs(path, columns=split_columns(columns))


def split_columns(columns: str | None) -> list[str] | None:
    """Column names between commas."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


@contextmanager
def open_output(path: Path | None) -> Iterator[TextIO]:
    """Output stream: a file, or standard output."""
    if path is None:
        yield sys.stdout
        return
    try:
        with path.open("w", encoding="utf-8", errors="backslashreplace") as stream:
            yield stream
    except OSError as error:
        raise DataError(path, f"cannot be written: {error.strerror}") from None


def write_tsv(stream: TextIO, rows: Iterable[Iterable[object]], *, otherwise: str = "") -> None:
    """Write TSV, tab-separated lines; `otherwise` is advice for text that cannot be written so."""
    for row in rows:
        cells = [str(cell) for cell in row]
        for cell in cells:
            if not _FORBIDDEN.isdisjoint(cell):
                expected = "text without tabs and line breaks, as TSV has it"
                raise ArgumentError("output", got=repr(cell), expected=expected, advice=otherwise)
        stream.write("\t".join(cells) + "\n")


_FORBIDDEN = frozenset("\t\n\r")


class RowFormat(StrEnum):
    """Output format of rows."""

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
    """JSON-safe row: infinity, say the log-probability of what cannot be, is null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


def cell(value: object) -> str:
    """TSV cell of a value: truth is 1 or 0, numbers have six digits."""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.6f}" if isinstance(value, float) else str(value)
