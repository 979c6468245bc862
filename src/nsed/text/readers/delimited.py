"""TSV and CSV of pairs, in two or three columns or below a header, and of sources; further columns on demand.

Tables of symbols and their features are read here too.
"""

import csv
import math
import re
import shlex
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.util import find_spec
from itertools import chain, combinations, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

import pyarrow as pa

from nsed.errors import DataError, HeaderWarning, NsedError, abbreviate, warn
from nsed.text.pairs import COLUMNS, LABELLED, LABELS, Pairs, parse_label, present
from nsed.text.readers.lines import open_text


class Row(NamedTuple):
    """Table row: the columns of a line, and its number."""

    line: int
    cells: list[str]


class Separator(NamedTuple):
    """Column separator, and its name."""

    character: str
    name: str


TAB, COMMA = Separator("\t", "tab"), Separator(",", "comma")


class Reject(NamedTuple):
    """Rejected row: its number in the file, why it cannot be used, and its cells as text."""

    row: int
    reason: str
    cells: list[str | None]
    """None is a null, which is no text."""


Role = TypeVar("Role")
"""What stands for a column: its name, or its place."""


def shown_cells(values: Iterable[object]) -> list[str | None]:
    """Cells of a rejected row as text; a null stays one, so that it is no word `None`."""
    return [None if value is None else str(value) for value in values]


class ReadOptions(NamedTuple):
    """Reading options: what a caller may say about a table."""

    columns: Sequence[str] | None = None
    """Names of the source and target columns (and of label and languages) of a table with a header."""
    keep_others: bool = False
    """Whether further columns are kept, as `Pairs.others`."""
    on_reject: Callable[[Reject], None] | None = None
    """Told of every row that cannot be used, which is then left out; None: the first one raises `DataError`."""
    missing: bool = False
    """Whether a null is an empty string, instead of a row that cannot be used."""
    labels: bool = True
    """Whether a column of labels with a name is read as one; else it is one of the others, whatever is in it."""

    def read_of(self, roles: Sequence[Role]) -> list[Role]:
        """Columns that are read, of those of all roles: all, or without that of labels."""
        return [*roles[:2], *roles[3:]] if not self.labels and len(roles) in LABELLED else list(roles)

    def reject(self, error: DataError, cells: Sequence[str | None]) -> None:
        """Reject a row, if that is wanted; else raise what is wrong with it."""
        if self.on_reject is None or error.line is None:
            raise error
        self.on_reject(Reject(error.line, error.reason, list(cells)))


class Sources(NamedTuple):
    """Sources of a table or of lines, and the further columns of the table."""

    texts: Sequence[str]
    others: pa.Table | None = None


def read_tsv(path: Path, options: ReadOptions) -> Pairs:
    """Read TSV, tab-separated; quotes are ordinary characters."""
    with open_text(path) as stream:
        return parse_rows(path, tsv_rows(stream), options, TAB)


def read_csv(path: Path, options: ReadOptions) -> Pairs:
    """Read CSV, comma-separated, with the usual quoting."""
    with open_text(path) as stream:
        return parse_rows(path, csv_rows(path, stream), options, COMMA)


def read_csv_sources(path: Path, options: ReadOptions) -> Sources:
    """Read the sources of a CSV file."""
    with open_text(path) as stream:
        return parse_sources(path, csv_rows(path, stream), options, COMMA)


def read_line_sources(path: Path, options: ReadOptions) -> Sources:
    """Read sources, one per line; of TSV, which has a tab in its first line or a column that is named, its sources."""
    with open_text(path) as stream:
        lines = [line.rstrip("\r\n") for line in stream]
    if not any(lines):
        raise empty_file(path, "sources")
    if options.columns is None and TAB.character not in next(filter(None, lines), ""):
        row = next(row for row in tsv_rows(lines) if row.cells != [""])
        warn_of_one_column(path, row, lines[row.line - 1 :], TAB)
        return Sources(lines)
    return parse_sources(path, tsv_rows(lines), options, TAB)


