"""CLDF word lists (Cross-Linguistic Data Formats), read and written: forms in one table, cognate sets in another.

`pycldf` (extra `cognates`) reads the metadata, which say which files and columns there are; the rows are read here, as
strictly as those of any other file. What is written, a word list with its cognate sets, `pycldf` writes.
"""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module, util
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from nsed.datasets.word_list import CLASSES, Word, WordTable, checked_word, segments
from nsed.errors import ArgumentError, DataError, MissingExtraError, NsedError, abbreviate
from nsed.text.readers.delimited import COMMA, Row, Separator, csv_rows, named_columns
from nsed.text.readers.lines import open_text

FORMS, COGNATES, LANGUAGES, PARAMETERS = "FormTable", "CognateTable", "LanguageTable", "ParameterTable"
FORMS_FILE = "forms.csv"
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
    glosses = _names(dataset, PARAMETERS)
    return [word._replace(gloss=glosses.get(word.concept, "")) for word in words]


def read_cldf_table(path: str | Path) -> WordTable:
    """Read all forms of a CLDF Wordlist, in a cognate set or not, as a word list with LingPy's columns.

    Forms and cognate sets get numbers from 1, which LingPy wants (ID, COGID); beside them stand their identifiers
    (FORM_ID, COGNATESET) and, where there are tables of them, the names of languages and concepts. A form in several
    cognate sets is of a class of its own, that of all words in the same sets (strict cognates).
    """
    dataset = _dataset(Path(path))
    sets, languages, concepts = _sets_of_forms(dataset), _names(dataset, LANGUAGES), _names(dataset, PARAMETERS)
    numbers: dict[str, int] = {}
    rows: list[Row] = []
    for number, (_, row) in enumerate(_rows(dataset, FORMS, *FORM_COLUMNS), start=1):
        name, language, concept, segmented, form = row.cells
        cells = [str(number), language, languages.get(language, ""), concept, concepts.get(concept, "")]
        cells += [name, form, _tokens(dataset, segmented, form)]
        known = sets.get(name, "") if sets else ""
        cells += [str(numbers.setdefault(known, len(numbers) + 1)) if known else "", known] if sets else []
        rows.append(Row(row.line, cells))
    return WordTable(_path(dataset, FORMS), _header(sets), rows)


def _header(sets: dict[str, str]) -> Row:
    names = ["ID", "DOCULECT", "LANGUAGE_NAME", "CONCEPT", "CONCEPT_NAME", "FORM_ID", "FORM", "TOKENS"]
    return Row(1, [*names, CLASSES, "COGNATESET"] if sets else names)


def _sets_of_forms(dataset: Any) -> dict[str, str]:
    """Cognate sets of each form that is in one, with spaces between them; none where nobody says."""
    if COGNATES in dataset:
        rows = _rows(dataset, COGNATES, "formReference", "cognatesetReference")
    elif _column(dataset, FORMS, "cognatesetReference") is not None:
        rows = _rows(dataset, FORMS, "id", "cognatesetReference")
    else:
        return {}
    sets: dict[str, list[str]] = {}
    for _, row in rows:
        form, cognate_set = row.cells
        sets.setdefault(form, []).extend([cognate_set] if cognate_set else [])
    return {form: " ".join(sorted(found)) for form, found in sets.items() if found}


def _names(dataset: Any, table: str) -> dict[str, str]:
    """Names by identifier, from the table of languages or of parameters, if it is there and has them."""
    if table not in dataset or _column(dataset, table, "name") is None or not _path(dataset, table).exists():
        return {}
    return {row.cells[0]: row.cells[1] for _, row in _rows(dataset, table, "id", "name")}


def is_cldf(path: str | Path) -> bool:
    """CLDF detection: whether a path looks like a data set of it: a folder, a metadata file or a table of forms."""
    return Path(path).is_dir() or Path(path).name.endswith(("-metadata.json", FORMS_FILE))


