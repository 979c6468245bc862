"""`nsed demo`, `models` and `doctor`: what nsed is, what comes with it, and what runs here."""

from typing import Annotated

import typer
from rich.table import Table

from nsed.cli.console import out
from nsed.errors import ArgumentError


def demo(
    seed: Annotated[int, typer.Option(min=0, help="Another number gives other pairs and other weights.")] = 0,
) -> None:
    """Train two small Matchers and a small Transducer, in under a minute on two cores; see what they learned."""
    from nsed.cli.demo import show_demo

    show_demo(seed)


def models(
    name: Annotated[str | None, typer.Argument(help="Show the card of this model.", show_default=False)] = None,
) -> None:
    """List the models that come with nsed; every command takes their names instead of a folder."""
    from nsed.models.persistence import shipped_models

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


def doctor() -> None:
    """Say which versions and devices are here, which implementation of each kernel runs, why, and what extras add."""
    from nsed.cli.doctor import show_doctor

    show_doctor()
