"""`nsed explain`: everything a model knows about pairs."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nsed.capabilities import Capability, can
from nsed.cli.arguments import (
    Columns,
    Language,
    Model,
    ModelPath,
    OnePair,
    Output,
    PairsPath,
    load_model,
    open_output,
    pairs_from,
)
from nsed.cli.console import err, progress_bar
from nsed.errors import ArgumentError
from nsed.jobs.table_files import replacing

if TYPE_CHECKING:
    from nsed.explain.explanation import Explanation
    from nsed.text import Pairs

MANY = 50
"""More pairs than this are too many to explain each in full on one page."""


class ExplainFormat(StrEnum):
    """Output format of explanations."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"
    SVG = "svg"
    LATEX = "latex"


class Picture(StrEnum):
    """Picture name: which one is drawn."""

    ALPHA = "alpha"
    POSTERIORS = "posteriors"
    LATTICE = "lattice"
    WATERFALL = "waterfall"


def explain(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    source: Annotated[
        str | None,
        typer.Option(help="A single source: a transducer explains what it writes for it.", show_default=False),
    ] = None,
    columns: Columns = None,
    language: Language = None,
    scripts: Annotated[int, typer.Option(min=1, help="How many of the best scripts.")] = 3,
    format_: Annotated[
        ExplainFormat,
        typer.Option(
            "--format", help="Text, JSON lines with all tables, a page, a picture (see --picture) or coloured boxes."
        ),
    ] = ExplainFormat.TEXT,
    picture: Annotated[Picture, typer.Option(help="Which picture --format svg and --figure draw.")] = Picture.ALPHA,
    figure: Annotated[
        Path | None,
        typer.Option(help="Draw a picture into this file (.png, .pdf, ...; needs the extra viz).", show_default=False),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            help="Write a report of all pairs into this page: compact, to search, sort, filter and print.",
            show_default=False,
        ),
    ] = None,
    output: Output = None,
) -> None:
    """Explain the score of a pair: how probable each operation is, what it adds, and which other scripts there are."""
    explainer = load_model(model, language)
    data = _data(explainer, source, pairs, columns, pair)
    if html is not None:
        _alone(figure=figure, output=output)
        _write_report(explainer, data, html, title=f"{model.name} on {_name(pairs)}")
        return
    if (figure is not None or format_ is ExplainFormat.SVG) and len(data) != 1:
        raise ArgumentError("--figure or --format svg", got=f"{len(data)} pairs", expected="a single pair")
    if format_ is ExplainFormat.HTML and len(data) > MANY:
        err.print(f"{len(data):,} explanations in full are a large page; --html FILE makes a compact one", markup=False)
    made = _explained(explainer, data, scripts)
    if figure is not None:
        _draw(next(made), figure, picture)
        return
    with open_output(output) as stream, progress_bar("explaining", len(data)) as bar:
        for part in _written(made, format_, picture):
            stream.write(part)
            bar.advance(1)


def _write_report(explainer: Model, data: Pairs, path: Path, *, title: str) -> None:
    from nsed.explain.render.report_page import report_page

    if not can(explainer, Capability.EXPLAIN):
        explainer.explain("", "")  # says why it cannot
    with progress_bar("explaining", len(data)) as bar:
        summaries = explainer.summarize_all(data, on_batch=bar.advance)
    with open_output(path) as stream:
        stream.writelines(report_page(summaries, title=title))
    err.print(f"{len(data):,} pairs, {path.stat().st_size / 1e6:.1f} MB: {path}", markup=False)


def _alone(**others: Path | None) -> None:
    given = [f"--{name}" for name, path in others.items() if path is not None]
    if given:
        got, expected = f"also {' and '.join(given)}", "a file for the page and nothing else"
        raise ArgumentError("--html", got=got, expected=expected)


def _name(path: Path | None) -> str:
    if path is None:
        return "one pair"
    return "standard input" if str(path) == "-" else path.name


def _explained(explainer: Model, data: Pairs, scripts: int) -> Iterator[Explanation]:
    return explainer.explain_all(data, scripts=scripts)  # type: ignore[no-any-return]  # or says why it cannot


def _data(
    explainer: Model, source: str | None, path: Path | None, columns: str | None, pair: tuple[str, str] | None
) -> Pairs:
    from nsed.text import Pairs

    if source is None:
        return pairs_from(path, columns, pair)
    if pair is not None or path is not None:
        raise ArgumentError("--source", got="also PAIRS or --pair", expected="one of them")
    if not can(explainer, Capability.TRANSDUCE, Capability.EXPLAIN):
        raise ArgumentError("--source", got="a model that does not write", expected="a transducer")
    return Pairs.of([(source, explainer.best_target(source))])


def _written(made: Iterator[Explanation], format_: ExplainFormat, picture: Picture) -> Iterator[str]:
    """Output chunks, one per pair, and what a page has around them."""
    from nsed.explain.render.html import page

    if format_ is ExplainFormat.HTML:
        yield from page(one.to_html(style=False) for one in made)
    for one in made:
        yield f"{_one(one, format_, picture)}\n"


def _one(explanation: Explanation, format_: ExplainFormat, picture: Picture) -> str:
    if format_ is ExplainFormat.JSON:
        return explanation.to_json()
    if format_ is ExplainFormat.SVG:
        return explanation.to_svg(picture.value)
    return explanation.to_latex() if format_ is ExplainFormat.LATEX else explanation.to_text() + "\n"


def _draw(explanation: Explanation, path: Path, picture: Picture) -> None:
    from nsed.explain.render.pictures import draw

    with replacing(path) as beside:
        draw(explanation, beside, picture=picture.value, ending=path.suffix)