def _dataset(path: Path) -> Any:
    """Dataset of `pycldf`, from metadata or, where a folder has none, by the usual names of files and columns."""
    if util.find_spec("pycldf") is None:
        raise NsedError("the package `pycldf` is not installed: pip install 'neural-string-edit-distance[cognates]'")
    metadata = _metadata(path)
    with _readable(metadata):
        pycldf = import_module("pycldf")
        plain = metadata.name == FORMS_FILE
        dataset = _without_metadata(pycldf, metadata) if plain else pycldf.Dataset.from_metadata(metadata)
        module = dataset.module
    if module != "Wordlist" or FORMS not in dataset:
        raise DataError(metadata, f"a CLDF {abbreviate(module)}, expected a Wordlist with a {FORMS}")
    return dataset


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Errors of `pycldf` and of what it reads metadata with, as `DataError`: for broken JSON, or any other JSON."""
    try:
        yield
    except NsedError:
        raise
    except (ArithmeticError, AttributeError, LookupError, OSError, RecursionError, TypeError, ValueError) as error:
        reason = abbreviate(f"{type(error).__name__}: {error}" if isinstance(error, LookupError | TypeError) else error)
        raise DataError(path, f"cannot be read as CLDF metadata: {reason}") from None


def _without_metadata(pycldf: Any, forms: Path) -> Any:
    """Metadata-free dataset: the default columns that a folder's files have."""
    dataset = pycldf.Wordlist.from_data(forms)
    with open_text(forms) as stream:
        header = next(csv_rows(forms, stream)).cells
    known = [column.name for column in dataset[FORMS].tableSchema.columns]
    dataset.remove_columns(FORMS, *(name for name in known if name not in header))
    for table, name in ((COGNATES, "cognates.csv"), (LANGUAGES, "languages.csv"), (PARAMETERS, "parameters.csv")):
        if (forms.parent / name).exists():
            dataset.add_component(table)
    return dataset


def _metadata(path: Path) -> Path:
    """Metadata file of a folder; without any, its table of forms."""
    if path.name == FORMS_FILE:
        path = path.parent
    if not path.is_dir():
        return path
    found = sorted(path.glob("*-metadata.json"))
    if not found and (path / FORMS_FILE).exists():
        return path / FORMS_FILE
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
            raise DataError(path, f"there is no form {abbreviate(repr(form))} in the {FORMS}", line=row.line)
        yield _word(dataset, path, Row(row.line, [*forms[form], cognate_set]))._replace(id=form)


def _forms(dataset: Any) -> dict[str, list[str]]:
    """Form table: language, concept, segments and form of each form's identifier."""
    forms: dict[str, list[str]] = {}
    for path, row in _rows(dataset, FORMS, *FORM_COLUMNS):
        identifier, *rest = row.cells
        if identifier in forms:
            raise DataError(path, f"a second form {abbreviate(repr(identifier))}", line=row.line)
        forms[identifier] = rest
    return forms


def _word(dataset: Any, path: Path, row: Row) -> Word:
    language, concept, segmented, form, cognate_set = row.cells
    tokens = _tokens(dataset, segmented, form)
    return checked_word(path, Row(row.line, [language, concept, tokens, cognate_set]), segmented=True)


def _tokens(dataset: Any, segmented: str, form: str) -> str:
    column = _column(dataset, FORMS, "segments")
    if segmented and column and column.separator:
        segmented = " ".join(segmented.split(column.separator))
    return segmented or segments(form)


def _rows(dataset: Any, table: str, *terms: str) -> Iterator[tuple[Path, Row]]:
    """Table rows: the cells of these columns, empty for one that the table need not have and has not."""
    path = _path(dataset, table)
    columns = [_column(dataset, table, term) for term in terms]
    if missing := [term for term, column in zip(terms, columns, strict=True) if not column and term != "segments"]:
        raise DataError(dataset.directory, f"the {table} has no column for {', '.join(missing)}")
    separator = _separator(dataset, table)
    names = [[column.name] for column in columns if column]
    with open_text(path) as stream:
        for row in named_columns(path, csv_rows(path, stream, separator), names, separator=separator):
            cells = iter(row.cells)
            yield path, Row(row.line, [next(cells) if column else "" for column in columns])


def _path(dataset: Any, table: str) -> Path:
    with _readable(dataset.directory):
        path = Path(dataset.directory) / str(dataset[table].url)
        with suppress(OSError):  # of a file that is not there, whoever opens it says so
            path.stat()  # `ValueError` for a name that no file can have
    return path


def _separator(dataset: Any, table: str) -> Separator:
    with _readable(dataset.directory):
        dialect = dataset[table].dialect or dataset.tablegroup.dialect
        delimiter = "," if dialect is None else dialect.delimiter
    if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"':
        got = abbreviate(repr(delimiter))
        raise DataError(dataset.directory, f"the {table} has the delimiter {got}, expected , or so")
    return COMMA if delimiter == "," else Separator(delimiter, repr(delimiter))


def _column(dataset: Any, table: str, term: str) -> CldfColumn | None:
    with _readable(dataset.directory):
        column = dataset.get((table, term))
        return CldfColumn(str(column.header), column.separator) if column is not None else None


class CldfCognate(NamedTuple):
    """Cognate set of a form, or of a slice of its segments (partial cognates)."""

    cognate_set: int
    alignment: Sequence[str]
    segments: slice | None = None


