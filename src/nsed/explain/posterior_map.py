"""Which symbol became which: posteriors of substitutions, deletions and insertions as a heat map."""

from nsed.explain.as_text import word
from nsed.explain.evidence import Evidence
from nsed.explain.grid import Cell, Grid
from nsed.explain.svg import COLOURS
from nsed.text.visible import drawn

DELETED, INSERTED = "− deleted", "+ inserted"


def posterior_grid(evidence: Evidence) -> Grid:
    """A row per source symbol and one for insertions, a column per target symbol and one for deletions."""
    substitute, deleted = evidence.substitute[1:, 1:], evidence.delete[1:].sum(1)
    inserted = evidence.insert[:, 1:].sum(0)
    rows = [[*row, gone] for row, gone in zip(substitute.tolist(), deleted.tolist(), strict=True)]
    labels = [*map(drawn, evidence.source), INSERTED], [*map(drawn, evidence.target), DELETED]
    cells = [
        [_cell(value, name, column) for value, column in zip(row, labels[1], strict=True)]
        for row, name in zip(rows, labels[0], strict=False)
    ]
    last = [*(_cell(value, INSERTED, name) for value, name in zip(inserted.tolist(), labels[1], strict=False))]
    return Grid(
        title=f"operations between {word(evidence.source)} and {word(evidence.target)}",
        description=(
            "Probability that each source symbol (row) became each target symbol (column), was deleted (last column), "
            "and that each target symbol was inserted (last row). Rows and columns of symbols sum to one."
        ),
        rows=labels[0],
        columns=labels[1],
        cells=[*cells, last],
        colour=COLOURS["replace"],
    )


def _cell(probability: float, row: str, column: str) -> Cell:
    text = f"{probability:.0%}" if probability >= 0.005 else ""
    return Cell(min(1.0, probability), text, f"{row}, {column}: {probability:.1%}", probability)
