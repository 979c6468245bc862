"""LingPy word lists: one word per line, with its language, its concept and its cognate class."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nsed.errors import DataError, abbreviate
from nsed.text import SymbolSplitter
from nsed.text.readers.delimited import TAB, Row, has_column, listed, named_columns
from nsed.text.readers.lines import open_text

LANGUAGES = ("DOCULECT", "LANGUAGE", "TAXON", "TAXA")
CONCEPTS = ("CONCEPT", "GLOSS", "MEANING")
TOKENS = ("TOKENS", "SEGMENTS")
TRANSCRIPTIONS = ("IPA", "TRANSCRIPTION", "FORM")
CLASSES = "COGID"
NO_CLASS = "0"
"""Cognate class that is none: LingPy puts no words together for it."""
OTHER_SEPARATORS = {",": "comma", ";": "semicolon"}
OTHER_TABLES = (".parquet", ".arrow", ".feather", ".xlsx", ".ods")
"""Endings of tables that are no text."""
IDENTIFIERS = ("ID",)
GLOSSES = ("GLOSS", "CONCEPT_NAME", "CONCEPTICON_GLOSS", "ENGLISH")
_BLOCK = re.compile(r"<(\w+)[^>\t]*>$")


class Word(NamedTuple):
    """Word list row: a word of a language for a concept; words of one cognate class have one origin.

    The identifier and the gloss say where it is from: two rows that differ in them alone are the same word.
    """

    language: str
    concept: str
    tokens: str
    """Tokens: its sounds, with spaces between them."""
    cognate_class: str
    """Cognate class; empty where nobody said."""
    id: str = ""
    """Identifier of the row, if it has one."""
    gloss: str = ""
    """Gloss: the concept in words, where the list calls it by something else."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple) and self[:4] == other[:4]

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self[:4])


class WordTable(NamedTuple):
    """Word list with all its columns."""

    path: Path
    header: Row
    rows: list[Row]
    bibliography: Path | None = None
    """BibTeX file of the list's sources, if it has one."""

    def has_column(self, name: str) -> bool:
        """Column test: whether one has this name, in upper or lower case."""
        return has_column(self.header, name)

    def words(self, class_column: str | None = CLASSES, *, all_classes: bool = True) -> list[Word]:
        """Words, one per row, without a class where no column is named. Raises `DataError`, with file and line.

        A cell of the class column may be empty, or 0, only where not `all_classes` are needed.
        """
        segmented = any(self.has_column(name) for name in TOKENS)
        columns = [LANGUAGES, CONCEPTS, TOKENS if segmented else TOKENS + TRANSCRIPTIONS]
        columns += [(class_column,)] if class_column else []
        self._check_header(columns)
        found = map(_without_zero, named_columns(self.path, iter([self.header, *self.rows]), columns, separator=TAB))
        needed = len(columns) if all_classes else 3
        return [checked_word(self.path, row, segmented=segmented, needed=needed) for row in found]

    def _check_header(self, columns: Sequence[Sequence[str]]) -> None:
        """Raise `DataError` for the columns that are missing, all at once, with what is likely to be wrong."""
        missing = [names for names in columns if not any(map(self.has_column, names))]
        if not missing:
            return
        shown, cells = TAB.character.join(self.header.cells), self.header.cells
        other = next((name for character, name in OTHER_SEPARATORS.items() if character in shown), None)
        wanted = f"no column {', nor '.join(' or '.join(names) for names in missing)}; there are: "
        if len(cells) == 1 and other:
            cause = f"The row has no tab but {other}s: write the list with a tab between columns, not as CSV"
        elif len(missing) == len(columns):
            cause = (
                "If this row is a word already, put a header above it: DOCULECT, CONCEPT, TOKENS, a tab between them"
            )
        else:
            cause = "Rename the column that holds it, or add one"
        raise DataError(self.path, f"{wanted}{abbreviate(listed(cells), 120)}. {cause}", line=self.header.line)

    def provenance(self) -> Iterator[tuple[str, str]]:
        """Identifier and gloss of each word; empty where the list has no such column, or none beside the concept."""
        names = [next(filter(self.has_column, known), "") for known in (CONCEPTS, IDENTIFIERS, GLOSSES)]
        wanted = [name for name in names[1:] if name not in ("", names[0])]
        for row in named_columns(self.path, iter([self.header, *self.rows]), [[n] for n in wanted], separator=TAB):
            cells = dict(zip(wanted, row.cells, strict=True))
            yield cells.get(names[1], ""), cells.get(names[2], "")


def _without_zero(row: Row) -> Row:
    """Row of a word without class 0, which is none, as in LingPy."""
    return row._replace(cells=[*row.cells[:3], ""]) if row.cells[3:] == [NO_CLASS] else row