class CldfForm(NamedTuple):
    """Form of a CLDF Wordlist, with its cognate sets: one, or one for each of its morphemes."""

    word: Word
    form: str
    """The word as it is written; its tokens together where nobody wrote it otherwise."""
    cognates: Sequence[CldfCognate]
    language_name: str = ""
    """The language in words, where the list calls it by something else."""


def write_cldf(folder: Path, forms: Sequence[CldfForm], *, method: str) -> None:
    """Write a CLDF Wordlist, which `cldf validate` accepts: forms, languages, parameters (concepts) and cognates.

    `method` says how the cognates were found; their alignments are with them, and of partial cognates the slices of
    segments. Identifiers of languages, concepts and forms are kept where they are such as CLDF allows, else made of
    them. Raises `MissingExtraError` without `pycldf`, `ArgumentError` for a folder in which there is something.
    """
    if find_spec("pycldf") is None:
        raise MissingExtraError("pycldf", extra="cognates")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentError("--output", got=folder, expected="the name of a new folder, or an empty one")
    beside = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        beside.mkdir()
        _write(beside, forms, method)
        if folder.exists():
            folder.rmdir()
        beside.rename(folder)
    except OSError as error:
        raise DataError(folder, f"cannot be written: {error.strerror or error}") from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _write(folder: Path, forms: Sequence[CldfForm], method: str) -> None:
    dataset = import_module("pycldf").Wordlist.in_dir(folder)
    for component in ("LanguageTable", "ParameterTable", "CognateTable"):
        dataset.add_component(component)
    dataset.add_columns("CognateTable", *METHODS)
    languages = identifiers(form.word.language for form in forms)
    concepts = identifiers(form.word.concept for form in forms)
    glosses = {form.word.concept: form.word.gloss for form in forms if form.word.gloss}
    names = {form.word.language: form.language_name for form in forms if form.language_name}
    ids = _form_ids(forms)
    dataset.write(
        FormTable=[_form(form, own, languages, concepts) for form, own in zip(forms, ids, strict=True)],
        LanguageTable=[{"ID": own, "Name": names.get(name, name)} for name, own in languages.items()],
        ParameterTable=[{"ID": own, "Name": glosses.get(name, name)} for name, own in concepts.items()],
        CognateTable=[row for form, own in zip(forms, ids, strict=True) for row in _cognates(form, own, method)],
    )


def _form(form: CldfForm, own: str, languages: Mapping[str, str], concepts: Mapping[str, str]) -> dict[str, Any]:
    word = form.word
    return {
        "ID": own,
        "Language_ID": languages[word.language],
        "Parameter_ID": concepts[word.concept],
        "Form": form.form or "".join(word.tokens.split()),
        "Segments": word.tokens.split(),
    }


def _cognates(form: CldfForm, own: str, method: str) -> Iterator[dict[str, Any]]:
    """Rows of the cognate table: one that is called as its form is, or a numbered one for each slice of it."""
    for number, one in enumerate(form.cognates, start=1):
        yield {
            "ID": own if one.segments is None else f"{own}-{number}",
            "Form_ID": own,
            "Cognateset_ID": str(one.cognate_set),
            "Segment_Slice": [] if one.segments is None else [f"{one.segments.start + 1}:{one.segments.stop}"],
            "Alignment": list(one.alignment),
            **dict(zip(METHODS, (method, "SCA"), strict=True)),
        }


METHODS = ("Cognate_Detection_Method", "Alignment_Method")
ALLOWED = re.compile(r"[a-zA-Z0-9_\-]+")


def _form_ids(forms: Sequence[CldfForm]) -> list[str]:
    """Identifiers that the words have, if these are all different and such as CLDF allows; else numbers."""
    given = [form.word.id for form in forms]
    if len(set(given)) == len(given) and all(map(ALLOWED.fullmatch, given)):
        return given
    return [str(number) for number in range(1, len(forms) + 1)]


def identifiers(names: Iterable[str], *, other: str = r"[^a-zA-Z0-9_\-]+") -> dict[str, str]:
    """Identifiers that CLDF allows, all different, for different names; `other` is what becomes an underscore.

    >>> identifiers(["Old Norse", "Old (Norse)", "Old Norse", "ə"])
    {'Old Norse': 'Old_Norse', 'Old (Norse)': 'Old_Norse_2', 'ə': 'x'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in dict.fromkeys(names):
        plain = re.sub(other, "_", name).strip("_") or "x"
        label = next(one for one in chain([plain], (f"{plain}_{n}" for n in count(2))) if one not in taken)
        taken.add(label)
        found[name] = label
    return found
