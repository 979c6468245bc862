"""How probabilities are distributed, as a picture."""

from collections.abc import Iterable

import numpy as np

from nsed.explain.numbers import percent
from nsed.explain.svg import picture, tag, words, write

BINS = 20
WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 320.0, 150.0, 44.0, 14.0, 124.0


def histogram(probabilities: Iterable[float], *, title: str) -> str:
    """Bars, one for every twentieth between 0 and 1.

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
