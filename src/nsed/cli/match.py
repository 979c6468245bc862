"""`nsed match`: decisions on pairs."""

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
from nsed.errors import ArgumentError
from nsed.train import Matcher


class Format(StrEnum):
    """How decisions are written."""

    TSV = "tsv"
    JSON = "json"


def match(
    model: ModelPath,
    pairs: PairsPath = None,
    pair: OnePair = None,
    columns: Columns = None,
    format_: Annotated[Format, typer.Option("--format", help="Tab-separated or JSON lines.")] = Format.TSV,
    output: Output = None,
) -> None:
    """Decide whether each pair matches: `source`, `target`, 1 or 0, calibrated probability."""
    matcher = load_model(model)
    if not isinstance(matcher, Matcher):
        raise ArgumentError("MODEL", got=f"{model}, which makes no decisions", expected="a matcher")
    data = pairs_from(pairs, columns, pair)
    with progress_bar("matching", len(data)) as bar:
        scores = matcher.score(data, on_batch=bar.advance)
    decisions, probabilities = (scores >= matcher.threshold).tolist(), matcher.calibration.probability(scores).tolist()
    rows = zip(data.sources, data.targets, decisions, probabilities, strict=True)
    with open_output(output) as stream:
        if format_ is Format.JSON:
            for source, target, decision, probability in rows:
                line = {"source": source, "target": target, "match": decision, "probability": probability}
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        else:
            write_tsv(stream, ((s, t, int(d), f"{p:.4f}") for s, t, d, p in rows), otherwise="Use --format json.")
