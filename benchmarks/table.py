"""All figures as a table for a terminal."""

from collections.abc import Mapping

from rich.table import Table

from benchmarks.figures import Figure, Report


def table(reports: Mapping[str, Report]) -> Table:
    """A row per figure, below the name of its benchmark: quantiles, ratio, bar, and whether it is met."""
    shown = Table("", "p50 (p20 - p80)", "ratio", "bar", "", box=None, pad_edge=False)
    for benchmark, report in reports.items():
        shown.add_row(f"[bold]{benchmark}[/]")
        for name, one in report["figures"].items():
            shown.add_row(f"  {name}", _spread(one), _ratio(one), _bar(one), _met(one))
        for name, curve in report.get("growth", {}).items():
            for place, one in curve.items():
                shown.add_row(f"  {name} {place}", _spread({**one, "unit": "ms"}))
    return shown


def _spread(one: Figure) -> str:
    p20, p50, p80 = (_number(one[share]) for share in ("p20", "p50", "p80"))
    return f"{p50} {one['unit']} ({p20} - {p80})"


def _ratio(one: Figure) -> str:
    return f"{_number(one['ratio'])} = {one['ratio is']}" if "ratio" in one else ""


def _bar(one: Figure) -> str:
    if "bar" not in one:
        return ""
    return f"{'≥' if one['better'] == 'higher' else '≤'} {_number(one['bar'])}"


def _met(one: Figure) -> str:
    return {True: "[green]met[/]", False: "[red]missed[/]", None: ""}[one.get("met")]


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
