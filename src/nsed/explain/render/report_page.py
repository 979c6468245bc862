"""HTML report of many pairs, with a summary of all: one file that needs no other, to search, sort, filter and print."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib.resources import files
from statistics import fmean, median
from typing import NamedTuple

import numpy as np

from nsed.explain.explanation import ExplanationSummary
from nsed.explain.render.html import BOX_STYLE, UNSURE, WORDS, box, boxes, legend
from nsed.explain.render.markup import SIGNS, foreign, picture, tag, text, words, write
from nsed.explain.render.text import nats, percent
from nsed.text import Edit
from nsed.text.visible import drawn

BINS = 20
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 320.0, 150.0, 44.0, 14.0, 124.0


def histogram(probabilities: Iterable[float], *, title: str) -> str:
    """Histogram bars, one for every twentieth between 0 and 1.

    >>> histogram([0.1, 0.97, 1.0], title="share").count("<rect")
    2
    """
    counts, _ = np.histogram(list(probabilities), bins=BINS, range=(0.0, 1.0))
    most = max(1, int(counts.max()))
    bars = [_bar(place, int(count), most) for place, count in enumerate(counts) if count]
    told = f"{counts.sum():,} pairs; {counts[-1]:,} of them above {percent(1 - 1 / BINS, 0)}"
    shown = picture(WIDTH, HEIGHT, *bars, *_axes(most), title=title, description=told)
    return tag("figure", {}, tag("figcaption", {}, words(title)), shown)


def _axes(most: int) -> list[str]:
    line = tag("path", {"d": f"M{LEFT:g} {BOTTOM:g}H{WIDTH - 8:g}", "stroke": "currentColor", "opacity": 0.5})
    ticks = [write(_x(place), BOTTOM + 16, percent(place / BINS, 0), size=11) for place in range(0, BINS + 1, 5)]
    counts = ((TOP + 8, f"{most:,}"), (BOTTOM, "0"))
    return [line, *ticks, *(write(LEFT - 6, y, count, anchor="end", size=11) for y, count in counts)]


def _bar(place: int, count: int, most: int) -> str:
    height = max(1.0, (BOTTOM - TOP) * count / most)
    sides = {"x": _x(place) + 1, "y": BOTTOM - height, "width": _x(1) - _x(0) - 2, "height": height}
    title = f"{percent(place / BINS, 0)} to {percent((place + 1) / BINS, 0)}: {count:,} pairs"
    return tag("rect", {**sides, "class": "bar"}, tag("title", {}, words(title)))


def _x(place: int) -> float:
    return LEFT + (WIDTH - LEFT - 16) * place / BINS


SHOWN = {"replace": 24, "delete": 12, "insert": 12}
"""Most operations of a kind that stand at the top, the most frequent ones."""
CHOICES = 400
"""Most operations that rows can be filtered by, the most frequent ones."""

Operations = Counter[tuple[str, str, str]]
"""Operation counts: how often each (tag, source, target) is part of the best scripts."""


def operations_of(summaries: Sequence[ExplanationSummary]) -> Operations:
    """Operation counts of the best scripts."""
    return Counter((edit.tag, edit.source, edit.target) for one in summaries for edit in one.script)


def overview(summaries: Sequence[ExplanationSummary], operations: Operations) -> str:
    """Overview: figures, distributions and the most frequent operations."""
    pictures = [
        histogram((one.probability for one in summaries), title="probability of the pairs"),
        histogram((one.script.share for one in summaries), title="share of the best script"),
    ]
    figures = [_figure(name, value) for name, value in _figures(summaries)]
    return "\n".join(
        [
            tag("dl", {"class": "figures"}, *figures),
            tag("div", {"class": "pictures"}, *pictures),
            *(_frequent(kind, operations) for kind in WORDS),
        ]
    )


def choices(operations: Operations) -> str:
    """Filter choices for rows: kinds of operations, and single ones, most frequent first."""
    kinds = [tag("option", {"value": word[0]}, f"any {_NOUNS[kind]}") for kind, word in WORDS.items()]
    single = [_choice(operation, count) for operation, count in operations.most_common(CHOICES)]
    return "".join([tag("option", {"value": ""}, "all operations"), *kinds, *single])


def name_of(operation: tuple[str, str, str]) -> str:
    """Operation name, as the page's script calls it.

    >>> name_of(("delete", "a", "")), name_of(("replace", "a", "b"))
    ('d−a', 'sa→b')
    """
    kind, source, target = operation
    return WORDS[kind][0] + _told(kind, drawn(source), drawn(target))


_NOUNS = {"equal": "kept symbol", "replace": "substitution", "delete": "deletion", "insert": "insertion"}


def _told(kind: str, source: str, target: str) -> str:
    return f"{source}{SIGNS[kind]}{target}" if kind == "replace" else f"{SIGNS[kind]}{source or target}"


def _figures(summaries: Sequence[ExplanationSummary]) -> Iterator[tuple[str, str]]:
    yield "pairs", f"{len(summaries):,}"
    if not summaries:
        return
    decisions = [one.decision.match for one in summaries if one.decision is not None]
    if decisions:
        yield "called a match", f"{sum(decisions):,} ({percent(fmean(decisions))})"
    yield "median probability", percent(median(one.probability for one in summaries))
    yield "mean share of the best script", percent(fmean(one.script.share for one in summaries))
    yield "mean entropy", f"{nats(fmean(one.entropy for one in summaries))} nats"


def _figure(name: str, value: str) -> str:
    return tag("div", {}, tag("dt", {}, words(name)), tag("dd", {}, words(value)))


def _frequent(kind: str, operations: Operations) -> str:
    """Most frequent operations of a kind, and its count."""
    found = [(operation, count) for operation, count in operations.most_common() if operation[0] == kind]
    total, everything = sum(count for _, count in found), max(1, operations.total())
    plural = _NOUNS[kind] + ("" if total == 1 else "s")
    head = tag("h3", {}, words(f"{total:,} {plural}"), tag("small", {}, words(f" {percent(total / everything)}")))
    if not found:
        return ""
    chips = [_chip(operation, count) for operation, count in found[: SHOWN.get(kind, 12)]]
    return tag("section", {"class": "frequent"}, head, *chips)


def _chip(operation: tuple[str, str, str], count: int) -> str:
    _, source, target = operation
    edit = Edit("delete" if not target else "substitute" if source else "insert", source, target, 0, 0)
    shown = tag("span", {"class": "nsed-script", "dir": "ltr", "lang": ""}, box(edit))
    return tag("button", {"type": "button", "data-f": name_of(operation)}, shown, f"{count:,}")


def _choice(operation: tuple[str, str, str], count: int) -> str:
    name = name_of(operation)
    return tag("option", {"value": name}, words(f"{name[1:]} ({count:,})"))


class ReportColumn(NamedTuple):
    """Report column; `mark` is the class of its cells, `value` what they sort by, None for their text."""

    name: str
    mark: str
    meaning: str
    shown: Callable[[ExplanationSummary], str]
    value: Callable[[ExplanationSummary], float] | None = None


def _decided(summary: ExplanationSummary) -> str:
    assert summary.decision is not None
    return words(f"{'✓' if summary.decision.match else '✗'} {summary.decision.word}")


def _doubt(summary: ExplanationSummary) -> str:
    number = f"≈ {summary.alternatives:.3g}" if summary.alternatives < 999.5 else "> 1,000"
    return words(nats(summary.entropy)) + tag("small", {}, words(f" {number}"))


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


def row(number: int, summary: ExplanationSummary, columns: Sequence[ReportColumn]) -> str:
    """HTML table row of a pair."""
    first = tag("td", {"class": "n", "data-v": number}, f"{number:,}")
    return tag("tr", {}, first, *(_cell(column, summary) for column in columns)) + "\n"


def _cell(column: ReportColumn, summary: ExplanationSummary) -> str:
    value = {} if column.value is None else {"data-v": f"{column.value(summary):.6g}"}
    return tag("td", {"class": column.mark, **value}, column.shown(summary))


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
    yield f"<h1><bdi>{text(title)}</bdi></h1>\n{overview(summaries, operations)}</header>\n<main>\n"
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
