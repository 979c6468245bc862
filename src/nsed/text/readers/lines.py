"""Text file opening, so that encoding errors have a file and a line."""

import codecs
import io
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from nsed.errors import DataError

STDIN = Path("-")
HEAD = 1000
"""Bytes of a file by which what it is, if it is no UTF-8, is known."""
OTHERS = {
    b"PAR1": "The file is Parquet",
    b"ARROW1": "The file is an Arrow table",
    b"PK\x03\x04": "The file is a ZIP archive, perhaps a spreadsheet: export it as CSV, in UTF-8",
    b"\x1f\x8b": "The file is compressed: unpack it with gunzip",
}
"""What begins like this is no text: what it is, and what to do about it."""
TABLES = {b"PAR1": (".parquet",), b"ARROW1": (".arrow", ".feather")}
"""Endings by which tables of Arrow are known, where they are read."""


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a UTF-8 text file (a byte order mark is skipped), or standard input for `-`."""
    try:
        with _standard_input() if path == STDIN else path.open(encoding="utf-8-sig", newline="") as stream:
            yield stream
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        number, text = _line_of(path)
        raise DataError(path, f"not UTF-8 text: {error.reason}{text}{_advice(path)}", line=number) from None


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Open a file, or standard input for `-`, whose lines are decoded by whoever reads them."""
    try:
        if path == STDIN:
            if sys.stdin is None:
                raise DataError(STDIN, "standard input is closed")
            yield sys.stdin.buffer
            return
        with path.open("rb") as stream:
            yield stream
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from None


def decoded(path: Path, line: bytes, number: int) -> str:
    """Text of a line. Raises `DataError`, with file and line, where it is no UTF-8."""
    try:
        return line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        shown = f"{_around(line, error)}{_advice(path)}"
        raise DataError(path, f"not UTF-8 text: {error.reason}{shown}", line=number) from None


def _advice(path: Path) -> str:
    """What to do about a file that is no UTF-8, by its first bytes; nothing about pipes."""
    if not path.is_file():
        return ""
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    for beginning, advice in OTHERS.items():
        if head.startswith(beginning) and beginning in TABLES:
            named = path.suffix.lower() in TABLES[beginning]
            return f". {advice}: {'write it as TSV' if named else f'let its name end in {TABLES[beginning][0]}'}"
        if head.startswith(beginning):
            return f". {advice}"
    convert = f"-t UTF-8 {shlex.quote(str(path))} > NEW"
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in head:
        return f". The file looks like UTF-16: convert it, iconv -f UTF-16 {convert}"
    return f". If it is Latin-1, as older programs write it, convert it, iconv -f WINDOWS-1252 {convert}"


def _around(line: bytes, error: UnicodeDecodeError) -> str:
    around = line[max(error.start - 30, 0) : error.start + 30].rstrip(b"\r\n")
    return f": '{around.decode('utf-8', errors='backslashreplace')}'"


@contextmanager
def _standard_input() -> Iterator[TextIO]:
    """Standard input as strict UTF-8, whatever the locale says; it stays open."""
    if sys.stdin is None:
        raise DataError(STDIN, "standard input is closed")
    stream = io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig", newline="")
    try:
        yield stream
    finally:
        stream.detach()


def _line_of(path: Path) -> tuple[int | None, str]:
    """Decoding error: number and text of the first line that is not UTF-8; standard input cannot be read again."""
    if path == STDIN:
        return None, ""
    with path.open("rb") as stream:
        for number, line in enumerate(stream, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return number, _around(line, error)
    return None, ""
