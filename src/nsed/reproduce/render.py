"""Tables as Markdown, from the grid and from records alone: the paper's figures beside ours."""

from collections.abc import Mapping, Sequence
from statistics import mean, stdev

from nsed.reproduce.grid import PaperFigure, TableCell
from nsed.reproduce.records import RunRecord

TITLES = {
    1: "Cognate detection, F1 on test",
    2: "Ablation of the losses, cognate detection, F1",
    3: "Transduction, CER / WER / alignment F1 on test",
    4: "Ablation of the losses, transliteration, CER / WER",
    5: "Edit scripts of the RNN Transducer",
    6: "Cognate detection, F1 on validation",
    7: "Transduction, CER / WER on validation",
}
EMPTY = "·"
"""A cell without a record."""

Records = Mapping[str, Sequence[RunRecord]]


def render_tables(cells: Sequence[TableCell], records: Records) -> str:
    """All tables that cells are of, one below the other."""
    tables = dict.fromkeys(cell.table for cell in cells)
    shown = [render_table([cell for cell in cells if cell.table == table], records) for table in tables]
    return "\n".join([*shown, _cost({cell.run.name for cell in cells}, records)])


def _cost(runs: set[str], records: Records) -> str:
    """How many runs there are of those wanted, and their time; those that ran side by side waited for each other."""
    done = [record for run in runs for record in records.get(run, ())]
    hours = sum(record.seconds for record in done) / 3600
    missing = f"{sum(not records.get(run) for run in runs)} of {len(runs)} runs have no record"
    return f"{len(done)} records, {hours:.2f} hours of all runs together; {missing}.\n"


def render_table(cells: Sequence[TableCell], records: Records) -> str:
    """A table: a row for each of the paper's, and for each column the paper's figures and ours."""
    columns, rows = list(dict.fromkeys(cell.column for cell in cells)), dict.fromkeys(cell.row for cell in cells)
    found = {(cell.row, cell.column): cell for cell in cells}
    heads = ["", "parameters (M)", *(f"{column}: {whose}" for column in columns for whose in ("paper", "ours"))]
    lines = [f"## Table {cells[0].table}: {TITLES[cells[0].table]}", "", _line(heads), _line(["---"] * len(heads))]
    for row in rows:
        own = [found.get((row, column)) for column in columns]
        texts = [text for cell in own for text in _both(cell, records)]
        lines.append(_line([row, _sizes([cell for cell in own if cell], records), *texts]))
    return "\n".join([*lines, ""])


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _both(cell: TableCell | None, records: Records) -> tuple[str, str]:
    if cell is None:
        return "---", "---"
    ours = records.get(cell.run.name, ())
    paper = " / ".join(map(str, cell.paper.values())) or "see there"
    return paper, _ours(cell, ours) if ours else EMPTY


def _ours(cell: TableCell, records: Sequence[RunRecord]) -> str:
    if cell.part == "script":
        return records[0].scripts.get(cell.row, EMPTY)
    parts = [record.test if cell.part == "test" else record.validation for record in records]
    figures = [_figure([part[name] for part in parts if name in part]) for name in cell.paper]
    late = sum(record.training.get("ended") == "time" for record in records)
    notes = [f"n = {len(records)}"] if len(records) > 1 else []
    notes += [f"{late} cut by time"] if late else []
    return " / ".join(figures) + (f" ({', '.join(notes)})" if notes else "")


def _figure(shares: Sequence[float]) -> str:
    if not shares:
        return EMPTY
    percent = [100 * share for share in shares]
    return str(PaperFigure(mean(percent), stdev(percent) if len(percent) > 1 else None))


def _sizes(cells: Sequence[TableCell], records: Records) -> str:
    """The paper's size, and ours on each data set."""
    paper = next((f"{cell.parameters}" for cell in cells if cell.parameters), "")
    ours = [records[cell.run.name][0].parameters for cell in cells if records.get(cell.run.name)]
    shown = ", ".join(dict.fromkeys(f"{count / 1e6:.2f}" for count in ours))
    return f"{paper} / {shown}" if paper and shown else paper or shown
