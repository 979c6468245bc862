"""Cognate sets: output formats of `nsed cluster`, and `nsed correspondences` of the sets that there are."""

from __future__ import annotations

from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from nsed.cli.arguments import ModelPath, Output, load_model, open_output, tell_whose_operations, write_tsv
from nsed.cli.console import out, progress_bar, warn
from nsed.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nsed.datasets.cldf import CldfCognate
    from nsed.datasets.word_list import Word, WordTable
    from nsed.jobs import Correspondence
    from nsed.jobs.cognate_sets import Morphemes


class SetsFormat(StrEnum):
    """Output format of cognate sets."""

    TABLE = "table"
    EDICTOR = "edictor"
    CLDF = "cldf"
    NEXUS = "nexus"


SetsFormatOption = Annotated[
    SetsFormat,
    typer.Option(
        "--format",
        help="table: the list with a column CLUSTER; edictor: ID, DOCULECT, CONCEPT, TOKENS, COGID, ALIGNMENT, for "
        "EDICTOR and LingPy; cldf: a folder, with a CognateTable; nexus: sets as binary characters. All but table "
        "and nexus need the extra cognates.",
    ),
]
COLUMN = "CLUSTER"
CLASSES = "COGID"
"""Cognate class column, that of `nsed.datasets.word_list`."""
FORMS = ("FORM", "VALUE", "IPA", "TRANSCRIPTION")
FORM_IDS = ("FORM_ID", "ID")
LANGUAGE_NAMES = ("LANGUAGE_NAME",)


def check_sets_output(output: Path | None, form: SetsFormat, *, across: bool) -> None:
    """Refuse, before any work is done, what the format cannot be written to, or cannot hold."""
    if form is SetsFormat.CLDF and output is None:
        raise ArgumentError("--format", got=form, expected="table, edictor or nexus without --output FOLDER")
    if across and form in (SetsFormat.CLDF, SetsFormat.NEXUS):
        raise ArgumentError("--format", got=form, expected="table or edictor with --across")


class FoundSets(NamedTuple):
    """Sets that were found: the words, their parts that were compared, and the set of each part."""

    words: list[Word]
    parts: Morphemes
    found: list[int]
    partial: bool
    crossed: list[int] | None
    """Sets across concepts, of each part, if they were asked for."""

    @staticmethod
    def names(name: str, *, partial: bool, across: bool) -> list[str]:
        """Names of the columns of numbers."""
        from nsed.jobs.cognate_sets import CROSSED, PARTIAL

        return [PARTIAL if partial else name, *([CROSSED + "S" * partial] if across else [])]

    def columns(self, name: str) -> dict[str, list[str]]:
        """Columns of numbers, from 1, a cell for each word."""
        from nsed.jobs.cognate_sets import cognate_sets

        names = self.names(name, partial=self.partial, across=self.crossed is not None)
        named = zip(names, (self.found, self.crossed or []), strict=False)
        return {own: self.parts.numbers(cognate_sets(sets), len(self.words)) for own, sets in named}


def write_sets(output: Path | None, form: SetsFormat, table: WordTable, sets: FoundSets, *, method: str) -> None:
    """Write the words of a list, a row each, with their clusters, which are from 0 on here and from 1 on there."""
    from nsed.jobs.cognate_sets import align_sets, cognate_sets, edictor_rows, nexus_lines, repeated_number

    if form is SetsFormat.TABLE:
        columns = sets.columns(COLUMN)
        rows = ([*row.cells, *own] for row, *own in zip(table.rows, *columns.values(), strict=True))
        with open_output(output) as stream:
            write_tsv(stream, chain([[*table.header.cells, *columns]], rows))
        return
    listed = cognate_sets(sets.found)
    if form is SetsFormat.NEXUS:
        with open_output(output) as stream:
            stream.writelines(line + "\n" for line in nexus_lines(sets.parts.words, listed))
        return
    aligned = align_sets(sets.parts.words, listed)
    if form is SetsFormat.EDICTOR:
        if told := repeated_number(table):
            warn(told)
        joined = sets.parts.joined(aligned, len(sets.words))
        with open_output(output) as stream:
            write_tsv(stream, edictor_rows(table, sets.words, sets.columns(CLASSES), joined))
        return
    assert output is not None
    _write_cldf(output, table, sets, aligned, method=method)


def _write_cldf(
    output: Path, table: WordTable, sets: FoundSets, aligned: Sequence[Sequence[str]], *, method: str
) -> None:
    from nsed.datasets.cldf import CldfForm, metadata_columns, write_cldf

    ids, forms, languages = (_column(table, names) for names in (FORM_IDS, FORMS, LANGUAGE_NAMES))
    glosses = [gloss for _, gloss in table.provenance()]
    known = [word._replace(id=own, gloss=gloss) for word, own, gloss in zip(sets.words, ids, glosses, strict=True)]
    cognates = _cognates(sets, aligned)
    places = metadata_columns(table)
    metadata = [{name: row.cells[place] for name, place in places.items()} for row in table.rows]
    made = [CldfForm(*row) for row in zip(known, forms, cognates, languages, metadata, strict=True)]
    refused = write_cldf(output, made, method=method, bibliography=table.bibliography)
    _warn_of_left_out(table, places.values(), refused)


