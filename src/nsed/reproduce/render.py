"""Tables and the page as Markdown, from the grid and from records alone: the paper's figures beside ours."""

from collections.abc import Mapping, Sequence
from importlib import resources
from math import isnan, sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from nsed.config import read_yaml
from nsed.explain.render.html import boxes
from nsed.reproduce.figures import evidence_from, figures
from nsed.reproduce.grid import FIGURES, READINGS, PaperFigure, TableCell, grid
from nsed.reproduce.records import RunRecord
from nsed.reproduce.runner import TIME

TITLES = {
    "table1": "Table 1: Cognate detection, F1 on test",
    "table2": "Table 2: Ablation of the losses, cognate detection, F1",
    "table3": "Table 3: Transduction, CER / WER / alignment F1 on test, as published [and scored rightly]",
    "table4": "Table 4: Ablation of the losses, transliteration, CER / WER",
    "table5": "Table 5: Edit scripts of the RNN Transducer",
    "table6": "Table 6: Cognate detection, F1 on validation",
    "table7": "Table 7: Transduction, CER / WER on validation",
}
BESIDE = {"table1": ("honest", "concepts held out"), "table3": ("exact", "exact form")}
"""What stands beside a table: the cells of that place with the same row and column, and their title."""
COMPARED = ("table1", "table3")
"""Tables whose cells are held against the paper's."""
EMPTY, NONE = "·", "–"
"""A cell without a record, and one that cannot have any."""
PAPER_RUNS = 5
"""Trainings of each of the paper's cells."""
LETTER = "to the letter"

Records = Mapping[str, Sequence[RunRecord]]


def render_tables(cells: Sequence[TableCell], records: Records) -> str:
    """All tables that cells are of, one below the other, and what they cost."""
    places = [place for place in dict.fromkeys(cell.place for cell in cells) if place in TITLES]
    shown = [render_table([cell for cell in cells if cell.place == place], records) for place in places]
    return "\n".join([*shown, cost(cells, records)])


def cost(cells: Sequence[TableCell], records: Records) -> str:
    """How many runs there are of those wanted, and their time; those that ran side by side waited for each other."""
    runs = {cell.run.name for cell in cells}
    done = [record for cell in _by_run(cells) for ours in attempts(cell, records).values() for record in ours]
    hours = sum(record.seconds for record in done) / 3600
    missing = sum(not attempts(cell, records) for cell in _by_run(cells))
    paper = PAPER_RUNS * sum(cell.hours or 0 for cell in cells if cell.is_of_the_paper)
    theirs = f"; the paper's cells with a time took {paper:.0f} hours in {PAPER_RUNS} runs each" if paper else ""
    ours = f"{len(done)} records, {hours:.2f} hours of all runs together"
    return f"{ours}{theirs}; {missing} of {len(runs)} runs have no record.\n"


def _by_run(cells: Sequence[TableCell]) -> list[TableCell]:
    return list({cell.run.name: cell for cell in cells}.values())


def attempts(cell: TableCell, records: Records) -> dict[str, Sequence[RunRecord]]:
    """Records of a cell in each reading of the paper's terms that was tried; of a run that names one, in that."""
    readings = READINGS if cell.run.reading is None else (cell.run.reading,)
    names = {reading or LETTER: cell.run.read_as(reading).name for reading in readings}
    return {reading: records[name] for reading, name in names.items() if records.get(name)}


def chosen_attempt(cell: TableCell, records: Records) -> tuple[str, Sequence[RunRecord]]:
    """The reading that is best on validation, whatever it scores on test."""
    found = attempts(cell, records)
    best = max(found, key=lambda reading: _validated(found[reading]), default="")
    return best, found.get(best, ())


def _validated(records: Sequence[RunRecord]) -> float:
    return mean(record.validation.get("f1", -record.validation.get("wer", 0.0)) for record in records)


def render_table(cells: Sequence[TableCell], records: Records) -> str:
    """A table: a line for each cell, the paper's figures, ours in the reading that counts, and in the others."""
    if cells[0].place == "table5":
        return _scripts(cells, records)
    heads = ["", "", "parameters (M)", "paper", "ours", "read", "other readings", "seconds"]
    heads += ["verdict", BESIDE[cells[0].place][1]] if cells[0].place in COMPARED else []
    lines = [f"## {TITLES[cells[0].place]}", "", _line(heads), _line(["---"] * len(heads))]
    for cell in cells:
        ours = [_size(cell, records), *_figures(cell, records), _seconds(cell, records)]
        ours += [judged(cell, records).text, _beside(cell, records)] if cell.place in COMPARED else []
        lines.append(_line([cell.row, cell.column, *ours]))
    return "\n".join([*lines, ""])


