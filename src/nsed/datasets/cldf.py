"""CLDF word lists (Cross-Linguistic Data Formats): forms in one table, their cognate sets in another.

`pycldf` (extra `cognates`) reads the metadata, which say which files and columns there are; the rows are read here, as
strictly as those of any other file.
"""

from collections.abc import Iterator
from importlib import import_module, util
from pathlib import Path
from typing import Any, NamedTuple

from nsed.datasets.word_list import Word, checked_word, segments
from nsed.errors import DataError, NsedError
from nsed.text.readers.delimited import COMMA, Row, Separator, csv_rows, named_columns
from nsed.text.readers.lines import open_text

FORMS, COGNATES, CONCEPTS = "FormTable", "CognateTable", "ParameterTable"
FORM_COLUMNS = ("id", "languageReference", "parameterReference", "segments", "form")


class CldfColumn(NamedTuple):
    """CLDF column: its name in its file, and what stands between the parts of its cells."""

    name: str
    separator: str | None


def read_cldf(path: str | Path) -> list[Word]:
    """Read a CLDF Wordlist: the words that are in a cognate set, in the order of the sets' table.

    `path` is the metadata file (`...-metadata.json`), or a folder with one. Languages and concepts are called by their
    identifiers; a table of concepts has their glosses. A form in several cognate sets is as many words; a form in none
    is left out. Without segments, the grapheme clusters of the form are the tokens.

    Raises `NsedError` where `pycldf` is not installed and `DataError`, with file and line, for bad data.
    """
    dataset = _dataset(Path(path))
    words = _words_of_sets(dataset, _forms(dataset)) if COGNATES in dataset else _words_of_forms(dataset)
    glosses = _glosses(dataset)
    return [word._replace(gloss=glosses.get(word.concept, "")) for word in words]


def is_cldf(path: str | Path) -> bool:
    """CLDF detection: whether a path looks like a data set of it, a folder or a metadata file."""
    return Path(path).is_dir() or Path(path).name.endswith("-metadata.json")


def _dataset(path: Path) -> Any:
    if util.find_spec("pycldf") is None:
        raise NsedError("the package `pycldf` is not installed: pip install 'neural-string-edit-distance[cognates]'")
    metadata = _metadata(path)
    try:
        dataset = import_module("pycldf").Dataset.from_metadata(metadata)
    except (OSError, ValueError, KeyError) as error:  # ValueError: broken JSON, or none of CLDF's modules
        raise DataError(metadata, f"cannot be read as CLDF metadata: {error}") from None
    if dataset.module != "Wordlist" or FORMS not in dataset:
        raise DataError(metadata, f"a CLDF {dataset.module}, expected a Wordlist with a {FORMS}")
    return dataset


def _metadata(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = sorted(path.glob("*-metadata.json"))
    if len(found) != 1:
        names = ", ".join(each.name for each in found) or "none"
        raise DataError(path, f"expected one file *-metadata.json, found {names}")
    return found[0]


def _words_of_forms(dataset: Any) -> Iterator[Word]:
    """Words where the forms themselves have a column of cognate sets."""
    if _column(dataset, FORMS, "cognatesetReference") is None:
        message = f"neither a {COGNATES} nor cognate sets in the {FORMS}: there are no classes to learn from"
        raise DataError(dataset.directory, message)
    for path, row in _rows(dataset, FORMS, *FORM_COLUMNS, "cognatesetReference"):
        identifier, *cells, cognate_set = row.cells
        if cognate_set:
            yield _word(dataset, path, Row(row.line, [*cells, cognate_set]))._replace(id=identifier)


def _words_of_sets(dataset: Any, forms: dict[str, list[str]]) -> Iterator[Word]:
    for path, row in _rows(dataset, COGNATES, "formReference", "cognatesetReference"):
        form, cognate_set = row.cells
        if form not in forms:
            raise DataError(path, f"there is no form {form!r} in the {FORMS}", line=row.line)
        yield _word(dataset, path, Row(row.line, [*forms[form], cognate_set]))._replace(id=form)


def _forms(dataset: Any) -> dict[str, list[str]]:
    """Form table: language, concept, segments and form of each form's identifier."""
    forms: dict[str, list[str]] = {}
    for path, row in _rows(dataset, FORMS, *FORM_COLUMNS):
        identifier, *rest = row.cells
        if identifier in forms:
            raise DataError(path, f"a second form {identifier!r}", line=row.line)
        forms[identifier] = rest
    return forms


def _glosses(dataset: Any) -> dict[str, str]:
    """Concept names of a list that has a table of its concepts."""
    if CONCEPTS not in dataset or not all(_column(dataset, CONCEPTS, term) for term in ("id", "name")):
        return {}
    return {row.cells[0]: row.cells[1] for _, row in _rows(dataset, CONCEPTS, "id", "name")}


def _word(dataset: Any, path: Path, row: Row) -> Word:
    language, concept, segmented, form, cognate_set = row.cells
    column = _column(dataset, FORMS, "segments")
    if segmented and column and column.separator:
        segmented = " ".join(segmented.split(column.separator))
    tokens = segmented or segments(form)
    return checked_word(path, Row(row.line, [language, concept, tokens, cognate_set]), segmented=True)


def _rows(dataset: Any, table: str, *terms: str) -> Iterator[tuple[Path, Row]]:
    """Table rows: the cells of these columns, empty for one that the table need not have and has not."""
    path = Path(dataset.directory) / str(dataset[table].url)
    columns = [_column(dataset, table, term) for term in terms]
    if missing := [term for term, column in zip(terms, columns, strict=True) if not column and term != "segments"]:
        raise DataError(dataset.directory, f"the {table} has no column for {', '.join(missing)}")
    separator = _separator(dataset, table)
    names = [[column.name] for column in columns if column]
    with open_text(path) as stream:
        for row in named_columns(path, csv_rows(path, stream, separator), names, separator=separator):
            cells = iter(row.cells)
            yield path, Row(row.line, [next(cells) if column else "" for column in columns])


def _separator(dataset: Any, table: str) -> Separator:
    dialect = dataset[table].dialect or dataset.tablegroup.dialect
    return (
        COMMA if dialect is None or dialect.delimiter == "," else Separator(dialect.delimiter, repr(dialect.delimiter))
    )


def _column(dataset: Any, table: str, term: str) -> CldfColumn | None:
    column = dataset.get((table, term))
    return CldfColumn(column.header, column.separator) if column is not None else None
