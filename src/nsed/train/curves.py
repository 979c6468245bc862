"""Learning curves as a picture, where matplotlib is installed (extra `viz`)."""

import csv
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def can_draw() -> bool:
    """Whether there is something to draw with."""
    return find_spec("matplotlib") is not None


def draw_curves(table: Path, picture: Path) -> None:
    """One small plot per column of the table, over the steps."""
    figures = import_module("matplotlib.figure")
    with table.open(encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    columns = [[float(cell) for cell in column] for column in zip(*rows, strict=True)]
    figure = figures.Figure(figsize=(3.2 * (len(header) - 1), 2.6), layout="constrained")
    for place, axes in enumerate(figure.subplots(1, len(header) - 1, squeeze=False)[0], start=1):
        axes.plot(columns[0], columns[place], marker=".", color="tab:blue")
        axes.set(title=header[place], xlabel=header[0])
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture)
