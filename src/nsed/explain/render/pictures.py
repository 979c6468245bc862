"""Pictures of an explanation by name: as SVG, and drawn by matplotlib (extra `viz`) as PNG, PDF and others.

The lattice: cells as dots, arcs as strong as they are probable. The waterfall chart: how the contributions to a score
add up to it. Heat maps of alpha and posteriors are in `heat_maps.py`.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from nsed.errors import ArgumentError, NsedError, UnknownNameError
from nsed.explain.decision import Contribution
from nsed.explain.explanation import Evidence
from nsed.explain.render.heat_maps import LARGE, SOLID, Grid, alpha_grid, best_path, grid_svg, posterior_grid
from nsed.explain.render.markup import COLOURS, FONT, picture, tag, width_of, words, write
from nsed.explain.render.text import percent, signed, word
from nsed.text import Edit
from nsed.text.edit_script import EditKind
from nsed.text.visible import drawn, unisolated

STEP_X, STEP_Y, TOP = 62.0, 52.0, 42.0
FAINT = 0.005
"""Faint arc threshold: those that are less probable are thin grey lines."""


class Arc(NamedTuple):
    """Lattice arc between two cells, its operation with its posterior, and whether the best script uses it."""

    start: tuple[int, int]
    end: tuple[int, int]
    edit: Edit
    best: bool


def arcs_of(evidence: Evidence) -> Iterator[Arc]:
    """Lattice arcs, the less probable ones first, so that the others are drawn over them."""
    path = best_path(evidence)
    used = set(pairwise(path))
    arcs = [
        Arc(start, (i, j), edit, (start, (i, j)) in used)
        for i in range(len(evidence.source) + 1)
        for j in range(len(evidence.target) + 1)
        for start, edit in _into(evidence, i, j)
    ]
    return iter(sorted(arcs, key=lambda arc: arc.edit.probability))


def lattice_svg(evidence: Evidence) -> str:
    """SVG of the lattice. Paper: Figure "scheme", its bottom right part, with what was learned."""
    left = max(map(width_of, map(drawn, evidence.source)), default=0.0) + 34
    width, height = left + STEP_X * len(evidence.target) + 34, TOP + STEP_Y * len(evidence.source) + 44
    arcs = list(arcs_of(evidence))
    children = [
        *(_arc(arc, left) for arc in arcs),
        *(_share(arc, left) for arc in arcs if 0.05 <= arc.edit.probability < 0.995),
        *_cells(evidence, left),
        *_labels(evidence, left),
        write(left - 8, height - 10, "↓ delete   → insert   ↘ substitute", anchor="start", size=11, faint=True),
    ]
    return picture(
        max(width, left + 190),
        height,
        *children,
        title=f"lattice of {word(evidence.source)} and {word(evidence.target)}",
        description=(
            "Down: delete; right: insert; diagonal: substitute. Arcs are as thick as they are probable; those of the "
            f"best script have a thin line inside: {evidence.script.to_text() or 'nothing to do'}."
        ),
    )


def _into(evidence: Evidence, i: int, j: int) -> Iterator[tuple[tuple[int, int], Edit]]:
    kinds: tuple[tuple[EditKind, int, int], ...] = (("delete", 1, 0), ("insert", 0, 1), ("substitute", 1, 1))
    for kind, reads, writes in kinds:
        if i >= reads and j >= writes:
            source = evidence.source[i - 1] if reads else ""
            target = evidence.target[j - 1] if writes else ""
            probability = float(getattr(evidence, kind)[i, j])
            yield (i - reads, j - writes), Edit(kind, source, target, i - reads, j - writes, probability)


def _at(cell: tuple[int, int], left: float) -> tuple[float, float]:
    return left + STEP_X * cell[1], TOP + STEP_Y * cell[0]


def _arc(arc: Arc, left: float) -> str:
    (x1, y1), (x2, y2), share = _at(arc.start, left), _at(arc.end, left), arc.edit.probability
    faint = share < FAINT
    line = {"x1": x1, "y1": y1, "x2": x2, "y2": y2, "stroke-linecap": "round"}
    paint = {"stroke": "currentColor", "stroke-width": 0.7, "stroke-opacity": 0.16}
    if not faint:
        paint = {"stroke": COLOURS[arc.edit.tag], "stroke-width": 1 + 6 * share, "stroke-opacity": 0.3 + 0.65 * share}
    facts = {
        "class": "nsed-arc",
        "data-kind": arc.edit.kind,
        "data-end": f"{arc.end[0]},{arc.end[1]}",
        "data-probability": repr(share),
        "data-best": str(arc.best).lower(),
    }
    shown = tag("line", {**line, **paint, **facts}, tag("title", {}, words(f"{arc.edit}: {percent(share)}")))
    inside = {**line, "stroke": "currentColor", "stroke-width": 1.2}
    return shown + tag("line", inside) if arc.best else shown


def _share(arc: Arc, left: float) -> str:
    (x1, y1), (x2, y2) = _at(arc.start, left), _at(arc.end, left)
    beside = {"delete": (16, 4), "insert": (0, -6), "substitute": (15, -3)}[arc.edit.kind]
    return write((x1 + x2) / 2 + beside[0], (y1 + y2) / 2 + beside[1], percent(arc.edit.probability, 0), size=9)


def _cells(evidence: Evidence, left: float) -> Iterator[str]:
    for i in range(len(evidence.source) + 1):
        for j in range(len(evidence.target) + 1):
            x, y = _at((i, j), left)
            yield tag("circle", {"cx": x, "cy": y, "r": 2.5})


def _labels(evidence: Evidence, left: float) -> Iterator[str]:
    for j, symbol in enumerate(evidence.target):
        yield write(left + STEP_X * (j + 0.5), TOP - 24, drawn(symbol))
    for i, symbol in enumerate(evidence.source):
        yield write(left - 12, TOP + STEP_Y * (i + 0.5) + FONT / 3, drawn(symbol), anchor="end")


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


GRIDS: Mapping[str, Callable[[Evidence], Grid]] = {"alpha": alpha_grid, "posteriors": posterior_grid}
PICTURES = (*GRIDS, "lattice", "waterfall")
"""Picture names."""


def check_picture(name: str) -> None:
    """Picture name check. Raises `UnknownNameError` for a picture that there is not."""
    if name not in PICTURES:
        raise UnknownNameError("picture", got=repr(name), expected=" | ".join(PICTURES))


def to_svg(evidence: Evidence, name: str) -> str:
    """SVG of one picture."""
    check_picture(name)
    if name in GRIDS:
        return grid_svg(GRIDS[name](evidence))
    return lattice_svg(evidence) if name == "lattice" else waterfall_svg(evidence)


def draw(evidence: Evidence, path: str | Path, *, picture: str = "alpha", ending: str | None = None) -> None:
    """Draw one picture of an explanation to a file; the ending says the format, by default that of its name."""
    check_picture(picture)
    if picture in GRIDS:
        return draw_grid(GRIDS[picture](evidence), path, ending=ending)
    figure = _figure(*_SIZES[picture](evidence))
    axes = figure.subplots()
    _DRAWERS[picture](axes, evidence)
    axes.spines[:].set_visible(False)
    return _save(figure, path, ending)


def draw_grid(grid: Grid, path: str | Path, *, ending: str | None = None) -> None:
    """Draw a heat map to a file: that of an explanation, or a table over symbols (`matrix_map`)."""
    figure = _figure(2.2 + 0.5 * len(grid.columns), 1.2 + 0.4 * len(grid.rows))
    axes = figure.subplots()
    colours = import_module("matplotlib.colors")
    large = max(len(grid.rows), len(grid.columns)) > LARGE
    for row, cells in enumerate(grid.cells):
        for column, cell in enumerate(cells):
            paint = (*colours.to_rgb(cell.colour), SOLID * cell.shade)
            axes.fill_between([column - 0.5, column + 0.5], row - 0.5, row + 0.5, facecolor=paint, edgecolor="0.85")
            axes.text(column + 0.45, row - 0.15, "" if large else cell.text, ha="right", fontsize=7)
    axes.plot([j - 0.2 for _, j in grid.path], [i + 0.18 for i, _ in grid.path], color="black", marker=".")
    axes.set_xticks(range(len(grid.columns)), grid.columns)
    axes.set_yticks(range(len(grid.rows)), grid.rows)
    axes.set(xlim=(-0.5, len(grid.columns) - 0.5), ylim=(len(grid.rows) - 0.5, -0.5))
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)
    axes.spines[:].set_visible(False)
    _save(figure, path, ending)


def _draw_waterfall(axes: Any, evidence: Evidence) -> None:
    bars = bars_of(evidence)
    for row, bar in enumerate(bars):
        axes.barh(row, bar.value, left=bar.start, color=COLOURS.get(bar.kind, "0.2"), height=0.7)
        axes.annotate(signed(bar.value), (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    axes.axvline(0, color="0.4", linewidth=1)
    if evidence.decision is not None:
        axes.axvline(evidence.decision.needed, color="0.4", linewidth=1, linestyle="--")
        axes.set_xlabel(f"match from {signed(evidence.decision.needed)} on (dashed)")
    axes.set_yticks(range(len(bars)), [unisolated(bar.label) for bar in bars])
    axes.invert_yaxis()


def _draw_lattice(axes: Any, evidence: Evidence) -> None:
    for arc in arcs_of(evidence):
        share, ends = arc.edit.probability, ((arc.start[1], arc.end[1]), (arc.start[0], arc.end[0]))
        colour, width = (COLOURS[arc.edit.tag], 1 + 5 * share) if share >= FAINT else ("0.5", 0.6)
        axes.plot(*ends, color=colour, linewidth=width, alpha=0.3 + 0.65 * share, solid_capstyle="round")
        if arc.best:
            axes.plot(*ends, color="black", linewidth=0.8, marker=".")
        if 0.05 <= share < 0.995:
            axes.text(sum(ends[0]) / 2 + 0.08, sum(ends[1]) / 2 - 0.06, percent(share, 0), fontsize=6)
    axes.set_xticks([j + 0.5 for j in range(len(evidence.target))], list(map(drawn, evidence.target)))
    axes.set_yticks([i + 0.5 for i in range(len(evidence.source))], list(map(drawn, evidence.source)))
    axes.set(xlim=(-0.3, len(evidence.target) + 0.3), ylim=(len(evidence.source) + 0.3, -0.3))
    axes.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False)


_DRAWERS: Mapping[str, Callable[[Any, Evidence], None]] = {"lattice": _draw_lattice, "waterfall": _draw_waterfall}
_SIZES: Mapping[str, Callable[[Evidence], tuple[float, float]]] = {
    "lattice": lambda one: (1.5 + 0.7 * len(one.target), 1.2 + 0.6 * len(one.source)),
    "waterfall": lambda one: (6.0, 1.2 + 0.25 * len(one.contributions)),
}


def _figure(width: float, height: float) -> Any:
    if find_spec("matplotlib") is None:
        raise NsedError("a picture as a file needs matplotlib: pip install with the extra viz, or take --format svg")
    return import_module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")


def _save(figure: Any, path: str | Path, ending: str | None) -> None:
    known = sorted(figure.canvas.get_supported_filetypes())
    kind = (Path(path).suffix if ending is None else ending).removeprefix(".").lower()
    if kind not in known:
        got = str(path) if ending is None else f"the ending {ending!r}"
        raise ArgumentError("path", got=got, expected=f"a file that ends with one of {', '.join(known)}")
    figure.savefig(path, dpi=150, format=kind)
