"""Heat maps as SVG: the alpha table with the best path, posteriors of symbol pairs, and tables over symbols."""

from collections.abc import Iterator, Sequence
from math import exp, log10
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from nsed.explain.explanation import Evidence
from nsed.explain.render.markup import COLOURS, FONT, picture, tag, width_of, words, write
from nsed.explain.render.text import nats, percent, short, word
from nsed.text.visible import drawn
from nsed.types import REACHABLE

LARGE = 24
"""Large table limit: those with more columns or rows have smaller cells, without numbers."""

SOLID = 0.65
"""Maximum opacity: the darkest shade still lets letters be read, black ones and white ones."""


class Cell(NamedTuple):
    """Heat map cell: how dark it is (0 to 1), what is written there, and its tooltip."""

    shade: float
    text: str
    title: str
    value: float
    colour: str = COLOURS["alpha"]


class Grid(NamedTuple):
    """Heat map: cells by row and column, with labels, and perhaps a path over them as (row, column)."""

    title: str
    description: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Sequence[Sequence[Cell]]
    path: Sequence[tuple[int, int]] = ()


class Measures(NamedTuple):
    """Layout of a drawing: margins left and above, and the size of the cells."""

    left: float
    top: float
    width: float
    height: float

    def middle(self, row: int, column: int) -> tuple[float, float]:
        """Path point in a cell: left of its text, and below it."""
        return self.left + (column + 0.3) * self.width, self.top + (row + 0.68) * self.height


def grid_svg(grid: Grid) -> str:
    """SVG of a heat map."""
    sizes = measures_of(grid)
    width = sizes.left + sizes.width * len(grid.columns) + 8
    height = sizes.top + sizes.height * len(grid.rows) + 8
    children = [*_labels(grid, sizes), *_cells(grid, sizes), *_path(grid, sizes)]
    return picture(width, height, *children, title=grid.title, description=grid.description)


def measures_of(grid: Grid) -> Measures:
    """Layout with room for the longest labels."""
    large = max(len(grid.rows), len(grid.columns)) > LARGE
    widest = max(map(width_of, grid.columns), default=0.0) + 8
    left = max(map(width_of, grid.rows), default=0.0) + 14
    return Measures(left, 26.0, max(18.0 if large else 42.0, widest), 18.0 if large else 32.0)


def _labels(grid: Grid, sizes: Measures) -> Iterator[str]:
    for column, label in enumerate(grid.columns):
        yield write(sizes.left + (column + 0.5) * sizes.width, sizes.top - 8, label)
    for row, label in enumerate(grid.rows):
        yield write(sizes.left - 7, sizes.top + (row + 0.5) * sizes.height + FONT / 3, label, anchor="end")


def _cells(grid: Grid, sizes: Measures) -> Iterator[str]:
    for row, cells in enumerate(grid.cells):
        for column, cell in enumerate(cells):
            x, y = sizes.left + column * sizes.width, sizes.top + row * sizes.height
            shape = {"x": x, "y": y, "width": sizes.width, "height": sizes.height}
            paint = {"fill": cell.colour, "fill-opacity": SOLID * cell.shade, "stroke": "currentColor"}
            place = {"stroke-opacity": 0.15, "data-row": row, "data-column": column, "data-value": repr(cell.value)}
            yield tag("rect", {**shape, **paint, **place}, tag("title", {}, words(cell.title)))
            if sizes.height > 20 and cell.text:
                yield write(x + sizes.width - 4, y + 13, cell.text, size=10, anchor="end")


def _path(grid: Grid, sizes: Measures) -> Iterator[str]:
    points = [sizes.middle(*place) for place in grid.path]
    if not points:
        return
    line = {"points": " ".join(f"{x:.1f},{y:.1f}" for x, y in points), "class": "nsed-path", "fill": "none"}
    yield tag("polyline", {**line, "stroke": "currentColor", "stroke-width": 2, "stroke-opacity": 0.8})
    for x, y in points:
        yield tag("circle", {"cx": x, "cy": y, "r": 3})


START = "⊢"
"""Edge label of the row and the column before the first symbol."""


def alpha_grid(evidence: Evidence) -> Grid:
    """Heat map of alpha: the probability of each pair of prefixes, dark for 1, fading with its logarithm.

    Paper: Figure "Visualization of the alpha table", there of a unigram model on cognates, without the path.
    """
    decades = max(2.0, -1.25 * log10(max(exp(max(-600.0, float(evidence.log_alpha[-1, -1]))), 1e-260)))
    return Grid(
        title=f"alpha table of {word(evidence.source)} and {word(evidence.target)}",
        description=(
            f"Rows: source symbols read; columns: target symbols written. Dark means probable: 1 is darkest, "
            f"1e-{decades:.0f} is blank. The line is the best path: {evidence.script.to_text() or 'nothing to do'}."
        ),
        rows=[START, *map(drawn, evidence.source)],
        columns=[START, *map(drawn, evidence.target)],
        cells=[
            [_cell(value, i, j, decades) for j, value in enumerate(row)]
            for i, row in enumerate(evidence.log_alpha.tolist())
        ],
        path=best_path(evidence),
    )


