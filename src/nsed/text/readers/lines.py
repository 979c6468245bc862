"""Text file opening, so that encoding errors have a file and a line."""

import codecs
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TextIO

from nsed.errors import DataError

STDIN = Path("-")
HEAD = 1000
"""Bytes of a file by which UTF-16 is known."""


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
        raise DataError(path, f"not UTF-8 text: {error.reason}{text}{_utf16_advice(path)}", line=number) from None


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
        shown = f"{_around(line, error)}{_utf16_advice(path)}"
        raise DataError(path, f"not UTF-8 text: {error.reason}{shown}", line=number) from None


def _utf16_advice(path: Path) -> str:
    """What to do about a file whose first bytes are those of UTF-16; nothing of others, and of pipes."""
    if not path.is_file():
        return ""
    with path.open("rb") as stream:
        head = stream.read(HEAD)
    advice = f". The file looks like UTF-16: convert it, iconv -f UTF-16 -t UTF-8 {path} > NEW"
    return advice if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in head else ""


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
