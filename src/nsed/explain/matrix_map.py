"""Tables over symbols: how often each was substituted by each, or what a model without context thinks of each pair."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from nsed.explain.grid import Cell, Grid
from nsed.explain.numbers import percent, short
from nsed.explain.svg import COLOURS
from nsed.text.visible import drawn

Matrix = Float[np.ndarray, "rows columns"]


def confusion_grid(counts: Matrix, rows: Sequence[str], columns: Sequence[str]) -> Grid:
    """Counts of substitutions, each row shaded by its own sum, as shares of what a source symbol becomes."""
    sums = counts.sum(1, keepdims=True)
    shares = np.divide(counts, sums, out=np.zeros_like(counts, dtype=float), where=sums > 0)
    cells = [
        [_count(counts[i, j], shares[i, j], f"{drawn(row)} → {drawn(column)}") for j, column in enumerate(columns)]
        for i, row in enumerate(rows)
    ]
    description = "Rows: source symbols; columns: target symbols; numbers: how often. A row's shades show its shares."
    return _grid("substitutions", description, rows, columns, cells)


def operation_grid(log_weights: Matrix, rows: Sequence[str], columns: Sequence[str]) -> Grid:
    """Log-weights of operations on pairs of symbols, as probabilities; rows and columns of any labels."""
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
