"""The alpha table as a heat map, with the best path drawn over it."""

from math import exp, log10

from nsed.explain.as_text import word
from nsed.explain.evidence import Evidence
from nsed.explain.grid import Cell, Grid
from nsed.explain.numbers import nats, short
from nsed.text.visible import drawn
from nsed.types import REACHABLE

START = "⊢"
"""The label of the row and the column before the first symbol."""


def alpha_grid(evidence: Evidence) -> Grid:
    """Probability of each pair of prefixes, dark for 1, fading with its logarithm.

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
    """The cells of the best script, from (0, 0) on."""
    ends = [(edit.i + (edit.kind != "insert"), edit.j + (edit.kind != "delete")) for edit in evidence.script]
    return [(0, 0), *ends]


def _cell(log_alpha: float, i: int, j: int, decades: float) -> Cell:
    if log_alpha <= REACHABLE:
        return Cell(0.0, "", f"({i}, {j}): impossible", log_alpha)
    shade = max(0.0, min(1.0, 1 + log_alpha / 2.302585 / decades))
    return Cell(shade, short(log_alpha) if shade else "", f"({i}, {j}): log alpha {nats(log_alpha)}", log_alpha)