def free_names(names: Iterable[str], taken: Collection[str]) -> list[str]:
    """Names of columns beside others, all different; those that are taken have `INPUT_` before them, again if need be.

    Names count as the same in upper and lower case; those that are `taken` are in upper case.

    >>> free_names(["Note", "ID", "INPUT_ID", "note"], {"ID"})
    ['Note', 'INPUT_INPUT_ID', 'INPUT_ID', 'INPUT_note']
    """
    given, found = list(names), dict[int, str]()
    used = set(taken)
    for place, name in sorted(enumerate(given), key=lambda one: one[1].upper() in taken):  # others keep theirs
        found[place] = name
        while found[place].upper() in used:
            found[place] = f"INPUT_{found[place]}"
        used.add(found[place].upper())
    return [found[place] for place in range(len(given))]


def read_word_list(path: str | Path, *, class_column: str = CLASSES) -> list[Word]:
    r"""Read the words of a tab-separated file with a header.

    Columns may have the names that LingPy knows (`DOCULECT` or `LANGUAGE`, `CONCEPT` or `GLOSS`, `TOKENS` or `IPA`), in
    upper or lower case. Comments (`#`), settings (`@`), blocks (`<tre>` to `</tre>`) and empty rows are left out. Where
    there is only a transcription without spaces, its grapheme clusters become the tokens.

    `class_column` says which classes: in the Austro-Asiatic list `COGNATE_CLASS` counts within a concept, so that only
    `COGID` tells words of one origin. Raises `DataError`, with file and line.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "words.tsv"
    >>> _ = path.write_text("DOCULECT\tCONCEPT\tIPA\tCOGID\nDutch\thand\thɑnt\t1\n", encoding="utf-8")
    >>> read_word_list(path)
    [Word(language='Dutch', concept='hand', tokens='h ɑ n t', cognate_class='1', id='', gloss='')]
    """
    table = read_word_table(path)
    rows = zip(table.words(class_column), table.provenance(), strict=True)
    return [word._replace(id=identifier, gloss=gloss) for word, (identifier, gloss) in rows]


def read_word_table(path: str | Path) -> WordTable:
    """Read a word list with all columns, whatever they are. Raises `DataError` for what is no text, or empty."""
    path = Path(path)
    if path.suffix.lower() in OTHER_TABLES:
        message = f"a {path.suffix} file is no word list, which is TSV, with tabs between columns, or CLDF"
        raise DataError(path, f"{message}: write the table as .tsv")
    with open_text(path) as stream:
        rows = list(_rows(stream))
    if not rows:
        raise DataError(path, "the file is empty; expected a header and words")
    return WordTable(path, rows[0], rows[1:])


def checked_word(path: Path, row: Row, *, segmented: bool, needed: int = 4) -> Word:
    """Validated word of a row of three or four cells, of which those needed may not be empty."""
    for name, cell in zip(Word._fields, row.cells[:needed], strict=False):
        if not cell:
            what = f"no {name.replace('_', ' ')}: {TAB.character.join(row.cells)[:60]!r}"
            cause = ". Fill the cell, or leave the word out"
            if name == "cognate_class":
                cause = ". An empty cell and 0 are none: number the word, or leave it out"
            raise DataError(path, what + cause, line=row.line)
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


MOST = 0.5
"""Share of words, or of concepts, from which on a column of classes is doubted; of true classes it is near 0."""
FEWEST = 10
"""Concepts below which nothing is doubted: in a short list anything may be by chance."""


def doubtful_classes(words: Sequence[Word]) -> list[str]:
    """Cautions about cognate classes that are probably none, in words; empty where nothing is wrong with them.

    A number within a concept, 1, 2, ..., which begins again with each, puts words of many concepts together; a column
    of the concepts themselves puts all words of a concept together.

    >>> doubtful_classes([Word(language, f"c{n}", "a", "1") for n in range(10) for language in ("x", "y")])[0]
    '100% of the words are in classes that span concepts, such as 1, of 10 concepts: are they numbers within a ...'
    """
    known = [word for word in words if word.cognate_class]
    if len({word.concept for word in known}) < FEWEST:
        return []
    return [*_spanning_classes(known), *_whole_concepts(known)]


def _spanning_classes(words: Sequence[Word]) -> Iterator[str]:
    concepts: dict[str, set[str]] = {}
    for word in words:
        concepts.setdefault(word.cognate_class, set()).add(word.concept)
    share = sum(len(concepts[word.cognate_class]) > 1 for word in words) / len(words)
    if share > MOST:
        largest = max(concepts, key=lambda name: len(concepts[name]))
        such = f"such as {largest}, of {len(concepts[largest]):,} concepts"
        question = "are they numbers within a concept? Name another column with --classes"
        yield f"{share:.0%} of the words are in classes that span concepts, {such}: {question}"


def _whole_concepts(words: Sequence[Word]) -> Iterator[str]:
    classes: dict[str, list[str]] = {}
    for word in words:
        classes.setdefault(word.concept, []).append(word.cognate_class)
    several = [own for own in classes.values() if len(own) > 1]
    share = sum(len(set(own)) == 1 for own in several) / max(len(several), 1)
    if share > MOST:
        question = "are the classes the concepts themselves? Name another column with --classes"
        yield f"all words of {share:.0%} of the concepts are of one class: {question}"
