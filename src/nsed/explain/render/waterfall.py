"""Waterfall chart: how the contributions to a score add up to it."""

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from nsed.explain.decision import Contribution
from nsed.explain.explanation import Evidence
from nsed.explain.render.markup import COLOURS, FONT, picture, tag, width_of, words, write
from nsed.explain.render.numbers import percent, signed
from nsed.explain.render.text import word

ROW, BARS = 22.0, 320.0
"""Row height, and chart width, the room for bars."""
LEAST = 0.1
"""Minimum axis range, in nats that the width stands for at least: what is all but certain looks so."""


class WaterfallBar(NamedTuple):
    """Waterfall bar: one step, from the sum before it to the sum after it."""

    label: str
    kind: str
    value: float
    start: float
    meaning: str


def bars_of(evidence: Evidence) -> list[WaterfallBar]:
    """Waterfall bars: the contributions in order, then the total from zero."""
    parts = evidence.contributions
    starts = accumulate((part.value for part in parts), initial=0.0)
    bars = [
        WaterfallBar(part.title, part.kind, part.value, start, _meaning(part))
        for part, start in zip(parts, starts, strict=False)
    ]
    return [*bars, WaterfallBar(evidence.total_name, "total", evidence.total, 0.0, f"the sum, {evidence.total_name}")]


class Scale(NamedTuple):
    """Linear axis scale: where a value stands on the picture."""

    left: float
    low: float
    unit: float

    def at(self, value: float) -> float:
        """X coordinate of a value."""
        return self.left + (value - self.low) * self.unit


def waterfall_svg(evidence: Evidence) -> str:
    """SVG waterfall chart; for a Matcher, a line shows from where on pairs match."""
    title = f"what adds up to the {evidence.total_name} of {word(evidence.source)} and {word(evidence.target)}"
    return bars_svg(bars_of(evidence), title, None if evidence.decision is None else evidence.decision.needed)


def bars_svg(bars: list[WaterfallBar], title: str, needed: float | None = None) -> str:
    """SVG waterfall chart of bars, the last of which is the total; a line shows from which one on pairs match."""
    scale = _scale(bars, [] if needed is None else [needed])
    rows = [part for row, bar in enumerate(bars) for part in _row(bar, row, scale)]
    size = scale.left + BARS + 78, ROW * len(bars) + (12 if needed is None else 30)
    described = ", ".join(f"{bar.label} {signed(bar.value)}" for bar in bars[:-1])
    description = f"{described}; in all {bars[-1].label} {signed(bars[-1].value)}."
    return picture(*size, *_marks(needed, len(bars), scale), *rows, title=title, description=description)


def _scale(bars: list[WaterfallBar], needed: list[float]) -> Scale:
    """Axis scale with room for all sums, for zero, and for the border of the decision."""
    sums = [0.0, *needed, *(bar.start for bar in bars), *(bar.start + bar.value for bar in bars)]
    left = max(width_of(bar.label) for bar in bars) + 12
    low = min(*sums, max(sums) - LEAST)
    return Scale(left, low, BARS / (max(sums) - low))


def _row(bar: WaterfallBar, row: int, scale: Scale) -> Iterator[str]:
    ends = sorted([scale.at(bar.start), scale.at(bar.start + bar.value)])
    top, base = 4 + row * ROW, 4 + row * ROW + 0.5 * ROW + FONT / 3
    shape = {"x": ends[0], "y": top + 3, "width": max(1.0, ends[1] - ends[0]), "height": ROW - 6}
    named = {"class": "nsed-part", "data-name": bar.label, "data-kind": bar.kind, "data-value": repr(bar.value)}
    paint = {"fill": COLOURS.get(bar.kind, "currentColor"), "fill-opacity": 0.8}
    yield write(scale.left - 8, base, bar.label, anchor="end")
    yield tag("rect", {**shape, **named, **paint}, tag("title", {}, words(f"{bar.meaning}: {signed(bar.value)}")))
    yield write(scale.left + BARS + 70, base, signed(bar.value), anchor="end", size=12)


def _marks(needed: float | None, rows: int, scale: Scale) -> Iterator[str]:
    """Reference lines at zero and, for a Matcher, where matches begin."""
    bottom = 6 + rows * ROW
    yield _line(scale.at(0.0), bottom, dashed=False)
    if needed is not None:
        x = scale.at(needed)
        yield _line(x, bottom, dashed=True)
        anchor = "start" if x < scale.left + 0.25 * BARS else "end" if x > scale.left + 0.75 * BARS else "middle"
        yield write(x, bottom + 15, f"match from {signed(needed)}", size=11, anchor=anchor)


def _line(x: float, bottom: float, *, dashed: bool) -> str:
    shape = {"x1": x, "x2": x, "y1": 2, "y2": bottom, "stroke": "currentColor", "stroke-opacity": 0.6}
    return tag("line", {**shape, "stroke-dasharray": "4 3"} if dashed else shape)


def _meaning(part: Contribution) -> str:
    return part.meaning if part.edit is None else f"{part.meaning}, probability {percent(part.edit.probability)}"
