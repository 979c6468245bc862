"""Heat map of a table: what is to be drawn, and the drawing as SVG."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nsed.explain.render.svg import COLOURS, FONT, picture, tag, width_of, words, write

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
