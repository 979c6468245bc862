"""Lattice drawing as SVG: cells as dots, arcs as strong as they are probable."""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from nsed.explain.explanation import Evidence
from nsed.explain.render.heat_maps import best_path
from nsed.explain.render.markup import COLOURS, FONT, picture, tag, width_of, words, write
from nsed.explain.render.numbers import percent
from nsed.explain.render.text import word
from nsed.text import Edit
from nsed.text.edit_script import EditKind
from nsed.text.visible import drawn

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
