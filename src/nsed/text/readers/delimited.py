"""Two- or three-column text: source, target and, optionally, label."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from nsed.errors import DataError
from nsed.text.pairs import Pairs
from nsed.text.readers.lines import open_text

_LABELS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_HEADER = ("source", "target", "label")

Row = tuple[int, list[str]]
"""Line number and columns."""


def read_tsv(path: Path, columns: Sequence[str] | None = None) -> Pairs:
    """Tab-separated; quotes are ordinary characters."""
    with open_text(path) as stream:
        rows = ((number, line.split("\t")) for number, line in enumerate(_lines(stream), start=1))
        return parse_rows(path, rows, columns, separator="tab")


def read_csv(path: Path, columns: Sequence[str] | None = None) -> Pairs:
    """Comma-separated, with the usual quoting."""
    with open_text(path) as stream:
        reader = csv.reader(stream, strict=True)
        return parse_rows(path, _numbered(path, reader), columns, separator="comma")


def parse_rows(path: Path, rows: Iterable[Row], columns: Sequence[str] | None, *, separator: str) -> Pairs:
    """Pairs from rows of text.

    A first row that reads `source target [label]` is a header. With `columns` (the names of the source, the target and
    optionally the label column) the first row must be a header that has them.
    """
    kept: Iterator[Row] = ((number, row) for number, row in rows if row not in ([], [""]))
    first = next(kept, None)
    if first is None:
        raise DataError(path, "the file is empty; expected lines with source and target")
    if columns is not None:
        chosen = _find(path, first, columns)
    else:
        header = tuple(name.strip().lower() for name in first[1]) in (_HEADER, _HEADER[:2])
        chosen = list(range(min(len(first[1]), 3)))
        kept = kept if header else _chain(first, kept)
    if len(chosen) < 2:
        raise DataError(path, _too_few(2, first[1], separator), line=first[0])
    picked = [(number, _pick(path, number, row, chosen, separator)) for number, row in kept]
    labels = [_label(path, number, row[2]) for number, row in picked] if len(chosen) == 3 else None
    return Pairs([row[0] for _, row in picked], [row[1] for _, row in picked], labels)


def _lines(stream: TextIO) -> Iterator[str]:
    return (line.rstrip("\r\n") for line in stream)


def _numbered(path: Path, reader: Iterator[list[str]]) -> Iterator[Row]:
    while True:
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise DataError(path, f"not readable as CSV: {error}", line=reader.line_num) from None  # type: ignore[attr-defined]
        yield reader.line_num, row  # type: ignore[attr-defined]


def _chain(first: Row, rest: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rest


def _find(path: Path, header: Row, wanted: Sequence[str]) -> list[int]:
    missing = [name for name in wanted if name not in header[1]]
    if missing:
        message = f"no column named {', '.join(map(repr, missing))}; the header has: {', '.join(header[1])}"
        raise DataError(path, message, line=header[0])
    return [header[1].index(name) for name in wanted]


def _pick(path: Path, number: int, row: list[str], chosen: list[int], separator: str) -> list[str]:
    if len(row) <= max(chosen):
        raise DataError(path, _too_few(max(chosen) + 1, row, separator), line=number)
    return [row[column] for column in chosen]


def _too_few(expected: int, row: list[str], separator: str) -> str:
    shown = separator.join(row)[:60]
    return f"expected at least {expected} columns separated by a {separator}, found {len(row)}: {shown!r}"


def _label(path: Path, number: int, text: str) -> bool:
    label = _LABELS.get(text.strip().lower())
    if label is None:
        raise DataError(path, f"label {text!r} is none of {', '.join(_LABELS)}", line=number)
    return label