def parse_rows(path: Path, rows: Iterable[Row], options: ReadOptions, separator: Separator) -> Pairs:
    """Parse pairs from rows of text, see `pair_layout`."""
    layout, rest = pair_layout(path, rows, options, separator)
    used = _some(layout, list(usable_rows(layout, rest, options)), options)
    return pairs_of(layout, used, options)


def pair_layout(
    path: Path, rows: Iterable[Row], options: ReadOptions, separator: Separator
) -> tuple["Layout", Iterator[Row]]:
    """Layout of a table of pairs, and the rows of its data.

    A first row that has `source` and `target` is a header; `label` and the two languages are found by their names,
    and other columns are left alone unless they are wanted. With `columns` (the names that these columns have in the
    file) the first row must be a header that has them.
    """
    first, rest = _first_row(path, rows, "source and target")
    header = options.columns is not None or _is_header(first)
    chosen = (
        _named(path, first, options.columns, separator) if options.columns else _pair_columns(path, first, separator)
    )
    layout = Layout(path, first, header, options.read_of(chosen) if header else chosen, separator)
    return layout, rest if header else chain([first], rest)


def pairs_of(layout: "Layout", rows: list[Row], options: ReadOptions) -> Pairs:
    """Pairs of usable rows; where the first is among them, it is told if it looks like a header."""
    return pairs_of_columns(layout, *_columns(layout, rows, options), first=bool(rows) and rows[0] is layout.first)


def pairs_of_columns(
    layout: "Layout", texts: Sequence[Sequence[str]], others: pa.Table | None, *, first: bool
) -> Pairs:
    """Pairs of the chosen columns and the others; `first` says whether the table's first row is among them."""
    chosen, cells = layout.chosen, layout.first.cells
    if first and len(chosen) == 2 and (looks_like_header(cells, texts) or numbers_below(cells, texts)):
        names = cells[:2]
        _warn_of_header(layout, "pair", f"{option('--columns', *names)} (in Python, columns={names})")
    labels = [bool(parse_label(text)) for text in texts[2]] if len(chosen) in LABELLED else None
    one, other = texts[-2:] if len(chosen) > 3 else (None, None)
    return Pairs(texts[0], texts[1], labels, one, other, others)


def parse_sources(path: Path, rows: Iterable[Row], options: ReadOptions, separator: Separator) -> Sources:
    """Parse sources from rows of text, with all other columns, see `source_layout`."""
    layout, rest = source_layout(path, rows, options, separator)
    used = _some(layout, list(usable_rows(layout, rest, options)), options)
    return sources_of(layout, used, options)


def source_layout(
    path: Path, rows: Iterable[Row], options: ReadOptions, separator: Separator
) -> tuple["Layout", Iterator[Row]]:
    """Layout of a table of sources, and the rows of its data.

    The column of that name in `columns`; else the column `source`; else, where there is no header, the first.
    """
    first, rest = _first_row(path, rows, "sources")
    header = options.columns is not None or COLUMNS[0] in _lower(first)
    if options.columns:
        chosen = _named(path, first, options.columns, separator)
    else:
        chosen = [_place(path, first, COLUMNS[:1]) if header else 0]
    return Layout(path, first, header, chosen, separator), rest if header else chain([first], rest)


def sources_of(layout: "Layout", rows: list[Row], options: ReadOptions) -> Sources:
    """Sources of usable rows; where the first is among them, it is told if it looks like a header."""
    return sources_of_columns(layout, *_columns(layout, rows, options), first=bool(rows) and rows[0] is layout.first)


def sources_of_columns(
    layout: "Layout", texts: Sequence[Sequence[str]], others: pa.Table | None, *, first: bool
) -> Sources:
    """Sources of the chosen column, and the others; `first` says whether the table's first row is among them."""
    cells = layout.first.cells
    further = [] if others is None else [column[:LOOKED_AT].to_pylist() for column in others.columns]
    if first and len(cells) == 1:
        warn_of_one_column(layout.path, layout.first, texts[0], layout.separator)
    elif first and (looks_like_header(cells, texts) or numbers_below(cells, [texts[0], *further])):
        name = suggested_columns(cells)[0]
        _warn_of_header(layout, "source", f"{option('--column', name)} (in Python, column={name!r})")
    return Sources(texts[0], others)


