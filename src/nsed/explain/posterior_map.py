"""Which symbol became which: posteriors of substitutions, deletions and insertions as a heat map."""

from nsed.explain.as_text import word
from nsed.explain.evidence import Evidence
from nsed.explain.grid import Cell, Grid
from nsed.explain.numbers import percent
from nsed.explain.svg import COLOURS
from nsed.text.visible import drawn

DELETED, INSERTED = "−del", "+ins"


def posterior_grid(evidence: Evidence) -> Grid:
    """A row per source symbol and one for insertions, a column per target symbol and one for deletions."""
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
            [_cell(share, f"{name} inserted", "insert") for share, name in zip(inserted, targets, strict=True)],
        ],
    )


def _row(evidence: Evidence, i: int, targets: list[str]) -> list[Cell]:
    """What became of source symbol number i, from 1."""
    source, shares = drawn(evidence.source[i - 1]), evidence.substitute[i, 1:].tolist()
    cells = [
        _cell(share, f"{source} → {target}", "equal" if source == target else "replace")
        for share, target in zip(shares, targets, strict=True)
    ]
    return [*cells, _cell(float(evidence.delete[i].sum()), f"{source} deleted", "delete")]


def _cell(probability: float, meaning: str, kind: str) -> Cell:
    text = percent(probability, 0) if probability >= 0.005 else ""
    return Cell(min(1.0, probability), text, f"{meaning}: {percent(probability)}", probability, COLOURS[kind])