def _seconds(cell: TableCell, records: Records) -> str:
    """Mean time of a training in the reading that counts."""
    _, own = chosen_attempt(cell, records)
    return f"{mean(record.training['seconds'] for record in own):.0f}" if own else EMPTY


def _beside(cell: TableCell, records: Records) -> str:
    """Ours beyond the paper's terms, of the same row and column."""
    place, _ = BESIDE[cell.place]
    found = [other for other in grid() if (other.place, other.row, other.column) == (place, cell.row, cell.column)]
    own = chosen_attempt(found[0], records)[1] if found else ()
    return NONE if not found else _ours(found[0], own) if own else EMPTY


def _line(texts: Sequence[str]) -> str:
    return "| " + " | ".join(texts) + " |"


def _figures(cell: TableCell, records: Records) -> list[str]:
    """The paper's figures, ours, the reading that counts, and the figures of the other readings."""
    best, own = chosen_attempt(cell, records)
    others = [
        f"{reading} {_ours(cell, found)}" for reading, found in attempts(cell, records).items() if reading != best
    ]
    paper = " / ".join(map(str, cell.paper.values()))
    return [paper, _ours(cell, own) if own else EMPTY, best or EMPTY, "; ".join(others) or NONE]


def _ours(cell: TableCell, records: Sequence[RunRecord]) -> str:
    figures = [shown for shown in (_shown(cell, records, name) for name in cell.paper) if shown != EMPTY]
    late = sum(record.training.get("ended") == TIME for record in records)
    notes = [f"n = {len(records)}"] if len(records) > 1 else []
    notes += [f"{late} cut by time"] if late else []
    return " / ".join(figures) + (f" ({', '.join(notes)})" if notes else "")


def _shown(cell: TableCell, records: Sequence[RunRecord], name: str) -> str:
    """A figure; alignment as the paper's scripts seem to score it, and rightly in brackets."""
    if name != "align":
        return _figure(_values(cell, records, name))
    published = [100 * record.test["align_as_published"] for record in records if name in record.test]
    return f"{_figure(published)} [{_figure(_values(cell, records, name))}]" if published else EMPTY


def _values(cell: TableCell, records: Sequence[RunRecord], name: str) -> list[float]:
    """A figure in percent, one for each record that has it."""
    parts = [record.test if cell.part == "test" else record.validation for record in records]
    return [100 * part[name] for part in parts if name in part]


def _figure(percent: Sequence[float]) -> str:
    if not percent:
        return EMPTY
    return str(PaperFigure(mean(percent), stdev(percent) if len(percent) > 1 else None))


def _size(cell: TableCell, records: Records) -> str:
    """The paper's size, and ours."""
    _, own = chosen_attempt(cell, records)
    ours = f"{own[0].parameters / 1e6:.2f}" if own else ""
    return " / ".join(text for text in (f"{cell.parameters or ''}", ours) if text)


class Verdict(NamedTuple):
    """How ours compare with the paper's in a cell."""

    text: str
    holds: bool
    """Whether every figure is better, or differs by at most two standard deviations."""


def judged(cell: TableCell, records: Records) -> Verdict:
    """Whether each figure but alignment is better than the paper's or within 2 sqrt(sd_paper^2 + sd_ours^2) of it."""
    _, own = chosen_attempt(cell, records)
    if not own:
        return Verdict("not run", holds=False)
    if any(isnan(figure.mean) for figure in cell.paper.values()):
        return Verdict(NONE, holds=True)
    judgements = [_judged(cell, own, name) for name in cell.paper if name != "align"]
    worst = next((text for text in ("differs", "within", "better") if text in judgements), "")
    return Verdict({"within": "within two deviations"}.get(worst, worst), worst != "differs")


def _judged(cell: TableCell, records: Sequence[RunRecord], name: str) -> str:
    paper, ours = cell.paper[name], _values(cell, records, name)
    gap = (mean(ours) - paper.mean) * (1 if name == "f1" else -1)
    spread = sqrt((paper.deviation or 0.0) ** 2 + (stdev(ours) if len(ours) > 1 else 0.0) ** 2)
    return "better" if gap > 0 else "within" if -gap <= 2 * spread else "differs"


