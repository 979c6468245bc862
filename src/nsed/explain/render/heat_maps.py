"""Heat maps: the alpha table with the best path, posteriors of which symbol became which, and tables over symbols."""

from collections.abc import Sequence
from math import exp, log10

import numpy as np
from jaxtyping import Float

from nsed.explain.explanation import Evidence
from nsed.explain.render.grid import Cell, Grid
from nsed.explain.render.numbers import nats, percent, short
from nsed.explain.render.svg import COLOURS
from nsed.explain.render.text import word
from nsed.text.visible import drawn
from nsed.types import REACHABLE

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