def best_path(evidence: Evidence) -> list[tuple[int, int]]:
    """Viterbi path: the cells of the best script, from (0, 0) on."""
    ends = [(edit.i + (edit.kind != "insert"), edit.j + (edit.kind != "delete")) for edit in evidence.script]
    return [(0, 0), *ends]


def _cell(log_alpha: float, i: int, j: int, decades: float) -> Cell:
    if log_alpha <= REACHABLE:
        return Cell(0.0, "", f"({i}, {j}): impossible", log_alpha)
    shade = max(0.0, min(1.0, 1 + log_alpha / 2.302585 / decades))
    return Cell(shade, short(log_alpha) if shade else "", f"({i}, {j}): log alpha {nats(log_alpha)}", log_alpha)


DELETED, INSERTED = "−del", "+ins"


def posterior_grid(evidence: Evidence) -> Grid:
    """Heat map of posteriors: rows for source symbols and insertions, columns for target symbols and deletions."""
    sources, targets = list(map(drawn, evidence.source)), list(map(drawn, evidence.target))
    inserted = evidence.insert[:, 1:].sum(0).tolist()
    return Grid(
        title=f"operations between {word(evidence.source)} and {word(evidence.target)}",
        description=(
            "Probability that each source symbol (row) became each target symbol (column), was deleted (last column), "
            "and that each target symbol was inserted (last row). Rows and columns of symbols sum to one."
        ),
        rows=[*sources, INSERTED],
        columns=[*targets, DELETED],
        cells=[
            *(_row(evidence, i, targets) for i in range(1, len(sources) + 1)),
            [
                _posterior_cell(share, f"{name} inserted", "insert")
                for share, name in zip(inserted, targets, strict=True)
            ],
        ],
    )


def _row(evidence: Evidence, i: int, targets: list[str]) -> list[Cell]:
    """Heat map row: what became of source symbol number i, from 1."""
    source, shares = drawn(evidence.source[i - 1]), evidence.substitute[i, 1:].tolist()
    cells = [
        _posterior_cell(share, f"{source} → {target}", "equal" if source == target else "replace")
        for share, target in zip(shares, targets, strict=True)
    ]
    return [*cells, _posterior_cell(float(evidence.delete[i].sum()), f"{source} deleted", "delete")]


def _posterior_cell(probability: float, meaning: str, kind: str) -> Cell:
    text = percent(probability, 0) if probability >= 0.005 else ""
    return Cell(min(1.0, probability), text, f"{meaning}: {percent(probability)}", probability, COLOURS[kind])


Matrix = Float[np.ndarray, "rows columns"]


def confusion_grid(counts: Matrix, rows: Sequence[str], columns: Sequence[str]) -> Grid:
    """Confusion matrix of substitution counts; each row is shaded by shares of what a source symbol becomes."""
    sums = counts.sum(1, keepdims=True)
    shares = np.divide(counts, sums, out=np.zeros_like(counts, dtype=float), where=sums > 0)
    cells = [
        [_count(counts[i, j], shares[i, j], f"{drawn(row)} → {drawn(column)}") for j, column in enumerate(columns)]
        for i, row in enumerate(rows)
    ]
    description = "Rows: source symbols; columns: target symbols; numbers: how often. A row's shades show its shares."
    return _grid("substitutions", description, rows, columns, cells)


def operation_grid(log_weights: Matrix, rows: Sequence[str], columns: Sequence[str]) -> Grid:
    """Heat map of operation log-weights on pairs of symbols, as probabilities; rows and columns of any labels."""
    cells = [
        [_weight(value, f"{drawn(row)} → {drawn(column)}") for value, column in zip(values, columns, strict=True)]
        for values, row in zip(log_weights.tolist(), rows, strict=True)
    ]
    description = "Rows: source symbols; columns: target symbols; numbers: probability of the operation."
    return _grid("operations", description, rows, columns, cells)


def _grid(
    title: str, description: str, rows: Sequence[str], columns: Sequence[str], cells: Sequence[Sequence[Cell]]
) -> Grid:
    labels = list(map(drawn, rows)), list(map(drawn, columns))
    return Grid(title, description, *labels, cells)


def _count(count: float, share: float, name: str) -> Cell:
    title = f"{name}: {count:g}, {percent(share)} of the row"
    return Cell(float(share), f"{count:g}" if count else "", title, float(count), COLOURS["replace"])


def _weight(log_weight: float, name: str) -> Cell:
    shade = float(np.exp(min(0.0, log_weight)))
    text = short(log_weight) if shade >= 0.005 else ""
    return Cell(shade, text, f"{name}: {shade:.3g}", log_weight, COLOURS["replace"])
