"""What a benchmark finds: figures with quantiles, perhaps a ratio to something else, perhaps a bar to be reached."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

Figure = dict[str, Any]
"""As it is saved: p20, p50, p80, unit; ratio and what it is; bar, better (`lower` or `higher`) and met."""
Report = dict[str, Any]
"""What a benchmark returns: `figures` by name, perhaps `growth` by name, and the sizes they hold for."""


class Bar(NamedTuple):
    """A number to be reached: by the figure's ratio where it has one, else by its p50."""

    value: float
    better: str


def at_most(value: float) -> Bar:
    """The lower, the better."""
    return Bar(value, "lower")


def at_least(value: float) -> Bar:
    """The higher, the better."""
    return Bar(value, "higher")


def figure(
    values: Sequence[float], unit: str, *, ratio: tuple[str, Sequence[float]] | None = None, bar: Bar | None = None
) -> Figure:
    """Measured values as quantiles; a ratio comes with what it is, and with a value per round."""
    made: Figure = {**quantiles(values), "unit": unit}
    if ratio is not None:
        what, ratios = ratio
        made |= {"ratio": quantiles(ratios)["p50"], "ratio is": what}
    if bar is not None:
        made |= {"bar": bar.value, "better": bar.better}
        made["met"] = margin(made) >= 1
    return made


def margin(one: Figure) -> float:
    """How many times better than its bar a figure is; below 1 it misses it."""
    value = one.get("ratio", one["p50"])
    return float(value / one["bar"] if one["better"] == "higher" else one["bar"] / value)


def quantiles(values: Sequence[float]) -> dict[str, float]:
    """The 20th, 50th and 80th percentile, four digits each."""
    return {f"p{share}": digits(float(np.percentile(values, share))) for share in (20, 50, 80)}


def digits(value: float) -> float:
    """The first four digits that say something."""
    return float(f"{value:.4g}")