def _first_row(path: Path, rows: Iterable[Row], what: str) -> tuple[Row, Iterator[Row]]:
    kept = (row for row in rows if row.cells not in ([], [""]))
    first = next(kept, None)
    if first is None:
        raise empty_file(path, what)
    return first, kept


def empty_file(path: Path, what: str) -> DataError:
    """Error for a file, or a standard input, in which there is nothing."""
    return DataError(path, f"the file is empty; expected lines with {what}")


class Layout(NamedTuple):
    """Table layout: its first row, whether that is a header, and which columns are wanted."""

    path: Path
    first: Row
    header: bool
    chosen: list[int]
    separator: Separator

    @property
    def others(self) -> dict[str, int]:
        """Further columns: their names, all different, and their places."""
        names = distinct_names(self.first.cells if self.header else [""] * len(self.first.cells))
        return {name: place for place, name in enumerate(names) if place not in self.chosen}


def _some(layout: Layout, used: list[Row], options: ReadOptions) -> list[Row]:
    """The same rows. Raises `DataError` where there are none."""
    if not used:
        raise no_rows(layout, rejected=options.on_reject is not None)
    return used


def no_rows(layout: Layout, *, rejected: bool) -> DataError:
    """Error for a table without a row that can be used."""
    if rejected:
        return DataError(layout.path, "no row can be used: every one was rejected")
    what = "pair" if len(layout.chosen) > 1 else "source"
    return only_a_header(layout.path, layout.first, what, layout.separator)


def _columns(layout: Layout, used: list[Row], options: ReadOptions) -> tuple[list[list[str]], pa.Table | None]:
    """Columns of usable rows: the chosen ones and, if wanted, a table of the others."""
    others = layout.others if options.keep_others else {}
    texts, more = ([[row.cells[at] for row in used] for at in places] for places in (layout.chosen, others.values()))
    if not others:
        return texts, None
    arrays = [pa.array(column, pa.large_string()) for column in more]
    return texts, pa.Table.from_arrays(arrays, names=list(others))


def usable_rows(layout: Layout, rows: Iterable[Row], options: ReadOptions) -> Iterator[Row]:
    """Usable rows: as wide as the first, and with a label that is one; others are rejected, or raise `DataError`."""
    width, label = len(layout.first.cells), layout.chosen[2:3] if len(layout.chosen) in LABELLED else []
    for row in rows:
        if len(row.cells) != width:
            options.reject(wrong_width(layout.path, row, f"{width}", layout.separator), row.cells)
        elif label and parse_label(row.cells[label[0]]) is None:
            options.reject(_no_label(layout, row, label[0]), row.cells)
        else:
            yield row


def distinct_names(names: Sequence[str]) -> list[str]:
    """Distinct column names: what has none, or one that was there before, is called by its place.

    >>> distinct_names(["id", "", "id"])
    ['id', 'column_2', 'id_3']
    """
    found: list[str] = []
    for place, name in enumerate(names, start=1):
        found.append(f"{name.strip() or 'column'}_{place}" if not name.strip() or name in found else name)
    return found


def tsv_rows(lines: Iterable[str]) -> Iterator[Row]:
    """TSV rows of lines of text; quotes are ordinary characters."""
    return (Row(number, line.rstrip("\r\n").split(TAB.character)) for number, line in enumerate(lines, start=1))


def csv_rows(path: Path, stream: Iterable[str], separator: Separator = COMMA) -> Iterator[Row]:
    """CSV rows of a stream of text, with the usual quoting."""
    reader = csv.reader(stream, strict=True, delimiter=separator.character)
    try:
        for cells in reader:
            yield Row(reader.line_num, cells)
    except csv.Error as error:
        raise DataError(path, f"not readable as CSV: {error}", line=reader.line_num) from None


def _is_header(row: Row) -> bool:
    """Header detection: whether it names its columns; of a pair of these two words with a label, the label tells.

    Ids may come before them, as in what `nsed score --id` writes.
    """
    if len(row.cells) < 3:
        return set(_lower(row)) == set(COLUMNS[:2])
    third = row.cells[2].strip()
    is_name = parse_label(third) is None or (len(third) == 1 and third.isalpha())
    return set(COLUMNS[:2]) <= set(_lower(row)) and is_name


