"""Pronunciations as SIGMORPHON's tasks and WikiPron have them: a word, a tab, its sounds with spaces between them."""

from collections.abc import Iterable
from pathlib import Path

from nsed.errors import DataError
from nsed.text.pairs import Pairs
from nsed.text.readers.delimited import TAB, Row, wrong_width
from nsed.text.readers.lines import open_text


def read_pronunciations(path: str | Path) -> Pairs:
    """Words and their sounds, which are tokens, in the order of the file.

    There is no header. A word with several pronunciations has as many lines; lines that say the same twice are kept
    once. Tones and stress stay as they are. Raises `DataError`, with file and line.
    """
    path = Path(path)
    with open_text(path) as stream:
        rows = (Row(number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(stream, start=1))
        pairs = dict.fromkeys(_checked(path, rows))
    if not pairs:
        raise DataError(path, "the file is empty; expected lines with a word, a tab and its sounds")
    return Pairs.of(pairs)


def _checked(path: Path, rows: Iterable[Row]) -> Iterable[tuple[str, str]]:
    for row in rows:
        if row.cells == [""]:
            continue
        if len(row.cells) != 2:
            raise wrong_width(path, row, "2", TAB)
        word, sounds = row.cells[0].strip(), " ".join(row.cells[1].split())
        if not word or not sounds:
            message = f"expected a word and its sounds, found {TAB.character.join(row.cells)[:60]!r}"
            raise DataError(path, message, line=row.line)
        yield word, sounds
