"""Figures of the paper as SVG, from records alone: the lattice, tables of alpha, and charts."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle
from math import ceil, floor, log10
from typing import Any, NamedTuple

import numpy as np

from nsed.explain.explanation import Evidence
from nsed.explain.render.heat_maps import alpha_grid, grid_svg
from nsed.explain.render.markup import picture, tag, words, write
from nsed.explain.render.pictures import lattice_svg
from nsed.reproduce.grid import TableCell
from nsed.reproduce.measure import BEAM
from nsed.reproduce.records import RunRecord
from nsed.text import Edit, EditScript

WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 560.0, 320.0, 56.0, 30.0, 160.0, 44.0
"""Of a chart, and its margins."""
PAINTS = ("#3b74c9", "#2e9e5b", "#d9921a", "#9a5fc4", "#c24a4a", "#2a9aa8", "#8a8f98")
DASHES = ("", "6 3", "2 3")
"""Of lines: colour is not the only sign."""

Point = tuple[float, float]
CellRecords = Sequence[tuple[TableCell, Sequence[RunRecord]]]
"""Cells of a figure, with the records that it is drawn from."""


class Chart(NamedTuple):
    """Line chart: named lines of points."""

    title: str
    across: str
    up: str
    lines: Mapping[str, Sequence[Point]]
    logarithmic: bool = False
    """Whether the axis across is."""


def figures(place: str, cells: CellRecords) -> dict[str, str]:
    """SVG pictures of a figure by name, as far as there are records."""
    return {f"{place}-{name}".removesuffix("-"): svg for name, svg in DRAWN[place](cells)}


def scheme(cells: CellRecords) -> Iterator[tuple[str, str]]:
    """Figure 1: the lattice of a pair, with what was learned."""
    for _, records in cells:
        for kept in list(_kept(records))[1:2]:
            yield "", lattice_svg(evidence_from(kept))


def alpha_tables(cells: CellRecords) -> Iterator[tuple[str, str]]:
    """Figure 2: alpha of three pairs of each task, without and with the interpretability loss."""
    for cell, records in cells:
        loss = "with" if "interpretable" in cell.run.variants else "without"
        for number, kept in enumerate(list(_kept(records))[:3], start=1):
            yield f"{cell.run.dataset}-{loss}-{number}", grid_svg(alpha_grid(evidence_from(kept)))


def _kept(records: Sequence[RunRecord]) -> Iterator[Mapping[str, Any]]:
    """Evidence of the first record that has some."""
    yield from next((record.evidence for record in records if record.evidence), ())


def evidence_from(kept: Mapping[str, Any]) -> Evidence:
    """Evidence as a record keeps it, see `measure.evidence_of`; what pictures do not show is empty."""
    alpha, delete, insert, substitute = (
        np.array(kept[name], dtype=np.float64) for name in ("log_alpha", "delete", "insert", "substitute")
    )
    script = EditScript(tuple(Edit(*edit) for edit in kept["script"]))
    source, target = tuple(kept["source"]), tuple(kept["target"])
    beta = np.zeros_like(alpha)
    return Evidence(source, target, (script,), float(alpha[-1, -1]), 0.0, alpha, beta, delete, insert, substitute)


def by_size(cells: CellRecords) -> Iterator[tuple[str, str]]:
    """Figure 3: CER of Arabic by training pairs, and by dimensions; means over seeds."""
    for unit in ("pairs", "dimensions"):
        lines: dict[str, list[Point]] = {}
        for cell, records in cells:
            number, _, of = cell.column.partition(" ")
            if of == unit and records:
                error = float(np.mean([record.test["cer"] for record in records]))
                lines[cell.row] = sorted([*lines.get(cell.row, []), (float(number), 100 * error)])
        if any(len(line) > 1 for line in lines.values()):
            yield unit, chart_svg(Chart(f"Arabic to English, by {unit}", unit, "CER %", lines, logarithmic=True))


def by_search(cells: CellRecords) -> Iterator[tuple[str, str]]:
    """Figure 4: CER and WER on validation by beam, and by length normalisation; without rates above 100 %."""
    for axis, name, title in ((0, "beam", "beam"), (1, "length", "length normalisation, beam 5")):
        for error, rate in ((2, "cer"), (3, "wer")):
            lines = {cell.row: _slice(_tried(records), axis, error) for cell, records in cells}
            lines = {row: points for row, points in lines.items() if points}
            if lines:
                shown = Chart(f"CMUDict, validation, by {title}", title, f"{rate.upper()} %", lines)
                yield f"{name}-{rate}", chart_svg(shown)


def _tried(records: Sequence[RunRecord]) -> Sequence[Sequence[float]]:
    """What the first record that has it tells of beams and penalties."""
    return next((record.decoding for record in records if record.decoding), ())


def _slice(decoding: Sequence[Sequence[float]], axis: int, error: int) -> list[Point]:
    """Points along one axis, beam (without a penalty) or penalty (with one beam)."""
    own = [row for row in decoding if (row[0] == BEAM if axis else row[1] == 0)]
    return sorted((float(row[axis]), 100 * row[error]) for row in own if row[error] <= 1)


def curves(cells: CellRecords) -> Iterator[tuple[str, str]]:
    """Figure 5: learning curves, the metric of validation by update, of each data set."""
    for dataset in dict.fromkeys(cell.run.dataset for cell, _ in cells):
        own = [(cell.row, records[0]) for cell, records in cells if records and cell.run.dataset == dataset]
        lines = {
            row: [(float(step), 100 * figure) for step, _, figure in record.training["curve"]] for row, record in own
        }
        if lines:
            metric = "F1 %" if dataset.startswith("cognates") else "greedy WER %"
            yield dataset, chart_svg(Chart(f"{dataset}, validation", "updates", metric, lines))


DRAWN: Mapping[str, Callable[[CellRecords], Iterator[tuple[str, str]]]] = {
    "figure1": scheme,
    "figure2": alpha_tables,
    "figure3": by_size,
    "figure4": by_search,
    "figure5": curves,
}


def chart_svg(chart: Chart) -> str:
    """SVG of a line chart, with a legend on its right.

    >>> chart_svg(Chart("errors", "beam", "%", {"a": [(1.0, 5.0), (2.0, 3.0)]})).count("<polyline")
    1
    """
    points = [point for line in chart.lines.values() for point in line]
    axes = Axes.around(points, logarithmic=chart.logarithmic)
    styles = zip(chart.lines.items(), cycle(PAINTS), cycle(dash for dash in DASHES for _ in PAINTS), strict=False)
    drawn = [part for place, style in enumerate(styles) for part in _line(axes, place, *style[0], *style[1:])]
    names = write(LEFT, TOP - 12, f"{chart.title}: {chart.up}", anchor="start") + write(
        WIDTH - RIGHT, HEIGHT - 6, chart.across, anchor="end"
    )
    description = f"{chart.up} by {chart.across}: {', '.join(chart.lines)}."
    return picture(WIDTH, HEIGHT, *_ticks(axes), *drawn, names, title=chart.title, description=description)


class Axes(NamedTuple):
    """Where values are: the ends of both axes."""

    x: Point
    y: Point
    across: Sequence[float]
    """Values across that have a number."""
    logarithmic: bool

    @classmethod
    def around(cls, points: Sequence[Point], *, logarithmic: bool) -> "Axes":
        """Axes that hold all points; the one up begins at zero unless all is far above it."""
        xs, ys = zip(*points, strict=True)
        rows = round_numbers(0.0 if min(ys) < max(ys) / 2 else min(ys), max(ys))
        columns = sorted(set(xs)) if logarithmic else round_numbers(min(0.0, *xs), max(xs))
        return cls((columns[0], max(columns[-1], columns[0] + 1)), (rows[0], rows[-1]), columns, logarithmic)

    def at(self, point: Point) -> Point:
        """Where a point is drawn."""
        low, high, value = (log10(one) if self.logarithmic else one for one in (*self.x, point[0]))
        across, up = (value - low) / (high - low), (point[1] - self.y[0]) / max(self.y[1] - self.y[0], 1e-9)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)


def round_numbers(low: float, high: float) -> list[float]:
    """Four to eight round numbers around a range.

    >>> round_numbers(3.0, 94.0)
    [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]
    """
    rough = max(high - low, 1e-6) / 5
    power = 10.0 ** floor(log10(rough))
    step = power * min((1, 2, 5, 10), key=lambda part: abs(part * power - rough))
    return [step * part for part in range(floor(low / step), ceil(high / step) + 1)]


def _ticks(axes: Axes) -> Iterator[str]:
    """Lines of the grid with their numbers."""
    for value in round_numbers(*axes.y):
        _, y = axes.at((axes.x[0], value))
        line = {"x1": LEFT, "x2": WIDTH - RIGHT, "y1": y, "y2": y, "stroke": "currentColor", "stroke-opacity": 0.15}
        yield tag("line", line) + write(LEFT - 8, y + 4, f"{value:g}", anchor="end", size=11)
    for value in axes.across:
        yield write(axes.at((value, axes.y[0]))[0], HEIGHT - BOTTOM + 16, f"{value:g}", size=11)


def _line(axes: Axes, place: int, name: str, line: Sequence[Point], paint: str, dash: str) -> Iterator[str]:
    """A line with its dots and its place in the legend."""
    places = [axes.at(point) for point in line]
    stroke = {"stroke": paint, "stroke-width": 1.8, "stroke-dasharray": dash or "none", "fill": "none"}
    yield tag("polyline", {"points": " ".join(f"{x:.1f},{y:.1f}" for x, y in places), **stroke})
    if len(line) <= 12:
        for (x, y), value in zip(places, line, strict=True):
            shown = tag("title", {}, words(f"{name}: {value[0]:g}, {value[1]:.1f}"))
            yield tag("circle", {"cx": x, "cy": y, "r": 2.5, "fill": paint}, shown)
    y = TOP + 12 + 20 * place
    yield tag("line", {"x1": WIDTH - RIGHT + 12, "x2": WIDTH - RIGHT + 34, "y1": y, "y2": y, **stroke})
    yield write(WIDTH - RIGHT + 40, y + 4, name, anchor="start", size=11)