COLUMN_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        source src target tgt label labels word words lemma form inflected name names string text input output left
        right first second query candidate original variant normalized normalised spelling orthography orthographic
        grapheme graphemes phoneme phonemes phone phones pron pronunciation transcription transliteration translit
        translation romanization romanisation ipa arpabet pinyin kana language lang latin english arabic russian greek
        hebrew hindi german french spanish japanese chinese korean id key value token tokens segments gloss concept
        doculect one two other surname given full title city place record person customer product company firm
        freq frequency count counts rank score scores reference lhs rhs match cognate probability prob weight
        """,
    )
)
"""Words of which names of columns are made; with letters and numbers, `name_a`, `lang2`."""
LABEL_WORDS = frozenset({"label", "labels", "match", "matches", "cognate", "cognates", "duplicate", "same", "gold"})
"""Words in names of columns of labels."""
BESIDE_WORDS = LABEL_WORDS | frozenset(
    re.findall(
        r"\w+",
        """
        id ids key index rank score scores probability prob weight freq frequency count counts similarity distance
        language lang doculect
        """,
    )
)
"""Words in names of columns that are beside those of a pair: what they have is no string to compare."""
SIDES = (
    ("a", "b"),
    ("1", "2"),
    ("left", "right"),
    ("source", "target"),
    ("src", "tgt"),
    ("lhs", "rhs"),
    ("one", "two"),
)
"""Words by which the names of the two columns of a pair differ."""
LOOKED_AT, LIKELY = 1000, 20
"""Rows in which numbers are looked for below a header, and columns among which a pair is."""


def looks_like_header(cells: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Header-like row: its first two cells are different names of columns, and no other row of the columns has them.

    Never true of ordinary pairs, as far as one can tell: both cells must be names, and neither the beginning of the
    other, as `form` and `forms` are.

    >>> looks_like_header(["word", "IPA"], [["word", "hand"], ["IPA", "hænd"]])
    True
    >>> looks_like_header(["word", "Wort"], [["word", "hand"], ["Wort", "Hand"]])
    False
    """
    one, other = (cell.strip().lower() for cell in cells[:2])
    if not _names_a_column(one) or not _names_a_column(other) or one.startswith(other) or other.startswith(one):
        return False
    return all(column.count(cell) == 1 for cell, column in zip(cells, columns, strict=False))


