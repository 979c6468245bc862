"""Word lists as LingPy writes them: one word per line, with its language, its concept and its cognate class."""

from pathlib import Path
from typing import NamedTuple

from nsed.errors import DataError
from nsed.text.readers.lines import open_text

LANGUAGE, CONCEPT, TOKENS = "DOCULECT", "CONCEPT", "TOKENS"


class Word(NamedTuple):
    """A word of a language for a concept; words of one class have one origin."""

    language: str
    concept: str
    tokens: str
    """Its sounds, with spaces between them."""
    cognate_class: str


def read_word_list(path: str | Path, *, class_column: str = "COGID") -> list[Word]:
    """The words of a tab-separated file with a header.

    `class_column` says which classes: in the Austro-Asiatic list `COGNATE_CLASS` counts within a concept, so that only
    `COGID` tells words of one origin.
    """
    path = Path(path)
    with open_text(path) as stream:
        header = stream.readline().rstrip("\r\n").split("\t")
        places = _places(path, header, (LANGUAGE, CONCEPT, TOKENS, class_column))
        words = [_word(path, number, line, places) for number, line in enumerate(stream, start=2) if line.strip()]
    if not words:
        raise DataError(path, "there is no word after the header")
    return words


def _places(path: Path, header: list[str], names: tuple[str, ...]) -> list[int]:
    missing = [name for name in names if name not in header]
    if missing:
        raise DataError(path, f"no column {', '.join(missing)}; there are: {', '.join(header)}", line=1)
    return [header.index(name) for name in names]


def _word(path: Path, number: int, line: str, places: list[int]) -> Word:
    cells = line.rstrip("\r\n").split("\t")
    if len(cells) <= max(places):
        raise DataError(path, f"{len(cells)} columns, expected at least {max(places) + 1}: {line!r}", line=number)
    return Word(*(cells[place] for place in places))
