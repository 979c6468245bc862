"""`nsed review`: the answers that a person should look at first, to be corrected and learned from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from nsed.capabilities import Capability, can
from nsed.cli.arguments import (
    Columns,
    Language,
    Model,
    ModelPath,
    Output,
    load_model,
    open_output,
    split_columns,
    write_tsv,
)
from nsed.cli.console import out, progress_bar
from nsed.errors import ArgumentError
from nsed.jobs.table_files import cell, plain

if TYPE_CHECKING:
    from nsed.jobs.review import ReviewedPair, ReviewedWord
    from nsed.text import Pairs

LINES = (".tsv", ".txt")
"""Text file endings, of files that may have words or pairs, like those of no known ending."""


class ReviewFormat(StrEnum):
    """Output format of the review."""

    TSV = "tsv"
    JSON = "json"
    TABLE = "table"


class ReviewOrder(StrEnum):
    """Review order: `nsed.jobs.review.Order`."""

    CONFIDENCE = "confidence"
    MARGIN = "margin"
    ENTROPY = "entropy"
    DISAGREEMENT = "disagreement"


def review(
    model: ModelPath,
    data: Annotated[
        Path,
        typer.Argument(
            help="File of words, one per line, or of pairs; - is standard input. Of a matcher, pairs.",
        ),
    ] = Path("-"),
    columns: Columns = None,
    language: Language = None,
    top: Annotated[int, typer.Option(min=1, help="Lines at most.")] = 100,
    by: Annotated[
        ReviewOrder | None,
        typer.Option(
            help="confidence: the least probable answers first; margin: those least ahead of the second; entropy: the "
            "most open choices; disagreement: targets or labels of the data that the model believes least. By "
            "default disagreement where the data has targets or labels, else confidence.",
            show_default=False,
        ),
    ] = None,
    format_: Annotated[
        ReviewFormat, typer.Option("--format", help="tsv, with a header; JSON lines; or a table to look at.")
    ] = ReviewFormat.TSV,
    output: Output = None,
) -> None:
    """List the answers that most deserve a look: the least certain ones, and likely errors of the data.

    The columns `source` and `target` (of a matcher, and `label`) come first. Correct them by hand, and the same file is
    one for `nsed transduce --overrides`, which takes what was corrected only (the last column has the targets as they
    were), and for `nsed train --from`.
    """
    if format_ is ReviewFormat.TABLE and output is not None:
        raise ArgumentError("--format", got="table", expected="tsv or json beside --output")
    rows = list(islice(_rows(load_model(model, language), model, data, split_columns(columns), by), top))
    names = list(rows[0]) if rows else []
    if format_ is ReviewFormat.TABLE:
        _show(names, rows)
        return
    with open_output(output) as stream:
        if format_ is ReviewFormat.JSON:
            stream.writelines(json.dumps(plain(row), ensure_ascii=False) + "\n" for row in rows)
        else:
            cells = ([cell(value) for value in row.values()] for row in rows)
            write_tsv(stream, chain([names] if names else [], cells), otherwise="Use --format json.")


def _rows(
    model: Model, name: Path, data: Path, columns: list[str] | None, by: ReviewOrder | None
) -> Iterator[Mapping[str, object]]:
    from nsed.jobs.review import Order, review_pairs, review_words
    from nsed.text import Pairs

    given, order = words_or_pairs(data, columns), Order(by) if by else None
    if can(model, Capability.MATCH) and isinstance(given, Pairs):
        return map(_pair_row, review_pairs(model, given, by=order))
    if can(model, Capability.MATCH):
        raise ArgumentError("DATA", got=f"{data}, a list of words", expected="pairs, for a matcher")
    if not can(model, Capability.TRANSDUCE, Capability.SCORE):
        raise ArgumentError("MODEL", got=f"{name}, which gives no answers", expected="a transducer or a matcher")
    given = given.positives() if isinstance(given, Pairs) else given
    sources, targets, languages = (
        (given.sources, given.targets, given.languages) if isinstance(given, Pairs) else (given, None, None)
    )
    with progress_bar("reviewing", len(sources), unit="words") as bar:
        reviewed = review_words(model, sources, targets=targets, languages=languages, by=order, on_batch=bar.advance)
        sides = _both_sides(given) if isinstance(given, Pairs) else {}
        return (_word_row(word, sides) for word in reviewed)


def _both_sides(pairs: Pairs) -> dict[str, tuple[str, str]]:
    """Source and target language by what `Pairs.languages` calls both; one that is not known is the other."""
    one, other = pairs.source_languages or pairs.target_languages, pairs.target_languages or pairs.source_languages
    return (
        {}
        if one is None or other is None
        else dict(zip(pairs.languages or (), zip(one, other, strict=True), strict=True))
    )


def words_or_pairs(path: Path, columns: list[str] | None) -> list[str] | Pairs:
    """Input type detection: pairs, if the file is of a kind that has columns, or if its first line has a tab."""
    from nsed.text import read_pairs
    from nsed.text.readers import READERS
    from nsed.text.readers.delimited import TAB, ReadOptions, empty_file, parse_rows, tsv_rows
    from nsed.text.readers.lines import open_text

    ending = path.suffix.lower()
    if ending in READERS and ending not in LINES:
        return read_pairs(path, columns=columns)
    with open_text(path) as stream:
        lines = [line.rstrip("\r\n") for line in stream]
    if not any(lines):
        raise empty_file(path, "words or pairs")
    if columns is None and "\t" not in next(filter(None, lines), ""):
        return [line for line in lines if line]
    return parse_rows(path, tsv_rows(lines), ReadOptions(columns), TAB)


def _word_row(word: ReviewedWord, sides: Mapping[str, tuple[str, str]]) -> dict[str, object]:
    from nsed.models.transduction import REVIEWED

    figures = {"probability": word.probability, "margin": word.margin, "entropy": word.entropy}
    data = {} if word.disagreement is None else {"disagreement": word.disagreement}
    names = ("source_language", "target_language")
    languages = {} if word.language is None else dict(zip(names, sides[word.language], strict=True))
    answers = " | ".join(one.text for one in word.answers)
    given = {"source": word.source, "target": word.target, **languages}
    return {**given, **data, **figures, "answers": answers, REVIEWED: word.target}


def _pair_row(pair: ReviewedPair) -> dict[str, object]:
    names = ("source_language", "target_language")
    languages = dict(zip(names, pair.languages, strict=True)) if pair.languages else {}
    figures = {"probability": pair.probability, "margin": pair.margin, "entropy": pair.entropy}
    data = {} if pair.disagreement is None else {"disagreement": pair.disagreement}
    return {"source": pair.source, "target": pair.target, "label": pair.label, **languages, **data, **figures}


def _show(names: list[str], rows: list[Mapping[str, object]]) -> None:
    """Show a table to look at, without the column that only an edited file needs."""
    from nsed.models.transduction import REVIEWED

    shown = [name for name in names if name != REVIEWED]
    table = Table(*shown, box=None, pad_edge=False)
    for row in rows:
        values = (row[name] for name in shown)
        table.add_row(*(f"{value:.3f}" if isinstance(value, float) else cell(value) for value in values))
    out.print(table, markup=False)
