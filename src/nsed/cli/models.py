"""`nsed models`: what comes with the package."""

from typing import Annotated

import typer
from rich.table import Table

from nsed.cli.console import out
from nsed.errors import ArgumentError
from nsed.models.persistence import shipped_models


def models(
    name: Annotated[str | None, typer.Argument(help="Show the card of this model.", show_default=False)] = None,
) -> None:
    """List the models that come with nsed; every command takes their names instead of a folder."""
    known = shipped_models()
    if name is None:
        table = Table("name", "what it does", "size", box=None, pad_edge=False)
        for model in known.values():
            table.add_row(model.name, model.title, f"{model.size / 1e6:.1f} MB")
        out.print(table)
        return
    if name not in known:
        raise ArgumentError("NAME", got=name, expected=f"one of {', '.join(known)}")
    out.print(known[name].card, markup=False, end="")
