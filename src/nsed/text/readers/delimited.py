"""TSV and CSV of two or three columns: source, target and, optionally, label."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from nsed.errors import DataError
from nsed.text.pairs import COLUMNS, LABELS, Pairs, parse_label, present
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


def read_tsv(path: Path, columns: Sequence[str] | None = None) -> Pairs:
    """Read TSV, tab-separated; quotes are ordinary characters."""
    with open_text(path) as stream:
        return parse_rows(path, _tsv_rows(stream), columns, TAB)


def read_csv(path: Path, columns: Sequence[str] | None = None) -> Pairs:
    """Read CSV, comma-separated, with the usual quoting."""
    with open_text(path) as stream:
        return parse_rows(path, csv_rows(path, stream), columns, COMMA)


def read_tsv_column(path: Path, name: str) -> list[str] | None:
    """Cells of the TSV column of this name, a cell for each pair; None where no header has it."""
    with open_text(path) as stream:
        return _column(_tsv_rows(stream), name)


def read_csv_column(path: Path, name: str) -> list[str] | None:
    """Cells of the CSV column of this name, see `read_tsv_column`."""
    with open_text(path) as stream:
        return _column(csv_rows(path, stream), name)


def _column(rows: Iterator[Row], name: str) -> list[str] | None:
    kept = (row for row in rows if row.cells not in ([], [""]))
    header = next(kept, None)
    if header is None or not has_column(header, name):
        return None
    place = _lower(header).index(name.lower())
    return [row.cells[place].strip() for row in kept]


def parse_rows(path: Path, rows: Iterable[Row], columns: Sequence[str] | None, separator: Separator) -> Pairs:
    """Parse pairs from rows of text.

    A first row that begins with `source target` is a header; `label` and the two languages are found by their names,
    and other columns are left alone. With `columns` (the names that these columns have in the file) the first row must
    be a header that has them.
    """
    kept = (row for row in rows if row.cells not in ([], [""]))
    first = next(kept, None)
    if first is None:
        raise DataError(path, "the file is empty; expected lines with source and target")
    chosen = _chosen(path, first, columns, separator)
    body = kept if columns is not None or _is_header(first) else chain([first], kept)
    picked = [(row.line, _pick(path, row, first, chosen, separator)) for row in body]
    if not picked:
        raise only_a_header(path, first, "pair", separator)
    texts: list[list[str]] = [[cells[place] for _, cells in picked] for place in range(len(chosen))]
    labels = [_label(path, line, cells[2]) for line, cells in picked] if len(chosen) > 2 else None
    return Pairs(texts[0], texts[1], labels, *texts[3:])


def _tsv_rows(stream: Iterable[str]) -> Iterator[Row]:
    return (Row(number, line.rstrip("\r\n").split("\t")) for number, line in enumerate(stream, start=1))


def csv_rows(path: Path, stream: Iterable[str], separator: Separator = COMMA) -> Iterator[Row]:
    """CSV rows of a stream of text, with the usual quoting."""
    reader = csv.reader(stream, strict=True, delimiter=separator.character)
    try:
        for cells in reader:
            yield Row(reader.line_num, cells)
    except csv.Error as error:
        raise DataError(path, f"not readable as CSV: {error}", line=reader.line_num) from None


def _is_header(row: Row) -> bool:
    """Header detection: whether it names its columns; of a pair of these two words with a label, the label tells."""
    return tuple(_names(row)[:2]) == COLUMNS[:2] and (len(row.cells) < 3 or parse_label(row.cells[2]) is None)


def _names(row: Row) -> list[str]:
    return [name.strip().lower() for name in row.cells]


def _chosen(path: Path, first: Row, columns: Sequence[str] | None, separator: Separator) -> list[int]:
    """Column roles: which columns hold source, target and, perhaps, label."""
    if columns is None:
        if len(first.cells) < 2:
            raise wrong_width(path, first, "at least 2", separator)
        if not _is_header(first):
            return list(range(min(len(first.cells), 3)))
        return [_names(first).index(name) for name in present(_names(first))]
    missing = [name for name in columns if name not in first.cells]
    if missing:
        message = f"no column named {', '.join(map(repr, missing))}; the header has: {', '.join(first.cells)}"
        raise DataError(path, message, line=first.line)
    return [first.cells.index(name) for name in columns]


def _pick(path: Path, row: Row, first: Row, chosen: list[int], separator: Separator) -> list[str]:
    if len(row.cells) != len(first.cells):
        raise wrong_width(path, row, f"{len(first.cells)}", separator)
    return [row.cells[column] for column in chosen]


def only_a_header(path: Path, header: Row, what: str, separator: Separator) -> DataError:
    """Error for a file that ends where its data should begin."""
    shown = separator.character.join(header.cells)[:60]
    return DataError(path, f"there is a header but no {what} below it: {shown!r}", line=header.line)


def wrong_width(path: Path, row: Row, expected: str, separator: Separator) -> DataError:
    """Error for a row with too few or too many cells."""
    shown = separator.character.join(row.cells)[:60]
    message = f"expected {expected} columns separated by a {separator.name}, found {len(row.cells)}: {shown!r}"
    return DataError(path, message, line=row.line)


def _label(path: Path, line: int, text: str) -> bool:
    label = parse_label(text)
    if label is None:
        message = f"label {text!r} is none of {LABELS}; if the third column holds no labels, name the columns"
        raise DataError(path, message, line=line)
    return label


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
        if name.lower() in known:
            return known.index(name.lower())
    raise DataError(path, f"no column {' or '.join(names)}; there are: {', '.join(header.cells)}", line=header.line)


def _lower(header: Row) -> list[str]:
    return [name.strip().lower() for name in header.cells]
