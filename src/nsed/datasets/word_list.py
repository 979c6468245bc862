"""LingPy word lists: one word per line, with its language, its concept and its cognate class."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from nsed.errors import DataError
from nsed.text import SymbolSplitter
from nsed.text.readers.delimited import TAB, Row, has_column, named_columns
from nsed.text.readers.lines import open_text

LANGUAGES = ("DOCULECT", "LANGUAGE", "TAXON", "TAXA")
CONCEPTS = ("CONCEPT", "GLOSS", "MEANING")
TOKENS = ("TOKENS", "SEGMENTS")
TRANSCRIPTIONS = ("IPA", "TRANSCRIPTION", "FORM")
CLASSES = "COGID"
_BLOCK = re.compile(r"<(\w+)[^>\t]*>$")


class Word(NamedTuple):
    """Word list row: a word of a language for a concept; words of one cognate class have one origin."""

    language: str
    concept: str
    tokens: str
    """Tokens: its sounds, with spaces between them."""
    cognate_class: str
    """Cognate class; empty where nobody said."""


class WordTable(NamedTuple):
    """Word list with all its columns."""

    path: Path
    header: Row
    rows: list[Row]

    def has_column(self, name: str) -> bool:
        """Column test: whether one has this name, in upper or lower case."""
        return has_column(self.header, name)

    def words(self, class_column: str | None = CLASSES, *, all_classes: bool = True) -> list[Word]:
        """Words, one per row, without a class where no column is named. Raises `DataError`, with file and line.

        A cell of the class column may be empty only where not `all_classes` are needed.
        """
        segmented = any(self.has_column(name) for name in TOKENS)
        columns = [LANGUAGES, CONCEPTS, TOKENS if segmented else TOKENS + TRANSCRIPTIONS]
        columns += [(class_column,)] if class_column else []
        found = named_columns(self.path, iter([self.header, *self.rows]), columns, separator=TAB)
        needed = len(columns) if all_classes else 3
        return [checked_word(self.path, row, segmented=segmented, needed=needed) for row in found]


def read_word_list(path: str | Path, *, class_column: str = CLASSES) -> list[Word]:
    """Read the words of a tab-separated file with a header.

    Columns may have the names that LingPy knows (`DOCULECT` or `LANGUAGE`, `CONCEPT` or `GLOSS`, `TOKENS` or `IPA`), in
    upper or lower case. Comments (`#`), settings (`@`), blocks (`<tre>` to `</tre>`) and empty rows are left out. Where
    there is only a transcription without spaces, its grapheme clusters become the tokens.

    `class_column` says which classes: in the Austro-Asiatic list `COGNATE_CLASS` counts within a concept, so that only
    `COGID` tells words of one origin. Raises `DataError`, with file and line.
    """
    return read_word_table(path).words(class_column)


def read_word_table(path: str | Path) -> WordTable:
    """Read a word list with all columns, whatever they are."""
    path = Path(path)
    with open_text(path) as stream:
        rows = list(_rows(stream))
    if not rows:
        raise DataError(path, "the file is empty; expected a header and words")
    return WordTable(path, rows[0], rows[1:])


def checked_word(path: Path, row: Row, *, segmented: bool, needed: int = 4) -> Word:
    """Validated word of a row of three or four cells, of which those needed may not be empty."""
    for name, cell in zip(Word._fields, row.cells[:needed], strict=False):
        if not cell:
            shown = TAB.character.join(row.cells)[:60]
            raise DataError(path, f"no {name.replace('_', ' ')}: {shown!r}", line=row.line)
    language, concept, tokens, *classes = row.cells
    return Word(language, concept, tokens if segmented else segments(tokens), classes[0] if classes else "")


def segments(transcription: str) -> str:
    """Segments: grapheme clusters with spaces between them; what has spaces already stays as it is.

    >>> segments("hɔ́nt")
    'h ɔ́ n t'
    """
    return transcription if " " in transcription else " ".join(SymbolSplitter("graphemes").split(transcription))


def _rows(lines: Iterable[str]) -> Iterator[Row]:
    """Data lines: those that hold data or the header."""
    inside = None
    for number, line in enumerate(lines, start=1):
        text = line.rstrip("\r\n")
        if inside:
            inside = None if text.startswith(f"</{inside}>") else inside
        elif block := _BLOCK.match(text):
            inside = block[1]
        elif text.strip() and not text.startswith(("#", "@")):
            yield Row(number, text.split(TAB.character))
