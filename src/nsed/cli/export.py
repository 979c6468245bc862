"""`nsed export`: a model for other programs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from nsed.cli.arguments import ModelPath, load_model
from nsed.cli.console import out

Form = Literal["onnx", "json", "rapidfuzz", "duckdb"]


def export(
    model: ModelPath,
    output: Annotated[Path, typer.Argument(help="Folder for the files; it is made if need be.", show_default=False)],
    format_: Annotated[
        Form,
        typer.Option(
            "--format",
            help="onnx: graphs of a transducer, mixture or matcher; json, rapidfuzz (a Python module), duckdb (SQL): "
            "costs of a weighted Levenshtein distance, of an edit distance or a matcher in odds form.",
        ),
    ] = "onnx",
) -> None:
    """Write a model for other programs: ONNX graphs, or tables of a weighted Levenshtein distance.

    Examples:
        nsed export g2p-en g2p-onnx                         # encoder.onnx, step.onnx, export.json

        nsed export names names-onnx                        # pair.onnx, export.json

        nsed export my-distance tables --format duckdb      # weighted_levenshtein.sql

    Graphs take any batch and any length; `export.json` says how strings become their inputs. ONNX needs the extra
    `onnx`. A model folder itself runs without torch: see nsed-lite.
    """
    from nsed.export import export_model

    for path in export_model(load_model(model), output, format=format_):
        out.print(f"{path}  {path.stat().st_size / 1e6:.2f} MB", markup=False, highlight=False)
