"""Pictures of an explanation by name: as SVG, and drawn by matplotlib (extra `viz`) as PNG, PDF and others."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nsed.errors import ArgumentError, NsedError, UnknownNameError
from nsed.explain.explanation import Evidence
from nsed.explain.render.heat_maps import LARGE, SOLID, Grid, alpha_grid, grid_svg, posterior_grid
from nsed.explain.render.lattice_picture import FAINT, arcs_of, lattice_svg
from nsed.explain.render.markup import COLOURS
from nsed.explain.render.numbers import percent, signed
from nsed.explain.render.waterfall import bars_of, waterfall_svg
from nsed.text.visible import drawn, unisolated

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
