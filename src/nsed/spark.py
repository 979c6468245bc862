"""Scores of tables of a Spark cluster: the model is broadcast once, executors score Arrow batches (`mapInArrow`).

Executors need `nsed` installed, as well as the driver.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsed.errors import ArgumentError
from nsed.jobs.choices import Scorer, scoring
from nsed.jobs.fixed_batches import fixed_scores
from nsed.jobs.provenance import model_hash
from nsed.models.persistence import load
from nsed.text import Pairs

__all__ = ["score"]


def score(
    frame: Any,
    model: Any,
    *,
    columns: tuple[str, str] = ("source", "target"),
    scorer: Scorer = "score",
    output: str | None = None,
    deterministic: bool = False,
    device: str = "cpu",
) -> Any:
    """Spark data frame with a further column: the score, or the calibrated probability, of each pair of strings.

    Where source or target is null, so is the score. The column is called like the scorer, unless `output` names it.

    With `deterministic`, scores are those of `nsed.jobs.fixed_scores`, bit for bit, whatever partitions, batches and
    numbers of threads there are; else they may differ in their last bits, unless the model is a table of operations.
    Models with a network move to the `device` on the executors.

    Raises `ArgumentError` for a column that is not there, one that is there already, and a model without scores.
    """
    scoring(model, scorer)
    name = scorer if output is None else output
    for column in columns:
        if column not in frame.columns:
            expected = f"one of {', '.join(frame.columns)}"
            raise ArgumentError("columns", got=repr(column), expected=expected)
    if name in frame.columns:
        raise ArgumentError("output", got=f"{name!r}, which the table has", expected="the name of a new column")
    types = import_module("pyspark.sql.types")
    schema = types.StructType([*frame.schema.fields, types.StructField(name, types.DoubleType())])
    shipped = frame.sparkSession.sparkContext.broadcast(_packed(model))
    scored = BatchScorer(shipped, columns, name, scorer, deterministic, device)
    return frame.mapInArrow(scored, schema)


class BatchScorer:
    """Scoring of Arrow batches on an executor, which has the model from the driver."""

    def __init__(
        self, shipped: Any, columns: tuple[str, str], output: str, scorer: Scorer, deterministic: bool, device: str
    ) -> None:
        self.shipped, self.columns, self.output = shipped, columns, output
        self.scorer, self.deterministic, self.device = scorer, deterministic, device

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches with the further column."""
        key, files = self.shipped.value
        model = _unpacked(key, files, self.device)
        for batch in batches:
            arrays = [*batch.columns, self._scores(model, batch)]
            yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, self.output])

    def _scores(self, model: Any, batch: pa.RecordBatch) -> pa.Array:
        sources, targets = (batch.column(batch.schema.get_field_index(name)) for name in self.columns)
        there = pc.and_(pc.is_valid(sources), pc.is_valid(targets))
        pairs = Pairs.of_columns(sources.filter(there), targets.filter(there))
        scores, valid = np.zeros(len(batch)), there.to_numpy(zero_copy_only=False)
        if len(pairs):
            found = fixed_scores(model, pairs, scorer=self.scorer) if self.deterministic else None
            scores[valid] = getattr(model, self.scorer)(pairs) if found is None else found
        return pa.array(scores, mask=~valid)


Packed = tuple[str, dict[str, bytes]]
"""Hash of a model, and the files that it is saved in: no pickle."""


def _packed(model: Any) -> Packed:
    if not hasattr(model, "save"):
        expected = "a model of nsed, which can be saved"
        raise ArgumentError("model", got=f"a {type(model).__name__}", expected=expected)
    with TemporaryDirectory() as folder:
        model.save(folder)
        files = {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}
    return str(model_hash(model)), files


_MODELS: dict[tuple[str, str], Any] = {}
"""Models of this process, one at a time: Spark uses a Python process for many tasks."""


def _unpacked(key: str, files: dict[str, bytes], device: str) -> Any:
    if (key, device) not in _MODELS:
        _MODELS.clear()
        with TemporaryDirectory() as folder:
            for name, content in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            model = load(folder)
        _MODELS[key, device] = model.to(device) if hasattr(model, "to") else model
    return _MODELS[key, device]
