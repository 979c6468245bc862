"""`nsed operations`: what a model learned, as a table of operations or of costs."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from nsed.cli.arguments import ModelPath, Output, load_model, open_output, write_tsv
from nsed.cli.console import out
from nsed.errors import NotExplainableError

if TYPE_CHECKING:
    from nsed.networks.operation_table import LearnedOperation

_COLOURS = {"delete": "red", "insert": "green", "substitute": "yellow"}


def operation_table(chosen: Sequence[LearnedOperation]) -> Table:
    """Operation table with probability and cost, in the order given."""
    table = Table("operation", "probability", "cost (nats)", title="strongest operations")
    for one in chosen:
        table.add_row(f"[{_COLOURS[one.kind]}]{escape(str(one))}[/]", f"{one.probability:.4f}", f"{one.cost:.2f}")
    return table


class Kind(StrEnum):
    """Operation kind filter."""

    DELETE = "delete"
    INSERT = "insert"
    SUBSTITUTE = "substitute"


def operations(
    model: ModelPath,
    top: Annotated[
        int | None, typer.Option(min=1, help="How many, most probable first; by default 20, of --costs all.")
    ] = None,
    kind: Annotated[Kind | None, typer.Option(help="Only operations of this kind.", show_default=False)] = None,
    costs: Annotated[
        bool,
        typer.Option(
            "--costs",
            help="Write all operations as TSV (operation, source, target, cost): the costs of a plain weighted "
            "Levenshtein distance, minus log-probabilities, smoothed, with <unk> for other symbols.",
        ),
    ] = False,
    output: Output = None,
) -> None:
    """List the learned operations, or export them as costs."""
    from nsed.models.edit_distance import LearnableEditDistance

    learned = load_model(model)
    if not isinstance(learned, LearnableEditDistance):
        raise NotExplainableError(f"{model}: a neural model has no table of operations; try `nsed align`")
    listed = learned.costs() if costs else learned.operations()
    chosen = [operation for operation in listed if kind in (None, operation.kind)]
    chosen = chosen[: top or (None if costs else 20)]
    if not costs and output is None:
        out.print(operation_table(chosen))
        return
    with open_output(output) as stream:
        numbers = (f"{one.cost:.6f}" if costs else f"{one.probability:.8f}" for one in chosen)
        write_tsv(stream, ((one.kind, one.source, one.target, n) for one, n in zip(chosen, numbers, strict=True)))
