"""`nsed data check`: what the files of a data set have in common."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from nsed.cli.arguments import Columns, SymbolKind, split_columns
from nsed.cli.console import out, warn
from nsed.errors import ArgumentError

if TYPE_CHECKING:
    from nsed.datasets.leaks import LeakReport
    from nsed.datasets.splits import WordOverlap
    from nsed.datasets.word_list import Word
    from nsed.evaluate import MatchingScore
    from nsed.text import Pairs

CONTROLS = {
    "lookup": "lookup of training positives",
    "chains": "chains of training positives",
    "levenshtein": "Levenshtein, tuned on {}",
    "frequency": "frequency of the rarer word, tuned on {}",
}


def check(
    training: Annotated[
        Path,
        typer.Argument(help="File of the pairs to learn from; or alone, the name of a data set.", show_default=False),
    ],
    others: Annotated[
        list[Path] | None,
        typer.Argument(help="The file to test with, or those to validate and to test with.", show_default=False),
    ] = None,
    columns: Columns = None,
    symbols: Annotated[
        SymbolKind, typer.Option(help="What the Levenshtein distance counts; nsed data cognates writes tokens.")
    ] = "graphemes",
    words: Annotated[
        str | None,
        typer.Option(
            help="Word list that the pairs were made of, or its name: which concepts and classes files share.",
            show_default="a data set's own",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The figures as JSON.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Exit status 1 where there are leaks.")] = False,
) -> None:
    """Find what leaks from training into validation and test, and what a test score is worth without a model.

    A leak is a pair that stands in two files, perhaps the other way round; without labels also a source, whatever its
    target. For labelled pairs, what can be had without a model: the F1 of a **lookup** table of the training positives,
    whichever way round; that of words that **chains** of them connect; that of the normalised **Levenshtein**
    similarity; and that of the **frequency** in training of the rarer of the two words, which never compares them. The
    thresholds of the latter two are tuned on the second of three files, of two on the first. With `--words`, also
    which concepts and cognate classes of a word list are in two files.
    """
    from nsed.datasets import load
    from nsed.datasets.leaks import check_leaks
    from nsed.datasets.splits import word_overlaps

    if not others and training.is_file():
        raise ArgumentError("OTHERS", got="none", expected=f"the file to test with, beside {training}")
    parts = load(str(training))._asdict() if not others else _read([training, *others], columns)
    report, shared = check_leaks(parts, symbols=symbols), word_overlaps(parts, _words(words, training, others))
    if as_json:
        typer.echo(json.dumps(_as_dict(report, shared), indent=1, ensure_ascii=False))
    else:
        _show(report, shared)
    raise typer.Exit(1 if strict and report.leaks else 0)


def _read(paths: list[Path], columns: str | None) -> dict[str, Pairs]:
    """Read the pairs of each file, by its name, or by its path where names are not different."""
    from nsed.text import read_pairs

    if len(set(paths)) < len(paths):
        raise ArgumentError("OTHERS", got=", ".join(map(str, paths)), expected="different files")
    short = len({path.name for path in paths}) == len(paths)
    return {path.name if short else str(path): read_pairs(path, columns=split_columns(columns)) for path in paths}


def _words(words: str | None, training: Path, others: list[Path] | None) -> list[Word]:
    """Word list that is named, or that of the data set; nothing where there is none."""
    from nsed.datasets import load_words, names
    from nsed.datasets.catalogue import DATASETS
    from nsed.datasets.word_list import doubtful_classes, read_word_list

    name = words or ("" if others else str(training))
    if name in names() and DATASETS[name].parts is None:
        return load_words(name)
    found = read_word_list(words) if words else []
    for caution in doubtful_classes(found):
        warn(f"{words}: {caution}")
    return found


def _as_dict(report: LeakReport, shared: list[WordOverlap]) -> dict[str, Any]:
    scores = [
        {**asdict(each), **{name: getattr(each, name)._asdict() for name in CONTROLS}} for each in report.controls
    ]
    return {**asdict(report), "words": list(map(asdict, shared)), "controls": scores, "leaks": report.leaks}


def _show(report: LeakReport, shared: list[WordOverlap]) -> None:
    out.print(_parts_table(report), "", _overlaps_table(report), "")
    if any(overlap.concepts or overlap.classes for overlap in shared):
        out.print(_words_table(shared), "")
    if report.controls:
        out.print(_controls_table(report), "")
    out.print(f"[bold red]{report.leaks:,} leaks[/]" if report.leaks else "[green]no leak[/]")


def _parts_table(report: LeakReport) -> Table:
    columns = {
        "pairs": "pairs",
        "positives": "positives",
        "negatives": "negatives",
        "duplicates": "duplicates",
        "both_labels": "pairs with both labels",
        "identical": "positives of one string with itself",
    }
    return _turned("in each file", [part.part for part in report.parts], columns, report.parts)


def _overlaps_table(report: LeakReport) -> Table:
    rows = {
        "same_pairs": "pairs",
        "reversed_pairs": "pairs, reversed only",
        "other_label": "with the other label",
        "strings": "strings",
        "share_of_strings": "share of its strings",
        "same_source": "sources, same target",
        "source_only": "sources, other target",
    }
    heads = [f"{overlap.later} in {overlap.earlier}" for overlap in report.overlaps]
    return _turned("known already", heads, rows, report.overlaps)


def _words_table(shared: list[WordOverlap]) -> Table:
    rows = {
        "concepts": "concepts",
        "share_of_concepts": "share of its concepts",
        "classes": "cognate classes",
        "share_of_classes": "share of its classes",
    }
    return _turned("seen before", [f"{overlap.later} in {overlap.earlier}" for overlap in shared], rows, shared)


def _controls_table(report: LeakReport) -> Table:
    table = _table("without a model", "precision", "recall", "F1", "threshold")
    for controls in report.controls:
        for field, name in CONTROLS.items():
            score: MatchingScore = getattr(controls, field)
            threshold = f"{score.threshold:.3f}" if field in ("levenshtein", "frequency") else ""
            figures = (f"{figure:.3f}" for figure in (score.precision, score.recall, score.f1))
            table.add_row(f"{controls.part}: {name.format(controls.tuned_on)}", *figures, threshold)
    return table


def _turned(what: str, heads: list[str], rows: dict[str, str], records: list[Any]) -> Table:
    """Transposed table: a row for each figure that there is, a column for each record."""
    table = _table(what, *heads)
    for field, name in rows.items():
        values = [getattr(record, field) for record in records]
        if None not in values:
            table.add_row(name, *(f"{value:.1%}" if isinstance(value, float) else f"{value:,}" for value in values))
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(first, box=None, pad_edge=False)
    for name in others:
        table.add_column(name, justify="right")
    return table
