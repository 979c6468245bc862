"""Word lists as LingPy writes them: one word per line, with its language, its concept and its cognate class."""

from pathlib import Path
from typing import NamedTuple

from nsed.errors import DataError
from nsed.text.readers.lines import open_text

LANGUAGE, CONCEPT, TOKENS, CLASS = "DOCULECT", "CONCEPT", "TOKENS", "COGID"
NOT_DATA = ("#", "@")
"""How comments and facts about the whole list start."""


class Word(NamedTuple):
    """A word of a language for a concept; words of one class have one origin."""

    language: str
    concept: str
    tokens: str
    """Its sounds, with spaces between them."""
    cognate_class: str
    """Empty where nobody said."""


class Row(NamedTuple):
    """A line of a word list, by its number in the file."""

    line: int
    cells: list[str]


class WordTable(NamedTuple):
    """A word list with all its columns."""

    path: Path
    first_line: int
    header: list[str]
    rows: list[Row]

    def words(self, class_column: str | None = CLASS) -> list[Word]:
        """A word per row, without a class where no column is named."""
        places = self._places([LANGUAGE, CONCEPT, TOKENS, *([class_column] if class_column else ())])
        for row in self.rows:
            if len(row.cells) <= max(places):
                shown, needed = "\t".join(row.cells), max(places) + 1
                message = f"{len(row.cells)} columns, expected at least {needed}: {shown!r}"
                raise DataError(self.path, message, line=row.line)
        return [_word([row.cells[place] for place in places]) for row in self.rows]

    def _places(self, names: list[str]) -> list[int]:
        missing = [name for name in names if name not in self.header]
        if missing:
            message = f"no column {', '.join(missing)}; there are: {', '.join(self.header)}"
            raise DataError(self.path, message, line=self.first_line)
        return [self.header.index(name) for name in names]


def read_word_list(path: str | Path, *, class_column: str = CLASS) -> list[Word]:
    """The words of a tab-separated file with a header.

    `class_column` says which classes: in the Austro-Asiatic list `COGNATE_CLASS` counts within a concept, so that only
    `COGID` tells words of one origin.
    """
    return read_word_table(path).words(class_column)


def read_word_table(path: str | Path) -> WordTable:
    """The columns of a tab-separated file with a header; empty lines and LingPy's comments are left out."""
    path = Path(path)
    with open_text(path) as stream:
        numbered = [(number, line) for number, line in enumerate(stream, start=1) if _is_data(line)]
    lines = [Row(number, line.rstrip("\r\n").split("\t")) for number, line in numbered]
    if len(lines) < 2:
        raise DataError(path, "there is no word after the header")
    return WordTable(path, lines[0].line, lines[0].cells, lines[1:])


def _word(cells: list[str]) -> Word:
    language, concept, tokens, *classes = cells
    return Word(language, concept, tokens, classes[0] if classes else "")


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(NOT_DATA)
