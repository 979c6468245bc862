"""Tables with a header, of which only some columns are wanted: word lists, forms, cognates."""

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from nsed.errors import DataError
from nsed.text.readers.delimited import Row, Separator, only_a_header, wrong_width


def named_columns(
    path: Path, rows: Iterator[Row], columns: Sequence[Sequence[str]], *, separator: Separator
) -> Iterator[Row]:
    """Of each row the cells of these columns; a column is given by the names it may have, the best one first.

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
    """Whether a column has this name, in upper or lower case."""
    return name.lower() in _lower(header)


def _place(path: Path, header: Row, names: Sequence[str]) -> int:
    known = _lower(header)
    for name in names:
        if name.lower() in known:
            return known.index(name.lower())
    raise DataError(path, f"no column {' or '.join(names)}; there are: {', '.join(header.cells)}", line=header.line)


def _lower(header: Row) -> list[str]:
    return [name.strip().lower() for name in header.cells]
