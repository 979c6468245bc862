"""`nsed explain`: everything a model knows about pairs."""

from enum import StrEnum
from typing import Annotated

import typer

from nsed.cli.arguments import (
    Columns,
    ModelPath,
    OnePair,
    Output,
    PairsPath,
    load_model,
    open_output,
    pairs_from,
)
from nsed.cli.console import progress_bar


class Format(StrEnum):
    """How explanations are written."""

    TEXT = "text"
    JSON = "json"


def explain(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    format_: Annotated[
        Format, typer.Option("--format", help="For people, or JSON lines with all tables.")
    ] = Format.TEXT,
    output: Output = None,
) -> None:
    """Say how sure the model is of each operation of each pair, and of the whole script."""
    explainer, data = load_model(model), pairs_from(pairs, columns, pair)
    with open_output(output) as stream, progress_bar("explaining", len(data)) as bar:
        for source, target in data:
            explanation = explainer.explain(source, target)
            stream.write(explanation.to_json() if format_ is Format.JSON else explanation.to_text() + "\n")
            stream.write("\n")
            bar.advance(1)
