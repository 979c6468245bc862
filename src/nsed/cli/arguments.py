"""Command line arguments that several commands share, and how they become pairs and output.

This file and those of the commands import what they work with when they work: help is there at once.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TextIO

import typer

from nsed.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsed.text import Pairs
    from nsed.text.readers.delimited import Reject

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
        "then perhaps those of the two languages, say word,ipa,language,language."
    ),
]
OnePair = Annotated[
    tuple[str, str] | None,
    typer.Option("--pair", help="A single pair instead of a file: --pair SOURCE TARGET.", show_default=False),
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Write here instead of to standard output.")]
SymbolKind = Literal["graphemes", "codepoints", "tokens", "letters", "phones"]
"""What strings can be made of: `nsed.text.SymbolKind`."""


def load_model(path: Path) -> Model:
    """Load the model in a folder, of whatever kind; of an unfinished training, that is said."""
    from nsed.cli.console import warn
    from nsed.models.persistence import load

    model = load(path)
    if getattr(model, "record", {}).get("unfinished"):
        warn(f"{path}: the training here is not finished: go on with nsed train --resume")
    return model


def pairs_from(
    path: Path | None,
    columns: str | None,
    pair: tuple[str, str] | None,
    *,
    keep_others: bool = False,
    on_reject: Callable[[Reject], None] | None = None,
) -> Pairs:
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
    return read_pairs(path, columns=split_columns(columns), keep_others=keep_others, on_reject=on_reject)


def split_columns(columns: str | None) -> list[str] | None:
    """Column names between commas."""
    return None if columns is None else [name.strip() for name in columns.split(",")]


BINARY = (".parquet", ".arrow", ".feather")
"""Endings of tables that are no text."""


@contextmanager
def open_output(path: Path | None) -> Iterator[TextIO]:
    """Output stream of text: a file, which is there only when it is complete, or standard output."""
    if path is None:
        yield sys.stdout
        return
    if path.suffix.lower() in BINARY:
        expected = "the name of a text file: this command writes text only"
        raise ArgumentError("--output", got=path, expected=expected)
    with replacing(path) as beside, beside.open("w", encoding="utf-8", errors="backslashreplace") as stream:
        yield stream


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Path to write to instead of a file, whose place it takes when all is written: no half file is ever left.

    What is no ordinary file, a device or a pipe, is written to as it is.
    """
    if path.is_relative_to("/dev") or (path.exists() and not path.is_file()):
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


@contextmanager
def _told(path: Path, left: str) -> Iterator[None]:
    """Errors of the system as those of a file: which, why, and what is left of it."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(path, f"cannot be written: {error.strerror or error}{left}") from None


def write_tsv(stream: TextIO, rows: Iterable[Iterable[object]], *, otherwise: str = "") -> None:
    """Write TSV, tab-separated lines; `otherwise` is advice for text that cannot be written so."""
    stream.writelines(tsv_lines(rows, otherwise=otherwise))


def tsv_lines(rows: Iterable[Iterable[object]], *, otherwise: str = "") -> Iterator[str]:
    """TSV lines of rows. Raises `ArgumentError`, with advice what to do otherwise, for text that no TSV can hold."""
    for row in rows:
        cells = [str(cell) for cell in row]
        for cell in cells:
            if not _FORBIDDEN.isdisjoint(cell):
                expected = "text without tabs and line breaks, as TSV has it"
                raise ArgumentError("output", got=repr(cell), expected=expected, advice=otherwise)
        yield "\t".join(cells) + "\n"


_FORBIDDEN = frozenset("\t\n\r")


def plain(row: Mapping[str, object]) -> dict[str, object]:
    """JSON-safe row: infinity, say the log-probability of what cannot be, is null."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


def cell(value: object) -> str:
    """TSV cell of a value: truth is 1 or 0, numbers have six digits, nothing is empty."""
    if isinstance(value, bool):
        return str(int(value))
    if value is None:
        return ""
    return f"{value:.6f}" if isinstance(value, float) else str(value)
