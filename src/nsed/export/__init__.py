"""Export: models for other programs, as ONNX graphs and as tables of a weighted Levenshtein distance."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from nsed.errors import ArgumentError, NsedError
from nsed.export.tables import CostTable, as_json, as_python, as_sql, cost_table, described
from nsed.models.base import Model
from nsed.models.mixture import Mixture
from nsed.models.pair_model import DecidingModel

__all__ = ["FORMATS", "export_model"]

Format = Literal["onnx", "json", "rapidfuzz", "duckdb"]
FORMATS: tuple[str, ...] = get_args(Format)
TABLES: Mapping[str, tuple[str, Callable[[CostTable], str]]] = {
    "json": ("weighted_levenshtein.json", as_json),
    "rapidfuzz": ("weighted_levenshtein.py", as_python),
    "duckdb": ("weighted_levenshtein.sql", as_sql),
}
"""Formats of tables: the file's name, and its text."""
ABOUT = "export.json"


def export_model(model: Model, folder: str | Path, *, format: Format = "onnx") -> list[Path]:  # noqa: A002  # its name
    """Export a model for other programs into a folder, which is made if need be; the paths of the files.

    `onnx`: graphs for onnxruntime and others, with free batches and lengths, of a Transducer, a Mixture of these or a
    Matcher; `export.json` beside them says how strings become their inputs. `json`, `rapidfuzz` and `duckdb`: the costs
    of a weighted Levenshtein distance, of an edit distance or a Matcher in odds form, as a document, as a Python module
    whose `similarity` rapidfuzz takes as scorer, and as SQL.

    Raises `ArgumentError` for a model that has no such form, `MissingExtraError` where the package onnx is missing.

    >>> import tempfile, nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> [path.name for path in export_model(model, tempfile.mkdtemp(), format="json")], FORMATS
    (['weighted_levenshtein.json'], ('onnx', 'json', 'rapidfuzz', 'duckdb'))
    """
    if format not in FORMATS:
        raise ArgumentError("format", got=repr(format), expected=f"one of {', '.join(FORMATS)}")
    target = Path(folder)
    if format in TABLES:
        name, text = TABLES[format]
        content = text(cost_table(model))
        return [_written(target / name, content)]
    from nsed.export.onnx_models import write_onnx  # noqa: PLC0415  # an extra

    paths = write_onnx(model, target)
    return [*paths, _written(target / ABOUT, json.dumps(about(model), ensure_ascii=False, indent=1) + "\n")]


def _written(path: Path, content: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise NsedError(f"{path}: the export cannot be written: {error.strerror}") from error
    return path


def about(model: Any) -> dict[str, Any]:
    """What goes with the graphs of a model: how strings become numbers, and what scores mean."""
    told: dict[str, Any] = {"format": "nsed onnx", "version": 1, "kind": model.kind}
    if isinstance(model, Mixture):
        return told | {"ranking": model.config.ranking, "members": [about(member) for member in model.members]}
    for side in (model.tokenizers.source, model.tokenizers.target):
        told[side.side] = described(side.splitter) | {"vocabulary": list(side.vocabulary.names)}
    if model.languages is not None:
        told["languages"] = list(model.languages.names)
    if isinstance(model, DecidingModel):
        return told | {"threshold": model.threshold, "calibration": model.calibration.record}
    search = ("normalisation", "direction", "beam", "length_penalty", "longest_output")
    return told | {name: getattr(model.config, name) for name in search}
