"""Learned operations as a table for terminals."""

from collections.abc import Sequence

from rich.markup import escape
from rich.table import Table

from nsed.networks.operation_table import LearnedOperation

_COLOURS = {"delete": "red", "insert": "green", "substitute": "yellow"}


def operation_table(chosen: Sequence[LearnedOperation]) -> Table:
    """Operations with their probability and cost, in the order given."""
    table = Table("operation", "probability", "cost (nats)", title="strongest operations")
    for one in chosen:
        table.add_row(f"[{_COLOURS[one.kind]}]{escape(str(one))}[/]", f"{one.probability:.4f}", f"{one.cost:.2f}")
    return table
