"""CLDF word lists (Cross-Linguistic Data Formats), read and written: forms in one table, cognate sets in another.

`pycldf` (extra `cognates`) reads the metadata, which say which files and columns there are; the rows are read here, as
strictly as those of any other file. What is written, a word list with its cognate sets, `pycldf` writes.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module, util
from importlib.util import find_spec
from itertools import chain, count
from pathlib import Path
from typing import Any, NamedTuple

from nsed.datasets.word_list import CLASSES, CONCEPTS, Word, WordTable, checked_word, free_names, segments
from nsed.datasets.word_list import LANGUAGES as LISTED_LANGUAGES
from nsed.errors import ArgumentError, DataError, MissingExtraError, NsedError, abbreviate, warn
from nsed.text.readers.delimited import COMMA, Row, Separator, csv_rows, named_columns
from nsed.text.readers.lines import open_text
from nsed.train.saved_model import replacing_folder

FORMS, COGNATES, LANGUAGES, PARAMETERS = "FormTable", "CognateTable", "LanguageTable", "ParameterTable"
FORMS_FILE = "forms.csv"
FORM_COLUMNS = ("id", "languageReference", "parameterReference", "segments", "form")
OPTIONAL = ("segments", "segmentSlice")
"""Terms that a table need not have a column for."""


class MetadataColumn(NamedTuple):
    """Metadata column, which is read and written: where CLDF has it, and how word lists call it."""

    table: str
    term: str
    name: str
    """Name of the column in CLDF."""
    listed: tuple[str, ...]
    """Names in word lists; the first one is ours."""


METADATA_COLUMNS = (
    MetadataColumn(FORMS, "comment", "Comment", ("COMMENT", "NOTE", "NOTES")),
    MetadataColumn(FORMS, "source", "Source", ("SOURCE", "SOURCES")),
    MetadataColumn(LANGUAGES, "glottocode", "Glottocode", ("GLOTTOCODE", "GLOTTOLOG")),
    MetadataColumn(LANGUAGES, "iso639P3code", "ISO639P3code", ("ISO_CODE", "ISO639P3CODE", "ISO")),
    MetadataColumn(LANGUAGES, "latitude", "Latitude", ("LATITUDE",)),
    MetadataColumn(LANGUAGES, "longitude", "Longitude", ("LONGITUDE",)),
    MetadataColumn(LANGUAGES, "macroarea", "Macroarea", ("MACROAREA",)),
    MetadataColumn(PARAMETERS, "concepticonReference", "Concepticon_ID", ("CONCEPTICON_ID",)),
)


class CldfColumn(NamedTuple):
    """CLDF column: its name in its file, and what stands between the parts of its cells."""

    name: str
    separator: str | None


def read_cldf(path: str | Path) -> list[Word]:
    r"""Read a CLDF Wordlist: the words that are in a cognate set, in the order of the sets' table.

    `path` is the metadata file (`...-metadata.json`), or a folder with one. Languages and concepts are called by their
    identifiers; a table of concepts has their glosses. A form in several cognate sets is as many words; a form in none
    is left out. Without segments, the grapheme clusters of the form are the tokens.

    Raises `NsedError` where `pycldf` is not installed and `DataError`, with file and line, for bad data.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "forms.csv").write_text("ID,Language_ID,Parameter_ID,Form\n1,nl,hand,hand\n2,de,hand,hant\n")
    >>> _ = (folder / "cognates.csv").write_text("ID,Form_ID,Cognateset_ID\n1,1,7\n2,2,7\n")
    >>> [(word.language, word.tokens, word.cognate_class) for word in read_cldf(folder)]
    [('nl', 'h a n d', '7'), ('de', 'h a n t', '7')]
    """
    dataset = _dataset(Path(path))
    words = _words_of_sets(dataset, _forms(dataset)) if COGNATES in dataset else _words_of_forms(dataset)
    glosses = _names(dataset, PARAMETERS)
    return [word._replace(gloss=glosses.get(word.concept, "")) for word in words]


def read_cldf_table(path: str | Path) -> WordTable:
    """Read all forms of a CLDF Wordlist, in a cognate set or not, as a word list with LingPy's columns.

    Forms and cognate sets get numbers from 1, which LingPy wants (ID, COGID); beside them stand their identifiers
    (FORM_ID, COGNATESET) and, where there are tables of them, the names of languages and concepts. A form in several
    cognate sets is of a class of its own, that of all words in the same sets (strict cognates). Whatever else is known
    of forms, languages and concepts follows: `METADATA_COLUMNS` under their names in word lists, others under
    their own.
    """
    dataset = _dataset(Path(path))
    sets, languages, concepts = _sets_of_forms(dataset), _names(dataset, LANGUAGES), _names(dataset, PARAMETERS)
    numbers: dict[frozenset[str], int] = {}
    tables = [_extra_columns(dataset, *one) for one in MAPPED_TERMS]
    names = _extra_names(tables, _header(sets))
    rows: list[Row] = []
    for number, (_, row) in enumerate(_rows(dataset, FORMS, *FORM_COLUMNS), start=1):
        name, language, concept, segmented, form = row.cells
        cells = [str(number), language, languages.get(language, ""), concept, concepts.get(concept, "")]
        cells += [name, form, _tokens(dataset, segmented, form)]
        known = sets.get(name, [])
        of_class = str(numbers.setdefault(frozenset(known), len(numbers) + 1)) if known else ""
        cells += [of_class, " ".join(known)] if sets else []
        keys = zip(tables, (name, language, concept), strict=True)
        rows.append(Row(row.line, [*cells, *chain.from_iterable(one.of(key) for one, key in keys)]))
    table = WordTable(_path(dataset, FORMS), Row(1, [*_header(sets), *names]), rows, _bibliography(dataset))
    return _without_empty(table, len(_header(sets)))


def _bibliography(dataset: Any) -> Path:
    with _readable(dataset.directory):
        return Path(dataset.bibpath)


def _header(sets: Mapping[str, object]) -> list[str]:
    names = ["ID", "DOCULECT", "LANGUAGE_NAME", "CONCEPT", "CONCEPT_NAME", "FORM_ID", "FORM", "TOKENS"]
    return [*names, CLASSES, "COGNATESET"] if sets else names


class ExtraColumns(NamedTuple):
    """Extra columns of a table: their names in a word list, and the cells of each row by its identifier."""

    names: list[str]
    cells: dict[str, list[str]]

    def of(self, identifier: str) -> list[str]:
        """Cells of a row; empty ones where there is no such row."""
        return self.cells.get(identifier, [""] * len(self.names))


MAPPED_TERMS = (
    (FORMS, (*FORM_COLUMNS, "cognatesetReference")),
    (LANGUAGES, ("id", "name")),
    (PARAMETERS, ("id", "name")),
)
"""Tables with extra columns, and the terms whose columns have names of their own in a word list."""


def _extra_names(tables: Iterable[ExtraColumns], header: Sequence[str]) -> list[str]:
    """Names of extra columns; those that are taken have `INPUT_` before them, as in EDICTOR's format."""
    return free_names(chain.from_iterable(one.names for one in tables), {*header, *LISTED_LANGUAGES, *CONCEPTS})


