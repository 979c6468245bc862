"""Output formats of `nsed cluster`: a table, EDICTOR's columns, a CLDF Wordlist, Nexus."""

from __future__ import annotations

from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nsed.cli.arguments import open_output, write_tsv
from nsed.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsed.datasets.word_list import Word, WordTable


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
FORMS = ("FORM", "VALUE", "IPA", "TRANSCRIPTION")
FORM_IDS = ("FORM_ID", "ID")
LANGUAGE_NAMES = ("LANGUAGE_NAME",)


def check_sets_output(output: Path | None, form: SetsFormat) -> None:
    """Refuse, before any work is done, what the format cannot be written to."""
    if form is SetsFormat.CLDF and output is None:
        raise ArgumentError("--format", got=form, expected="table, edictor or nexus without --output FOLDER")


def write_sets(
    output: Path | None, form: SetsFormat, table: WordTable, words: Sequence[Word], found: Sequence[int], *, method: str
) -> None:
    """Write the words of a list, a row each, with their clusters, which are from 0 on here and from 1 on there."""
    from nsed.jobs.cognate_sets import align_sets, cognate_sets, edictor_rows, nexus_lines

    if form is SetsFormat.TABLE:
        rows = ([*row.cells, number + 1] for row, number in zip(table.rows, found, strict=True))
        with open_output(output) as stream:
            write_tsv(stream, chain([[*table.header.cells, COLUMN]], rows))
        return
    sets = cognate_sets(found)
    if form is SetsFormat.NEXUS:
        with open_output(output) as stream:
            stream.writelines(line + "\n" for line in nexus_lines(words, sets))
        return
    aligned = align_sets(words, sets)
    if form is SetsFormat.EDICTOR:
        with open_output(output) as stream:
            write_tsv(stream, edictor_rows(table, words, sets, aligned))
        return
    assert output is not None
    _write_cldf(output, table, words, found, aligned, method=method)


def _write_cldf(
    output: Path,
    table: WordTable,
    words: Sequence[Word],
    found: Sequence[int],
    aligned: Sequence[Sequence[str]],
    *,
    method: str,
) -> None:
    from nsed.datasets.cldf import CldfForm, write_cldf

    ids, forms, languages = (_column(table, names) for names in (FORM_IDS, FORMS, LANGUAGE_NAMES))
    glosses = [gloss for _, gloss in table.provenance()]
    known = [word._replace(id=own, gloss=gloss) for word, own, gloss in zip(words, ids, glosses, strict=True)]
    numbers = [number + 1 for number in found]
    made = [CldfForm(*row) for row in zip(known, forms, numbers, aligned, languages, strict=True)]
    write_cldf(output, made, method=method)


def _column(table: WordTable, names: Sequence[str]) -> list[str]:
    """First column of one of these names; empty cells where there is none."""
    known = [name.upper() for name in table.header.cells]
    place = next((known.index(name) for name in names if name in known), None)
    return ["" if place is None else row.cells[place] for row in table.rows]
