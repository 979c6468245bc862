"""Terminal report: metrics with their confidence intervals."""

from rich.markup import escape
from rich.table import Table

from nsed.cli.console import out
from nsed.evaluate.report import Caution, Figure, Report
from nsed.evaluate.report.records import in_words

WIDTH = 140
"""Console width, room for the widest table: where the terminal has less, lines go on below."""


def show_report(report: Report) -> None:
    """Show cautions, metrics, and how they differ from another model's."""
    for caution in report.cautions:
        show_caution(caution)
    out.print(_figures_table(report), width=max(out.width, WIDTH))
    if "resampled" in report.settings:
        out.print(f"intervals: {escape(str(report.settings['resampled']))} resampled")
    for one in report.comparison.differences if report.comparison else ():
        span = f"95 % {100 * one.interval.low:+.2f} to {100 * one.interval.high:+.2f}"
        out.print(f"{in_words(one.name)}: {100 * one.value:+.2f} points, {span}, p = {one.p_value:.4f}")


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
