"""Learned operations as a table for terminals."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from nsed.baselines import LearnedOperation
from nsed.text.visible import visible

_ARROWS = {"delete": "-{0}", "insert": "+{1}", "substitute": "{0}→{1}"}
_COLOURS = {"delete": "red", "insert": "green", "substitute": "yellow"}


def operation_table(chosen: Sequence[LearnedOperation]) -> Table:
    """Operations with their probability and cost, in the order given."""
    table = Table("operation", "probability", "cost (nats)", title="strongest operations")
    for one in chosen:
        text = _ARROWS[one.kind].format(visible(one.source), visible(one.target))
        table.add_row(f"[{_COLOURS[one.kind]}]{escape(text)}[/]", f"{one.probability:.4f}", f"{one.cost:.2f}")
    return table
