"""The table of a report: a row for each pair, short enough for thousands, complete without any script."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from nsed.explain.edit_boxes import boxes
from nsed.explain.markup import foreign
from nsed.explain.numbers import nats, percent
from nsed.explain.outline import Outline
from nsed.explain.svg import tag, words


class Column(NamedTuple):
    """What a column shows; `mark` is the class of its cells, `value` what they sort by, None for their text."""

    name: str
    mark: str
    meaning: str
    shown: Callable[[Outline], str]
    value: Callable[[Outline], float] | None = None


def _decided(outline: Outline) -> str:
    assert outline.decision is not None
    return words(f"{'✓' if outline.decision.match else '✗'} {outline.decision.word}")


def _doubt(outline: Outline) -> str:
    number = f"≈ {outline.alternatives:.3g}" if outline.alternatives < 999.5 else "> 1,000"
    return words(nats(outline.entropy)) + tag("small", {}, words(f" {number}"))


_TEXTS = (
    Column("source", "a", "the string that is read", lambda one: foreign(one.source)),
    Column("target", "z", "the string that is written", lambda one: foreign(one.target)),
    Column("operations", "o", "the most probable script", lambda one: boxes(one.script), lambda one: len(one.script)),
)
_DECISION = Column("decision", "d", "whether the score reaches the threshold", _decided, lambda one: one.log_prob)
_NUMBERS = (
    Column("score", "l", "log-probability", lambda one: words(nats(one.log_prob)), lambda one: one.log_prob),
    Column(
        "share",
        "h",
        "of this script among all derivations of the target",
        lambda one: words(percent(one.script.share)),
        lambda one: one.script.share,
    ),
    Column(
        "entropy",
        "e",
        "doubt about the derivation in nats, and ≈ how many equally probable scripts would leave as much",
        _doubt,
        lambda one: one.entropy,
    ),
)


def columns_of(outlines: Sequence[Outline]) -> tuple[Column, ...]:
    """The columns that pairs of one model have."""
    decides = any(one.decision is not None for one in outlines)
    meaning = "that the pair matches, calibrated" if decides else "of the target, given the source"
    probability = Column(
        "probability", "p", meaning, lambda one: words(percent(one.probability)), lambda one: one.probability
    )
    return (*_TEXTS, probability, *((_DECISION,) if decides else ()), *_NUMBERS)


def table(outlines: Sequence[Outline]) -> Iterator[str]:
    """The table, part by part."""
    columns = columns_of(outlines)
    heads = _head("n", "#", "place in the data"), *(_head(one.mark, one.name, one.meaning) for one in columns)
    yield f'<table id="pairs"><thead>{tag("tr", {}, *heads)}</thead>\n<tbody>\n'
    yield from (row(number, one, columns) for number, one in enumerate(outlines, start=1))
    yield "</tbody></table>\n"


def row(number: int, outline: Outline, columns: Sequence[Column]) -> str:
    """A pair."""
    first = tag("td", {"class": "n", "data-v": number}, f"{number:,}")
    return tag("tr", {}, first, *(_cell(column, outline) for column in columns)) + "\n"


def _cell(column: Column, outline: Outline) -> str:
    value = {} if column.value is None else {"data-v": f"{column.value(outline):.6g}"}
    return tag("td", {"class": column.mark, **value}, column.shown(outline))


def _head(mark: str, name: str, meaning: str) -> str:
    """No button: browsers repeat the head of a table on every sheet of paper only if nothing in it can be pressed."""
    return tag("th", {"class": mark, "scope": "col", "title": meaning}, words(name))