def _extra_columns(dataset: Any, table: str, used: Sequence[str]) -> ExtraColumns:
    """Columns that stand for none of the terms that are used already; none of a table that is not there."""
    known = [column.name for term in used if table in dataset and (column := _column(dataset, table, term))]
    if table not in dataset or not _path(dataset, table).exists() or _column(dataset, table, "id") is None:
        return ExtraColumns([], {})
    ours = {column.name: one.listed[0] for one in METADATA_COLUMNS if (column := _metadata_column(dataset, table, one))}
    path, separator, header = _path(dataset, table), _separator(dataset, table), _file_header(dataset, table)
    names = [name for name in header if name.strip() and name not in known and header.count(name) == 1]
    with open_text(path) as stream:
        columns = [[name] for name in (known[0], *names)]
        rows = named_columns(path, csv_rows(path, stream, separator), columns, separator=separator)
        cells = {row.cells[0]: [" ".join(cell.split()) for cell in row.cells[1:]] for row in rows}
    return ExtraColumns([ours.get(name, name) for name in names], cells)


def _metadata_column(dataset: Any, table: str, one: MetadataColumn) -> CldfColumn | None:
    return _column(dataset, table, one.term) if one.table == table else None


def _without_empty(table: WordTable, first: int) -> WordTable:
    """The same word list without columns, from the `first` on, in which there is nothing."""
    kept = [at for at in range(len(table.header.cells)) if at < first or any(row.cells[at] for row in table.rows)]
    header, *rows = (row._replace(cells=[row.cells[at] for at in kept]) for row in (table.header, *table.rows))
    return table._replace(header=header, rows=rows)


