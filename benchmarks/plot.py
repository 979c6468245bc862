"""All figures relative to their bars, and growth, as a picture (matplotlib, extra `viz`)."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.figures import Report, margin


def draw(reports: Mapping[str, Report], path: Path) -> None:
    """One bar per figure that has something to reach, right of the line if it does; one small plot per growth."""
    margins = _margins(reports)
    curves = {name: curve for report in reports.values() for name, curve in report.get("growth", {}).items()}
    heights = [1.2 + 0.28 * len(margins)] * bool(margins) + [2.6] * bool(curves)
    picture = import_module("matplotlib.figure").Figure(figsize=(14, sum(heights) or 1), layout="constrained")
    parts = iter(picture.subfigures(len(heights), 1, height_ratios=heights, squeeze=False)[:, 0] if heights else ())
    if margins:
        _draw_margins(next(parts).subplots(), margins)
    if curves:
        places = next(parts).subplots(1, len(curves), squeeze=False)[0]
        for axes, (name, curve) in zip(places, curves.items(), strict=True):
            _draw_growth(axes, name, curve)
    picture.savefig(path)


def _margins(reports: Mapping[str, Report]) -> dict[str, float]:
    return {
        f"{benchmark}: {name}": margin(one)
        for benchmark, report in reports.items()
        for name, one in report["figures"].items()
        if "bar" in one
    }


def _draw_margins(axes: Any, margins: dict[str, float]) -> None:
    colours = ["tab:green" if value >= 1 else "tab:orange" for value in margins.values()]
    axes.barh(list(margins), [value - 1 for value in margins.values()], left=1, color=colours)
    axes.axvline(1, color="black", linewidth=1)
    axes.set(xlabel="times as good as the bar", xscale="log")
    axes.invert_yaxis()
    axes.spines[["top", "right"]].set_visible(False)


def _draw_growth(axes: Any, name: str, curve: Mapping[Any, Mapping[str, float]]) -> None:
    places = [int(place) for place in curve]
    p20, p50, p80 = ([taken[share] for taken in curve.values()] for share in ("p20", "p50", "p80"))
    axes.plot(places, p50, marker=".", color="tab:blue")
    axes.fill_between(places, p20, p80, color="tab:blue", alpha=0.2)
    axes.set(title=name.partition(",")[0], xlabel=name.partition(", ")[2], ylabel="ms", xscale="log", yscale="log")
    axes.set_xticks(places, places)
    axes.set_xticks([], minor=True)
    axes.spines[["top", "right"]].set_visible(False)
