"""HTML report of many pairs: one file that needs no other, to search, sort, filter and print."""

from collections.abc import Callable, Iterator, Sequence
from importlib.resources import files
from typing import NamedTuple

from nsed.explain.explanation import ExplanationSummary
from nsed.explain.render.edit_boxes import BOX_STYLE, UNSURE, boxes, legend
from nsed.explain.render.markup import foreign, text
from nsed.explain.render.numbers import nats, percent
from nsed.explain.render.report_summary import choices, operations_of, summary
from nsed.explain.render.svg import tag, words


class ReportColumn(NamedTuple):
    """Report column; `mark` is the class of its cells, `value` what they sort by, None for their text."""

    name: str
    mark: str
    meaning: str
    shown: Callable[[ExplanationSummary], str]
    value: Callable[[ExplanationSummary], float] | None = None


def _decided(outline: ExplanationSummary) -> str:
    assert outline.decision is not None
    return words(f"{'✓' if outline.decision.match else '✗'} {outline.decision.word}")


def _doubt(outline: ExplanationSummary) -> str:
    number = f"≈ {outline.alternatives:.3g}" if outline.alternatives < 999.5 else "> 1,000"
    return words(nats(outline.entropy)) + tag("small", {}, words(f" {number}"))


_TEXTS = (
    ReportColumn("source", "a", "the string that is read", lambda one: foreign(one.source)),
    ReportColumn("target", "z", "the string that is written", lambda one: foreign(one.target)),
    ReportColumn(
        "operations", "o", "the most probable script", lambda one: boxes(one.script), lambda one: len(one.script)
    ),
)
_DECISION = ReportColumn("decision", "d", "whether the score reaches the threshold", _decided, lambda one: one.log_prob)
_NUMBERS = (
    ReportColumn("score", "l", "log-probability", lambda one: words(nats(one.log_prob)), lambda one: one.log_prob),
    ReportColumn(
        "share",
        "h",
        "of this script among all derivations of the target",
        lambda one: words(percent(one.script.share)),
        lambda one: one.script.share,
    ),
    ReportColumn(
        "entropy",
        "e",
        "doubt about the derivation in nats, and ≈ how many equally probable scripts would leave as much",
        _doubt,
        lambda one: one.entropy,
    ),
)


def columns_of(summaries: Sequence[ExplanationSummary]) -> tuple[ReportColumn, ...]:
    """Report columns that pairs of one model have."""
    decides = any(one.decision is not None for one in summaries)
    meaning = "that the pair matches, calibrated" if decides else "of the target, given the source"
    probability = ReportColumn(
        "probability", "p", meaning, lambda one: words(percent(one.probability)), lambda one: one.probability
    )
    return (*_TEXTS, probability, *((_DECISION,) if decides else ()), *_NUMBERS)


def table(summaries: Sequence[ExplanationSummary]) -> Iterator[str]:
    """HTML table, part by part."""
    columns = columns_of(summaries)
    heads = _head("n", "#", "place in the data"), *(_head(one.mark, one.name, one.meaning) for one in columns)
    yield f'<table id="pairs"><thead>{tag("tr", {}, *heads)}</thead>\n<tbody>\n'
    yield from (row(number, one, columns) for number, one in enumerate(summaries, start=1))
    yield "</tbody></table>\n"


def row(number: int, outline: ExplanationSummary, columns: Sequence[ReportColumn]) -> str:
    """HTML table row of a pair."""
    first = tag("td", {"class": "n", "data-v": number}, f"{number:,}")
    return tag("tr", {}, first, *(_cell(column, outline) for column in columns)) + "\n"


def _cell(column: ReportColumn, outline: ExplanationSummary) -> str:
    value = {} if column.value is None else {"data-v": f"{column.value(outline):.6g}"}
    return tag("td", {"class": column.mark, **value}, column.shown(outline))


def _head(mark: str, name: str, meaning: str) -> str:
    """HTML table head, without buttons: browsers repeat it on every printed sheet only if nothing can be pressed."""
    return tag("th", {"class": mark, "scope": "col", "title": meaning}, words(name))


_ALONE = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
"""Content security policy: what the page allows itself, nothing from outside."""


def report_page(summaries: Sequence[ExplanationSummary], *, title: str) -> Iterator[str]:
    """HTML page, part by part, ready for a file in UTF-8. All of it can be read and printed without its script."""
    operations = operations_of(summaries)
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_ALONE}">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f"<title>{text(title)}</title>\n<style>{BOX_STYLE}{_resource('page.css')}</style>\n"
    yield '<script>document.documentElement.className = "js"</script></head><body>\n<header>'
    yield f"<h1><bdi>{text(title)}</bdi></h1>\n{summary(summaries, operations)}</header>\n<main>\n"
    yield _controls(choices(operations))
    yield f'<p class="legend">{legend()} <span>{_PALE}</span><b></b></p>\n'
    yield from table(summaries)
    yield f"{_PAGES}</main>\n<script>\n{_resource('page.js')}</script>\n</body></html>\n"


_PALE = f"the paler, the less probable; below {percent(UNSURE, 0)} with a number"
_SORT = '<label class="sort">sort by <select></select></label>\n'
_PAGES = (
    '<nav class="pages"><button type="button" data-step="-1" aria-label="previous pairs">‹</button>'
    '<output></output><button type="button" data-step="1" aria-label="next pairs">›</button></nav>\n'
)


def _controls(options: str) -> str:
    return (
        '<form class="controls" role="search"><input type="search" autocomplete="off" spellcheck="false" dir="auto" '
        'placeholder="source, target or operation, say a→b" aria-label="search source, target or operation">\n'
        f'<select aria-label="pairs with this operation">{options}</select>\n{_SORT}{_PAGES}</form>\n'
    )


def _resource(name: str) -> str:
    return (files("nsed.explain.render") / "static" / name).read_text(encoding="utf-8")