def _sets_of_forms(dataset: Any) -> dict[str, list[str]]:
    """Cognate sets of each form that is in one, by the place of their slices in it; none where nobody says."""
    if COGNATES in dataset:
        rows = _rows(dataset, COGNATES, "formReference", "cognatesetReference", "segmentSlice")
    elif _column(dataset, FORMS, "cognatesetReference") is not None:
        rows = _rows(dataset, FORMS, "id", "cognatesetReference", "segmentSlice")
    else:
        return {}
    sets: dict[str, list[tuple[int, str]]] = {}
    for _, row in rows:
        form, cognate_set, where = row.cells
        start = re.match(r"\d+", where)
        sets.setdefault(form, []).extend([(int(start[0]) if start else 0, cognate_set)] if cognate_set else [])
    return {form: [name for _, name in sorted(found)] for form, found in sets.items() if found}


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


UNREADABLE = (
    ArithmeticError,
    AssertionError,  # of csvw
    AttributeError,
    LookupError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What `pycldf`, and csvw below it, raise of JSON that is no metadata."""


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Errors of `pycldf` and of what it reads metadata with, as `DataError`: for broken JSON, or any other JSON."""
    try:
        yield
    except NsedError:
        raise
    except UNREADABLE as error:
        named = isinstance(error, AssertionError | LookupError | TypeError)  # their messages say little alone
        reason = abbreviate(f"{type(error).__name__}: {error}" if named else error)
        raise DataError(path, f"cannot be read as CLDF metadata: {reason}") from None


def _without_metadata(pycldf: Any, forms: Path) -> Any:
    """Metadata-free dataset: the default columns that a folder's files have."""
    dataset = pycldf.Wordlist.from_data(forms)
    _remove_missing(dataset, FORMS)
    for table, name in ((COGNATES, "cognates.csv"), (LANGUAGES, "languages.csv"), (PARAMETERS, "parameters.csv")):
        if (forms.parent / name).exists():
            dataset.add_component(table)
            _remove_missing(dataset, table)
    return dataset


def _remove_missing(dataset: Any, table: str) -> None:
    """Remove the default columns that a table's file has not."""
    header, known = _file_header(dataset, table), [column.name for column in dataset[table].tableSchema.columns]
    dataset.remove_columns(table, *(name for name in known if name not in header))


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
    if missing := [term for term, column in zip(terms, columns, strict=True) if not column and term not in OPTIONAL]:
        raise DataError(dataset.directory, f"the {table} has no column for {', '.join(missing)}")
    separator = _separator(dataset, table)
    names = [[column.name] for column in columns if column]
    with open_text(path) as stream:
        for row in named_columns(path, csv_rows(path, stream, separator), names, separator=separator):
            cells = iter(row.cells)
            yield path, Row(row.line, [next(cells) if column else "" for column in columns])


def _file_header(dataset: Any, table: str) -> list[str]:
    """Header of a table's file, which may have more columns than the metadata."""
    path = _path(dataset, table)
    with open_text(path) as stream:
        return next(csv_rows(path, stream, _separator(dataset, table)), Row(1, [])).cells


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
    language_name: str
    """The language in words, where the list calls it by something else; empty where it does not."""
    metadata: Mapping[str, str]
    """What else is known of the form, its language and its concept: cells by the names of `METADATA_COLUMNS`."""


def metadata_columns(table: WordTable) -> dict[str, int]:
    """Columns of a word list that CLDF has too: names of `METADATA_COLUMNS`, and their places in the list."""
    known = [name.upper() for name in table.header.cells]
    found = {one.name: next((name for name in one.listed if name in known), None) for one in METADATA_COLUMNS}
    return {name: known.index(listed) for name, listed in found.items() if listed is not None}


def write_cldf(
    folder: Path, forms: Sequence[CldfForm], *, method: str, bibliography: Path | None = None
) -> dict[str, str]:
    """Write a CLDF Wordlist, which `cldf validate` accepts: forms, languages, parameters (concepts) and cognates.

    `method` says how the cognates were found; their alignments are with them, and of partial cognates the slices of
    segments. Identifiers of languages, concepts and forms are kept where they are such as CLDF allows, else made of
    them. Sources are those of a BibTeX file; what it does not have gets an entry with a title alone. Returns what CLDF
    does not allow, and what is left out: by columns of metadata, the last such value. Raises `MissingExtraError`
    without `pycldf`, `ArgumentError` for a folder in which there is something.
    """
    if find_spec("pycldf") is None:
        raise MissingExtraError("pycldf", extra="cognates")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ArgumentError("--output", got=folder, expected="the name of a new folder, or an empty one")
    with replacing_folder(folder) as beside:
        return _write(beside, forms, method, bibliography)


def _write(folder: Path, forms: Sequence[CldfForm], method: str, bibliography: Path | None) -> dict[str, str]:
    dataset = import_module("pycldf").Wordlist.in_dir(folder)
    for component in ("LanguageTable", "ParameterTable", "CognateTable"):
        dataset.add_component(component)
    dataset.add_columns("CognateTable", *METHODS)
    languages = identifiers(form.word.language for form in forms)
    concepts = identifiers(form.word.concept for form in forms)
    glosses = {form.word.concept: form.word.gloss for form in forms if form.word.gloss}
    names = {form.word.language: form.language_name for form in forms if form.language_name}
    ids = _form_ids(forms)
    of_languages, of_concepts = (_grouped(forms, field) for field in ("language", "concept"))
    values = _values(dataset, forms, bibliography)
    dataset.write(
        FormTable=[
            _form(form, own, languages, concepts) | _said(values, FORMS, [form])
            for form, own in zip(forms, ids, strict=True)
        ],
        LanguageTable=[
            {"ID": own, "Name": names.get(name, name)} | _said(values, LANGUAGES, of_languages[name])
            for name, own in languages.items()
        ],
        ParameterTable=[
            {"ID": own, "Name": glosses.get(name, name)} | _said(values, PARAMETERS, of_concepts[name])
            for name, own in concepts.items()
        ],
        CognateTable=[row for form, own in zip(forms, ids, strict=True) for row in _cognates(form, own, method)],
    )
    return {name: cell for name, cells in values.items() for cell, value in cells.items() if value is None}


def _grouped(forms: Iterable[CldfForm], field: str) -> dict[str, list[CldfForm]]:
    """Forms by a field of their words."""
    found: dict[str, list[CldfForm]] = {}
    for form in forms:
        found.setdefault(getattr(form.word, field), []).append(form)
    return found


def _values(dataset: Any, forms: Sequence[CldfForm], bibliography: Path | None) -> dict[str, dict[str, Any]]:
    """Values of the cells of each metadata column, as CLDF has them; None of cells that it does not allow."""
    found: dict[str, dict[str, Any]] = {}
    for one in METADATA_COLUMNS:
        if (one.table, one.name) not in dataset:
            dataset.add_columns(one.table, f"{TERMS}{one.term}")
        cells = dict.fromkeys(cell for form in forms if (cell := form.metadata.get(one.name)))
        found[one.name] = {cell: _allowed(dataset[one.table, one.name], cell) for cell in cells}
    return found | {"Source": _references(dataset, found["Source"], bibliography)}


def _allowed(column: Any, cell: str) -> Any:
    with suppress(ValueError):
        return column.read(cell)
    return None


def _said(values: Mapping[str, Mapping[str, Any]], table: str, forms: Sequence[CldfForm]) -> dict[str, Any]:
    """Metadata of a form, or of the language or the concept of several: in each column, the first value of any."""
    found = {}
    for name in (one.name for one in METADATA_COLUMNS if one.table == table):
        said = (values[name].get(form.metadata.get(name, "")) for form in forms)
        found[name] = next((value for value in said if value is not None), None)
    return {name: value for name, value in found.items() if value is not None}


def _references(dataset: Any, cells: Iterable[str], bibliography: Path | None) -> dict[str, list[str]]:
    """References of cells, `key[pages]; key`: what is no key of the bibliography gets an entry with a title alone."""
    _add_bibliography(dataset, bibliography)
    parts = {cell: [part for part in map(str.strip, cell.split(";")) if part] for cell in cells}
    found = {cell: list(map(_reference, own)) for cell, own in parts.items()}
    cited = list(dict.fromkeys(key for own in found.values() for key, _ in own))
    keys = _keys(dataset)
    unknown = {key.lower(): key for key in reversed(cited) if key.lower() not in keys}
    labels = _labels(unknown.values(), set(keys))
    _add_titles(dataset, labels)
    keys = _keys(dataset)
    keys |= {lower: keys[labels[key].lower()] for lower, key in unknown.items()}
    return {cell: [keys[key.lower()] + pages for key, pages in own] for cell, own in found.items()}


def _labels(titles: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Keys made of titles, all different, and others than those that are taken, whatever their case."""
    found = {}
    for title, plain in identifiers(titles).items():
        likely = chain([plain], (f"{plain}_{number}" for number in count(2)))
        found[title] = next(one for one in likely if one.lower() not in taken)
        taken.add(found[title].lower())
    return found


def _reference(text: str) -> tuple[str, str]:
    """Key and pages, in brackets, of a reference; the whole of what is none."""
    found = REFERENCE.fullmatch(text)
    return (found[1], found[2] or "") if found else (text, "")


def _keys(dataset: Any) -> dict[str, str]:
    """Keys of a bibliography by their small letters, as BibTeX knows no case."""
    keys = list(dataset.sources.keys())
    return dict(zip(map(str.lower, keys), keys, strict=True))


def _add_bibliography(dataset: Any, path: Path | None) -> None:
    sources = import_module("pycldf.sources")
    if path is None:
        return
    try:
        with _readable(path):
            dataset.add_sources(*sources.Sources.from_file(path))
    except sources.database.PybtexError as error:
        message = f"{path}: cannot be read as BibTeX: {abbreviate(error)}; sources have titles alone"
        warn(UserWarning(message))


def _add_titles(dataset: Any, labels: Mapping[str, str]) -> None:
    source = import_module("pycldf.sources").Source
    for title, label in labels.items():
        dataset.add_sources(source("misc", label, title=title.replace("{", "").replace("}", "")))


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


TERMS = "http://cldf.clld.org/v1.0/terms.rdf#"
REFERENCE = re.compile(r"([^\[\]]+?)(\[[^\[\]]*\])?")
"""Reference: a key, and perhaps pages."""
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
