"""`nsed score`: the log-probability of pairs."""

import json
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
    write_tsv,
)
from nsed.cli.console import progress_bar


class Format(StrEnum):
    """How scores are written."""

    TSV = "tsv"
    JSON = "json"


def score(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    format_: Annotated[Format, typer.Option("--format", help="Tab-separated or JSON lines.")] = Format.TSV,
    output: Output = None,
) -> None:
    """Give each pair its log-probability: `source`, `target`, `score`."""
    scorer, data = load_model(model), pairs_from(pairs, columns, pair)
    with progress_bar("scoring", len(data)) as bar:
        scores = scorer.score(data, on_batch=bar.advance)
    rows = zip(data.sources, data.targets, scores.tolist(), strict=True)
    with open_output(output) as stream:
        if format_ is Format.JSON:
            for source, target, value in rows:
                line = json.dumps({"source": source, "target": target, "score": value}, ensure_ascii=False)
                stream.write(line + "\n")
        else:
            write_tsv(
                stream,
                ((source, target, f"{value:.6f}") for source, target, value in rows),
                otherwise="Use --format json.",
            )