def _warn_of_left_out(table: WordTable, carried: Iterable[int], refused: Mapping[str, str]) -> None:
    """Warn of columns, and of values, that CLDF's standard tables do not have."""
    from nsed.datasets.word_list import CONCEPTS, GLOSSES, LANGUAGES, TOKENS, TRANSCRIPTIONS

    used = (LANGUAGES, CONCEPTS, TOKENS + TRANSCRIPTIONS, GLOSSES, FORM_IDS, FORM_IDS[::-1], FORMS, LANGUAGE_NAMES)
    written = {*carried, *(_place(table, names) for names in used)}
    filled = (at for at in range(len(table.header.cells)) if any(row.cells[at] for row in table.rows))
    if left_out := [table.header.cells[at] for at in filled if at not in written]:
        warn(f"the columns {', '.join(left_out)} are not in the CLDF Wordlist; --format edictor and table keep all")
    for name, value in refused.items():
        warn(f"{name}: CLDF does not allow {value!r}; such values are left out")


def _cognates(sets: FoundSets, aligned: Sequence[Sequence[str]]) -> list[list[CldfCognate]]:
    """Cognate sets of each word: that of the word, or those of its morphemes, with their slices of the tokens."""
    from nsed.datasets.cldf import CldfCognate

    found: list[list[CldfCognate]] = [[] for _ in sets.words]
    parts = zip(sets.parts.words, sets.parts.owners, sets.parts.starts, sets.found, aligned, strict=True)
    for part, owner, start, number, row in parts:
        own = slice(start, start + len(part.tokens.split())) if sets.partial else None
        found[owner].append(CldfCognate(number + 1, row, own))
    return found


def _column(table: WordTable, names: Sequence[str]) -> list[str]:
    """First column of one of these names; empty cells where there is none."""
    place = _place(table, names)
    return ["" if place is None else row.cells[place] for row in table.rows]


def _place(table: WordTable, names: Sequence[str]) -> int | None:
    known = [name.upper() for name in table.header.cells]
    return next((known.index(name) for name in names if name in known), None)


class CorrespondenceFormat(StrEnum):
    """Output format of sound correspondences."""

    TSV = "tsv"
    TEXT = "text"


def read_table(path: Path) -> WordTable:
    """Word list, of a file or of a CLDF data set."""
    from nsed.datasets.cldf import is_cldf, read_cldf_table
    from nsed.datasets.word_list import read_word_table

    return read_cldf_table(path) if is_cldf(path) else read_word_table(path)


def correspondences(
    model: ModelPath,
    word_list: Annotated[Path, typer.Argument(help="Word list with cognate sets, as nsed cluster writes it.")],
    classes: Annotated[str, typer.Option(help="Column of the sets: COGID, CLUSTER of nsed cluster.")] = CLASSES,
    language: Annotated[
        list[str] | None, typer.Option(help="Languages to compare, all by default; repeatable.", show_default=False)
    ] = None,
    least: Annotated[float, typer.Option(min=0, help="Expected count from which on one is listed.")] = 2.0,
    format_: Annotated[
        CorrespondenceFormat, typer.Option("--format", help="tsv, with a header; or text to read.")
    ] = CorrespondenceFormat.TSV,
    output: Output = None,
) -> None:
    """List which sounds of two languages correspond in cognate words, how often, and in which concepts.

    Each two words of a set and of two languages are aligned by the model; the posteriors of operations, over all
    alignments, add up to expected counts. `SHARE` is that of all that the first sound corresponds to; `-` is no sound.
    """
    from nsed.jobs import sound_correspondences
    from nsed.jobs.cognate_sets import cognate_sets

    words = [word for word in read_table(word_list).words(classes, all_classes=False) if word.cognate_class]
    _check_languages(word_list, words, language)
    chosen = [word for word in words if not language or word.language in language]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(word.cognate_class for word in chosen))}
    sets, aligner = cognate_sets(numbers[word.cognate_class] for word in chosen), load_model(model)
    tell_whose_operations(aligner)
    with progress_bar("aligning", None) as bar:
        found = sound_correspondences(aligner, chosen, sets, least=least, on_batch=bar.advance)
    with open_output(output) as stream:
        if format_ is CorrespondenceFormat.TEXT:
            stream.writelines(_texts(found))
        else:
            write_tsv(stream, chain([[name.upper() for name in _FIELDS]], map(_cells, found)))
    if output is not None:
        out.print(f"{len(found):,} correspondences of {len({one[:2] for one in found}):,} pairs of languages")


_FIELDS = ("language_a", "language_b", "sound_a", "sound_b", "count", "share", "words", "concepts")


def _cells(one: Correspondence) -> list[object]:
    return [*one[:4], f"{one.expected:.2f}", f"{one.share:.3f}", one.words, ", ".join(one.concepts)]


def _texts(found: Sequence[Correspondence]) -> Iterator[str]:
    """Correspondences to read: a paragraph for each two languages."""
    before = None
    for one in found:
        if one[:2] != before:
            yield f"{'' if before is None else chr(10)}{one.language_a} : {one.language_b}\n"
            before = one[:2]
        counts = f"{one.expected:7.1f}  {one.share:4.0%}"
        yield f"  {one.sound_a:>4} : {one.sound_b:<4} {counts}  {', '.join(one.concepts)}\n"


def _check_languages(path: Path, words: Sequence[Word], wanted: Sequence[str] | None) -> None:
    if not words:
        raise DataError(path, "no word has a set in this column; nsed cluster finds sets, --classes names them")
    known = sorted({word.language for word in words})
    for name in wanted or ():
        if name not in known:
            raise ArgumentError("--language", got=name, expected=f"one of {', '.join(known)}")
