"""Terminal report: metrics with their confidence intervals, and what a split scores without a model (leakage)."""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from rich.markup import escape
from rich.table import Table

from nsed.cli.arguments import open_output
from nsed.cli.console import out
from nsed.datasets.leaks import Controls, check_leaks
from nsed.datasets.splits import Splits
from nsed.evaluate.report import Caution, Figure, Report
from nsed.evaluate.report.records import Breakdown, in_words

WIDTH = 140
"""Console width, room for the widest table: where the terminal has less, lines go on below."""


def show_report(report: Report, *, by: Collection[str] = ()) -> None:
    """Show cautions, metrics, how they differ from another model's, and the breakdowns of these names."""
    for caution in report.cautions:
        show_caution(caution)
    out.print(_figures_table(report), width=max(out.width, WIDTH))
    if "resampled" in report.settings:
        out.print(f"intervals: {escape(str(report.settings['resampled']))} resampled")
    for one in report.comparison.differences if report.comparison else ():
        span = f"95 % {100 * one.interval.low:+.2f} to {100 * one.interval.high:+.2f}"
        out.print(f"{in_words(one.name)}: {100 * one.value:+.2f} points, {span}, p = {one.p_value:.4f}")
    for breakdown in report.breakdowns:
        if breakdown.by in by:
            out.print()
            out.print(_breakdown_table(breakdown), width=max(out.width, WIDTH))


SHOWN_GROUPS = 30
"""Largest groups of a breakdown that the terminal shows; JSON and HTML have all."""


def _breakdown_table(breakdown: Breakdown) -> Table:
    largest = {group.name for group in sorted(breakdown.groups, key=lambda group: -group.items)[:SHOWN_GROUPS]}
    table = Table(escape(breakdown.by), box=None, pad_edge=False)
    for head in (breakdown.of, *map(in_words, breakdown.columns)):
        table.add_column(head, justify="right")
    for group in breakdown.groups:
        if group.name in largest:
            table.add_row(escape(group.name), f"{group.items:,}", *(f"{value:.2%}" for value in group.values))
    left = len(breakdown.groups) - len(largest)
    if left:
        table.add_row(f"[dim]and {left:,} smaller groups: see --output, --html[/]")
    return table


def _figures_table(report: Report) -> Table:
    heads = ["figure", "value", "95 % interval"]
    if report.comparison:
        heads = ["figure", report.model, "95 % interval", report.comparison.model, "95 % interval"]
    table = Table(*map(escape, heads), "", box=None, pad_edge=False)
    theirs = {figure.name: figure for figure in report.comparison.figures} if report.comparison else {}
    for figure in report.figures:
        others = _cells(theirs.get(figure.name)) if report.comparison else []
        table.add_row(figure.title, *_cells(figure), *others, f"[dim]{figure.note}[/]" if figure.note else "")
    return table


def _cells(figure: Figure | None) -> list[str]:
    return [str(figure), figure.span] if figure else ["", ""]


def show_caution(caution: Caution) -> None:
    """Show a data caution (leakage, controls) before the metrics that it makes worth less."""
    out.print(f"[bold yellow]caution:[/] {escape(caution.message)}")
    for figure in caution.figures:
        out.print(f"  {escape(figure.title)} {figure} [dim]{escape(figure.note)}[/]")


CONTROLS_FILE = "controls.json"
CONTROLS = {
    "lookup": "a lookup table of its training pairs",
    "chains": "one that follows chains of them",
    "levenshtein": "the normalised Levenshtein similarity",
    "frequency": "how many training pairs have the rarer of the two words",
}


def write_controls(folder: Path, splits: Splits, *, protocol: str) -> None:
    """Write control scores on each part, and how many of its pairs the training part has too."""
    report = check_leaks(splits._asdict(), symbols="tokens")
    leaks = {overlap.later: overlap.leaks for overlap in report.overlaps if overlap.earlier == report.parts[0].part}
    parts = {each.part: {"leaks": leaks[each.part], **_scores(each)} for each in report.controls}
    text = json.dumps({"protocol": protocol, "parts": parts}, indent=1)
    with open_output(folder / CONTROLS_FILE) as stream:
        stream.write(text + "\n")


def cautions_of(pairs: Path) -> tuple[Caution, ...]:
    """Data cautions, what to know before one believes a score on this file; nothing where no controls are beside it."""
    part = _parts_beside(pairs).get(pairs.stem)
    if part is None:
        return ()
    leaks = f"this split leaks, {part['leaks']:,} of its pairs are in the training file. " if part["leaks"] else ""
    figures = (Figure("f1", part[name]["f1"], note=f"of {what}") for name, what in CONTROLS.items() if name in part)
    return (Caution(f"{leaks}Without a model:", tuple(figures)),)


def _scores(controls: Controls) -> dict[str, Any]:
    return {name: getattr(controls, name)._asdict() for name in CONTROLS}


def _parts_beside(pairs: Path) -> dict[str, Any]:
    try:
        found = json.loads((pairs.parent / CONTROLS_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):  # somebody else's file, or none
        return {}
    parts = found.get("parts") if isinstance(found, dict) else None
    return parts if isinstance(parts, dict) else {}