def _scripts(cells: Sequence[TableCell], records: Records) -> str:
    """Table 5: edit scripts as boxes where a record has their probabilities, else as text."""
    columns = list(dict.fromkeys(cell.column for cell in cells))
    lines = [f"## {TITLES['table5']}", "", _line(["", *columns]), _line(["---"] * (1 + len(columns)))]
    for row in dict.fromkeys(cell.row for cell in cells):
        own = {cell.column: _script(cell, records) for cell in cells if cell.row == row}
        lines.append(_line([row, *(own.get(column, EMPTY) for column in columns)]))
    return "\n".join([*lines, ""])


def _script(cell: TableCell, records: Records) -> str:
    _, own = chosen_attempt(cell, records)
    for record in own:
        for kept in record.evidence:
            if "".join(kept["source"]) == cell.row:
                return boxes(evidence_from(kept).script)
    return own[0].scripts.get(cell.row, EMPTY) if own else EMPTY


def share_that_holds(records: Records) -> tuple[int, int]:
    """How many cells of Tables 1 and 3 hold, of how many; comments of the paper's source do not count."""
    cells = [cell for cell in grid() if cell.place in COMPARED and cell.is_of_the_paper]
    return sum(judged(cell, records).holds for cell in cells), len(cells)


def write_page(path: Path, records: Records) -> None:
    """Write the page of all tables and figures, and its pictures into a folder beside it."""
    pictures = path.parent / "images" / path.stem
    pictures.mkdir(parents=True, exist_ok=True)
    drawn = {place: _pictures(place, records, path, pictures) for place in FIGURES}
    tables = {place: render_table([cell for cell in grid() if cell.place == place], records) for place in TITLES}
    holds, of = share_that_holds(records)
    told = {"holds": str(holds), "cells": str(of), "share": f"{100 * holds / of:.0f}", "cost": cost(grid(), records)}
    text = _resource("page.md")
    for name, value in (tables | drawn | told | {"reasons": _reasons(records)}).items():
        text = text.replace(f"{{{name}}}", value.rstrip("\n"))
    path.write_text(text, encoding="utf-8")


def _resource(name: str) -> str:
    return resources.files("nsed.reproduce").joinpath(name).read_text(encoding="utf-8")


def _pictures(place: str, records: Records, page: Path, folder: Path) -> str:
    """Write the pictures of a figure; the Markdown that shows them."""
    found = [(cell, _drawn_from(cell, records)) for cell in grid() if cell.place == place]
    shown = dict[str, str]()
    for name, svg in figures(place, found).items():
        (folder / f"{name}.svg").write_text(svg + "\n", encoding="utf-8")
        shown[name] = f"![{name}]({(folder / f'{name}.svg').relative_to(page.parent).as_posix()})"
    missing = sorted({cell.run.name for cell, own in found if not own})
    note = f"\n\nNot run yet: {len(missing)} of {len({cell.run.name for cell, _ in found})} runs." if missing else ""
    lines = _side_by_side(shown) if place == "figure2" else list(shown.values())
    return "\n".join(lines or ["No record has what this needs yet."]) + note


def _side_by_side(pictures: Mapping[str, str]) -> list[str]:
    """Figure 2 as a table: a line for each pair, without and with the loss."""
    names = [name for name in pictures if "-without-" in name]
    rows = [[pictures[name], pictures.get(name.replace("-without-", "-with-"), EMPTY)] for name in names]
    return [_line(["without the loss", "with the loss"]), _line(["---"] * 2), *map(_line, rows)]


def _drawn_from(cell: TableCell, records: Records) -> Sequence[RunRecord]:
    """Records of the reading that counts; where what is drawn is of one training, those of the others after them."""
    best, own = chosen_attempt(cell, records)
    if cell.part not in ("alphas", "decoding"):
        return own
    others = [record for reading, found in attempts(cell, records).items() if reading != best for record in found]
    return [*own, *others]


def _reasons(records: Records) -> str:
    """A line for each cell that differs: the cell, its figures, and why."""
    with resources.as_file(resources.files("nsed.reproduce").joinpath("reasons.yaml")) as path:
        known = read_yaml(path)
    compared = [cell for cell in grid() if cell.place in COMPARED and cell.is_of_the_paper]
    differing = [cell for cell in compared if not judged(cell, records).holds]
    return "\n".join(
        f"- {cell.row}, {cell.column}: {known.get(cell.run.name, 'not explained yet')}." for cell in differing
    )