def numbers_below(cells: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Header-like row by its numbers: in some column, all other rows have numbers, two or more, and it has a word.

    >>> numbers_below(["read", "times"], [["read", "hand", "foot"], ["times", "10", "7"]])
    True
    >>> numbers_below(["read", "4"], [["read", "hand", "foot"], ["4", "10", "7"]])
    False
    """
    columns = [column[1:LOOKED_AT] for column in columns]
    words = [bool(cell.strip()) and not _is_number(cell) for cell in cells]
    return any(
        word and len(column) > 1 and all(map(_is_number, column)) for word, column in zip(words, columns, strict=False)
    )


def suggested_columns(names: Sequence[str]) -> list[str]:
    """Columns that names suggest: two of a pair, whose names differ by a side, or the first two, and that of labels.

    Ids, ranks, scores and the like are no part of a pair.

    >>> suggested_columns(["id", "name_a", "name_b", "label"]), suggested_columns(["id_a", "word", "ipa", "rank"])
    (['name_a', 'name_b', 'label'], ['word', 'ipa'])
    """
    words = [re.findall(r"[^\W\d_]+|\d+", name.lower()) for name in names]
    texts = sorted(range(len(names)), key=lambda place: bool(BESIDE_WORDS & set(words[place])))[:LIKELY]
    sides = (pair for pair in combinations(texts, 2) if _are_sides(*(words[place] for place in pair)))
    chosen = next(sides, tuple(texts[:2]))
    labels = (place for place, own in enumerate(words) if LABEL_WORDS & set(own) and place not in chosen)
    return [names[place] for place in (*chosen, *islice(labels, 1))]


def _are_sides(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether words are the same, but for a side."""
    different = [both for both in zip(one, other, strict=False) if both[0] != both[1]]
    return len(one) == len(other) and len(different) == 1 and different[0] in SIDES


def _names_a_column(name: str) -> bool:
    words = [word for word in re.split(r"[\W\d_]+", name) if word]
    return any(len(word) > 1 for word in words) and all(word in COLUMN_WORDS or len(word) == 1 for word in words)


def option(name: str, *columns: str) -> str:
    """Option that names columns, as a shell reads it.

    >>> option("--columns", "word", "ipa"), option("--columns", "my word", "ipa")
    ('--columns word,ipa', "--columns 'my word,ipa'")
    """
    return f"{name} {shlex.quote(abbreviate(','.join(columns)))}"


def _warn_of_header(layout: "Layout", what: str, columns: str) -> None:
    advice = f"If it is one, name the columns: {columns}; or call them {' and '.join(COLUMNS[:2])} in the file"
    shown = " and ".join(map(repr, layout.first.cells[:2]))
    _warn_of_first_row(layout.path, layout.first, f"{shown}, looks like a header, but is read as a {what}. {advice}")


def _warn_of_first_row(path: Path, first: Row, message: str) -> None:
    warn(HeaderWarning(f"{path}:{first.line}: the first row, {message}"))


LONE_WORDS = frozenset(
    {"name", "names", "word", "words", "text", "texts", "source", "sources", "string", "lemma", "query"}
)
"""Words that name a column of its own: words of `COLUMN_WORDS` that seldom begin a list."""


def warn_of_one_column(path: Path, first: Row, texts: Sequence[str], separator: Separator) -> None:
    """Warn of sources in rows of one cell whose first is a header, or that are several columns, as far as one can tell.

    Several are what has as many semicolons, or as many of another separator below names of columns, in every row.
    """
    name, rows = first.cells[0], [text for text in texts[:LOOKED_AT] if text]
    if len(rows) < 2:
        return
    for sign in (";", TAB.character, COMMA.character):
        count, names = name.count(sign), name.split(sign)
        if count and (sign == ";" or looks_like_header(names, ())) and all(text.count(sign) == count for text in rows):
            advice = _other_separator(first, separator)
            _warn_of_first_row(path, first, f"{abbreviate(repr(name))}, is read as one column{advice}")
            return
    if _names_one_column(name) and rows.count(name) == 1:
        advice = f"If it is one, name the column: {option('--column', name)} (in Python, column={name!r})"
        _warn_of_first_row(path, first, f"{name!r}, looks like a header, but is read as a source. {advice}")


def _names_one_column(name: str) -> bool:
    words = re.split(r"[\W\d_]+", name.strip().lower())
    return _names_a_column(name.strip().lower()) and (len(words) > 1 or words[0] in LONE_WORDS)


def _pair_columns(path: Path, first: Row, separator: Separator) -> list[int]:
    """Column roles without names given: which columns hold source, target and, perhaps, label and languages."""
    if len(first.cells) < 2:
        raise wrong_width(path, first, "at least 2", separator, advice=_other_separator(first, separator))
    if not _is_header(first):
        return list(range(min(len(first.cells), 3)))
    return [_place(path, first, [name]) for name in present(_lower(first))]


def listed(names: Iterable[str]) -> str:
    """Names of columns, as errors repeat them: of thousands the first ones, quoted if they have line breaks or so."""
    return abbreviate(", ".join(name if name.isprintable() else repr(name) for name in names))


def _named(path: Path, header: Row, columns: Sequence[str], separator: Separator) -> list[int]:
    """Column roles by the names given, which are those of the header, in upper and lower case."""
    missing = [name for name in columns if name not in header.cells]
    if missing:
        message = f"no column named {', '.join(map(repr, missing))}; the header has: {listed(header.cells)}"
        advice = _other_separator(header, separator) if len(header.cells) == 1 else ""
        raise DataError(path, message + advice, line=header.line)
    for name in columns:
        if header.cells.count(name) > 1:
            raise named_twice(path, name, header.cells, line=header.line)
    return [header.cells.index(name) for name in columns]


def named_twice(path: Path, name: str, names: Sequence[str], *, line: int | None = None) -> DataError:
    """Error for a column that is wanted, but is there more than once."""
    message = f"several columns are named {abbreviate(repr(name))}, expected one; there are: {listed(names)}"
    return DataError(path, f"{message}. Rename or remove the others", line=line)


def only_a_header(path: Path, header: Row, what: str, separator: Separator) -> DataError:
    """Error for a file that ends where its data should begin."""
    shown = separator.character.join(header.cells)[:60]
    error = DataError(path, f"there is a header but no {what} below it: {shown!r}", line=header.line)
    error.header = tuple(header.cells)
    return error


def wrong_width(path: Path, row: Row, expected: str, separator: Separator, *, advice: str = "") -> DataError:
    """Error for a row with too few or too many cells."""
    shown = separator.character.join(row.cells)[:60]
    message = f"expected {expected} columns separated by a {separator.name}, found {len(row.cells)}: {shown!r}"
    return DataError(path, f"{message}{advice}", line=row.line)


def _other_separator(row: Row, separator: Separator) -> str:
    """What to do about a first row of one cell, in which there are other separators."""
    advice = {
        TAB.character: "There are tabs in it: let the name of the file end in .tsv",
        ";": "There are semicolons in it: write the table with commas, as .csv, or with tabs, as .tsv",
        COMMA.character: "There are commas in it: let the name of the file end in .csv",
        "\0": "There are zero bytes in it, as in UTF-16: write it as UTF-8",
    }
    text = separator.character.join(row.cells)
    return next((f". {say}" for sign, say in advice.items() if sign in text and sign != separator.character), "")


def _no_label(layout: Layout, row: Row, place: int) -> DataError:
    """Error for a label that is none; in the first row it may be the name of its column."""
    advice = "if the third column holds no labels, name the columns"
    if layout.header:
        advice = f"if the column {layout.first.cells[place]!r} holds no labels, name another as the third, or two only"
    elif row is layout.first:
        suggested = option("--columns", *suggested_columns(row.cells))
        advice = f"{advice} of the header, say {suggested}"
        if looks_like_header(row.cells, ()):
            advice = f"the row looks like a header: name its columns, {suggested}"
    label = abbreviate(repr(row.cells[place]))
    return DataError(layout.path, f"label {label} is none of {LABELS}; {advice}", line=row.line)


def named_columns(
    path: Path, rows: Iterator[Row], columns: Sequence[Sequence[str]], *, separator: Separator
) -> Iterator[Row]:
    """Select named columns of each row; a column is given by the names it may have, the best one first.

    Upper and lower case are the same. Empty rows are left out. Every other row must be as wide as the header, which is
    the first row. Raises `DataError` where it is not, where a column is missing, or where there is only a header.

    >>> rows = iter([Row(1, ["ID", "Language", "IPA"]), Row(2, ["1", "Dutch", "hɑnt"])])
    >>> columns = [["DOCULECT", "LANGUAGE"], ["IPA"]]
    >>> list(named_columns(Path("words.tsv"), rows, columns, separator=Separator(",", "comma")))
    [Row(line=2, cells=['Dutch', 'hɑnt'])]
    """
    kept = (row for row in rows if any(row.cells))
    header, first = next(kept, None), next(kept, None)
    if header is None:
        raise DataError(path, "the file is empty; expected a header")
    places = [_place(path, header, names) for names in columns]
    if first is None:
        raise only_a_header(path, header, "row", separator)
    for row in chain([first], kept):
        if len(row.cells) != len(header.cells):
            raise wrong_width(path, row, f"{len(header.cells)}", separator)
        yield Row(row.line, [row.cells[place].strip() for place in places])


def has_column(header: Row, name: str) -> bool:
    """Column test: whether one has this name, in upper or lower case."""
    return name.lower() in _lower(header)


def _place(path: Path, header: Row, names: Sequence[str]) -> int:
    known = _lower(header)
    for name in names:
        places = [place for place, one in enumerate(known) if one == name.lower()]
        exact = [place for place in places if header.cells[place] == name]
        if len(places) > 1 and len(exact) != 1:
            raise named_twice(path, header.cells[places[0]], header.cells, line=header.line)
        if places:
            return (exact or places)[0]
    wanted = abbreviate(" or ".join(names))
    raise DataError(path, f"no column {wanted}; there are: {listed(header.cells)}", line=header.line)


def _lower(header: Row) -> list[str]:
    return [name.strip().lower() for name in header.cells]


PANPHON, PANPHON_TABLE = "panphon", "data/ipa_all.csv"
"""Package that has features of the segments of the IPA, and the table in it: nothing else of the package is needed."""
SIGNS = {"+": 1.0, "-": -1.0, "\u2212": -1.0}
"""Features that are written as signs."""


def read_symbol_features(path: str | Path) -> dict[str, list[float]]:
    """Read features of symbols: the first column has the symbols, in NFD, the others numbers, or the signs + and -.

    A first row without any number is a header. Columns whose first number is none (names, comments) are left out. The
    word `panphon` in the place of a path is the table of that package.

    Raises `DataError`, with file and line, for what is no number or not finite, for a symbol that is there twice, and
    for a table without numbers; `NsedError` without the package.
    """
    if str(path) == PANPHON:
        return _panphon_features()
    path = Path(path)
    with open_text(path) as stream:
        is_csv = path.suffix.lower() == ".csv"
        rows = csv_rows(path, stream) if is_csv else tsv_rows(stream)
        return _features(path, rows, COMMA if is_csv else TAB)


def _panphon_features() -> dict[str, list[float]]:
    """Features of the package panphon; g of the keyboard is that of the IPA."""
    spec = find_spec(PANPHON)
    if spec is None or not spec.submodule_search_locations:
        raise NsedError(f"symbol_features: the package {PANPHON} is not installed: pip install {PANPHON}")
    found = read_symbol_features(Path(spec.submodule_search_locations[0]) / PANPHON_TABLE)
    return found | ({"g": found["\u0261"]} if "g" not in found and "\u0261" in found else {})


def _features(path: Path, rows: Iterable[Row], separator: Separator) -> dict[str, list[float]]:
    first, rest = _first_row(path, rows, "a symbol and its features")
    header = not any(_is_number(cell) for cell in first.cells[1:])
    found: dict[str, list[float]] = {}
    places: list[int] = []
    for row in rest if header else chain([first], rest):
        if len(row.cells) != len(first.cells):
            raise wrong_width(path, row, f"{len(first.cells)}", separator)
        places = places or _number_places(path, row)
        symbol = unicodedata.normalize("NFD", row.cells[0].strip())
        if not symbol or symbol in found:
            reason = f"the symbol {symbol!r} is there twice" if symbol else "there is no symbol in the first column"
            raise DataError(path, f"{reason}, expected each once", line=row.line)
        found[symbol] = [_feature(path, row, place) for place in places]
    if not found:
        raise only_a_header(path, first, "symbol", separator)
    if all(len(set(column)) == 1 for column in zip(*found.values(), strict=True)):
        raise DataError(path, "all symbols have the same features, expected some that tell them apart")
    return found


def _number_places(path: Path, row: Row) -> list[int]:
    """Columns of numbers, as the first row has them."""
    places = [place for place, cell in enumerate(row.cells) if place and _is_number(cell)]
    if not places:
        expected = "expected a symbol in the first column and numbers, or + and -, in others"
        raise DataError(path, f"no column has numbers; {expected}", line=row.line)
    return places


def _feature(path: Path, row: Row, place: int) -> float:
    cell = row.cells[place].strip()
    value = _number(cell)
    if value is None or not math.isfinite(value):
        expected = "a finite number, + or -: write 0 for what is not known"
        message = f"feature {place} of {row.cells[0].strip()!r} is {abbreviate(repr(cell), 60)}, expected {expected}"
        raise DataError(path, message, line=row.line)
    return value


def _is_number(cell: str) -> bool:
    return _number(cell.strip()) is not None


def _number(cell: str) -> float | None:
    try:
        return SIGNS[cell] if cell in SIGNS else float(cell)
    except ValueError:
        return None
