"""Spark: scores of a cluster's tables (`mapInArrow`), functions of SQL, and jobs whose shards executors write.

The model is broadcast once. Executors need `nsed` installed, as well as the driver.
"""

import inspect
import os
import shutil
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, cast
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from nsed.errors import ArgumentError, DataError, MissingExtraError, NsedError, warn
from nsed.jobs.choices import Scorer, SqlScorer, answering, fixed_scores, scoring
from nsed.jobs.linking import LinkJob, LinkRun
from nsed.jobs.shards import InputFile, Position, Shard, ShardFolder, ShardInProgress, ShardPlan, model_hash
from nsed.jobs.table_job import Ask
from nsed.jobs.table_output import FileOutput, FolderOutput
from nsed.jobs.table_run import Inputs, RunOptions, TableRun, Warnings
from nsed.models.persistence import load
from nsed.progress import OnBatch, silent
from nsed.text import Pairs

__all__ = ["SparkEngine", "register", "score"]


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


TYPES = {"match": "boolean", "transduce": "string"}
"""Types of answers of a function of SQL that are no numbers."""


def register(
    spark: Any,
    name: str,
    model: Any,
    *,
    scorer: SqlScorer = "score",
    deterministic: bool = False,
    device: str = "cpu",
) -> Any:
    """Register a model as a function of Spark SQL, of two strings, source and target.

    It is a pandas UDF, which comes back, for data frames: the `score` or the `probability` of each pair; with
    `scorer="match"` whether it matches, with `"transduce"` the best target of a single string. What is null has no
    answer. The model is broadcast once; `deterministic` and `device` are those of `score`.

    Raises `ArgumentError` for a model that has no such answers, and for an order of batches that scores alone have.
    """
    answering(model, scorer)
    if deterministic and scorer in TYPES:
        raise ArgumentError("deterministic", got=f"True, with {scorer!r}", expected="False: only scores are rounded")
    pandas, functions = import_module("pandas"), import_module("pyspark.sql.functions")
    vectors = VectorFunction(spark.sparkContext.broadcast(_packed(model)), scorer, deterministic, device)

    def of_one(sources):  # type: ignore[no-untyped-def]  # hints are made below: pandas comes with the extra
        return vectors(sources)

    def of_two(sources, targets):  # type: ignore[no-untyped-def]  # as above
        return vectors(sources, targets)

    function = of_one if scorer == "transduce" else of_two
    function.__annotations__ = dict.fromkeys([*inspect.signature(function).parameters, "return"], pandas.Series)
    made = functions.pandas_udf(function, TYPES.get(scorer, "double"))
    return spark.udf.register(name, made)


class VectorFunction:
    """Answers to batches of strings on an executor, which has the model from the driver."""

    def __init__(self, shipped: Any, scorer: SqlScorer, deterministic: bool, device: str) -> None:
        self.shipped, self.scorer, self.deterministic, self.device = shipped, scorer, deterministic, device

    def __call__(self, *columns: Any) -> Any:
        """Series of the answers, null where a string is."""
        model = _unpacked(self.shipped.value, self.device)
        arrays = [pa.array(one, pa.string()) for one in columns]
        there = reduce(pc.and_, map(pc.is_valid, arrays))
        given, rows = [one.filter(there) for one in arrays], np.flatnonzero(there.to_numpy(zero_copy_only=False))
        answers = np.full(len(arrays[0]), None, dtype=object)
        if len(rows):
            if self.deterministic:
                found = fixed_scores(model, Pairs.of_columns(*given), scorer=cast("Scorer", self.scorer)).tolist()
            else:
                found = list(answering(model, self.scorer)(*given))
            answers[rows] = found
        kind = {"match": "boolean", "transduce": "object"}.get(self.scorer, "float64")
        return import_module("pandas").Series(answers, dtype=kind)


class BatchScorer:
    """Scoring of Arrow batches on an executor, which has the model from the driver."""

    def __init__(
        self, shipped: Any, columns: tuple[str, str], output: str, scorer: Scorer, deterministic: bool, device: str
    ) -> None:
        self.shipped, self.columns, self.output = shipped, columns, output
        self.scorer, self.deterministic, self.device = scorer, deterministic, device

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Batches with the further column."""
        model = _unpacked(self.shipped.value, self.device)
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


_MADE: dict[tuple[str, str], Any] = {}
"""What this process has made of what the driver sent, one at a time: Spark uses a Python process for many tasks."""


def _made(key: tuple[str, str], make: Callable[[], Any]) -> Any:
    if key not in _MADE:
        _MADE.clear()
        _MADE[key] = make()
    return _MADE[key]


def _unpacked(packed: Packed, device: str) -> Any:
    return _made((packed[0], device), lambda: _loaded(packed, device))


def _loaded(packed: Packed, device: str) -> Any:
    with TemporaryDirectory() as folder:
        for name, content in packed[1].items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        model = load(folder)
    return model.to(device) if hasattr(model, "to") else model


SETTINGS = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.python.worker.reuse": "true"}
"""Settings of a session that is made here."""
LOCAL_SETTINGS = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
"""Settings of one whose executors are on this machine."""
WAVES = 4
"""Shards of a wave for each core of the cluster; the manifest has them when all of the wave are written."""
POLLED = 0.2
"""Seconds between two looks at how far executors are."""


class SparkEngine:
    """Engine of a `TableJob` or a `LinkJob`: executors of a Spark cluster write shards, the driver keeps the manifest.

    Inputs and output are on a file system that all of them see. Rows are answered in the same batches as by one
    process, with as many threads, so that the output is the same, bit for bit, on the same kind of processor. The
    shard of an executor that dies is written by another one. Models with a network move to the `device` there.
    Of a linkage, executors compare the pairs; assignment, threshold and clusters are the driver's.

    >>> SparkEngine("yarn").master
    'yarn'
    """

    def __init__(self, master: str = "local[*]", session: Any = None, *, device: str = "cpu") -> None:
        self.master, self.session, self.device = master, session, device
        self.identity: Mapping[str, Any] = {"engine": "spark", "device": device}

    def run(self, run: TableRun, model: Any, ask: Ask) -> None:
        """See `Engine.run`. Raises `ArgumentError` for a job without files, and what an executor complained of."""
        output = run.output
        if not isinstance(output, FileOutput | FolderOutput) or run.inputs.content is not None:
            got = "standard input or output, or a single pair"
            raise ArgumentError("--engine", got=got, expected="files, and --output FILE or FOLDER/, for spark")
        if "sample" in run.question.settings:
            raise ArgumentError("--engine", got="spark, with --sample", expected="local: what is drawn needs one order")
        plans = shard_plans(run.inputs.known, run.options.reading.rows, run.options.shard_rows)
        done = {one.name for one in output.folder.shards}
        left = [one for one in plans if output.folder.file(one.number).name not in done]
        with self._session() as spark, run.options.progress(run.question.verb, sum(one.rows for one in left)) as told:
            rows = TableRows.of(spark.sparkContext, run, model, ask, device=self.device)
            _write_shards(spark.sparkContext, rows, output.folder, left, told)

    def compare(self, job: LinkJob, folder: ShardFolder, plans: Sequence[ShardPlan]) -> None:
        """See `LinkEngine.compare`. Raises what an executor complained of."""
        with self._session() as spark, job.progress("linking", sum(one.rows for one in plans)) as told:
            records = LinkedRecords.of(spark.sparkContext, job, folder, device=self.device)
            _write_shards(spark.sparkContext, records, folder, plans, told)

    @contextmanager
    def _session(self) -> Iterator[Any]:
        if self.session is not None:
            yield self.session
            return
        made = new_session(self.master)
        try:
            yield made
        finally:
            made.stop()


def check_spark() -> None:
    """Raise `MissingExtraError` without pyspark, and `ArgumentError` without Java."""
    if find_spec("pyspark") is None:
        raise MissingExtraError("pyspark", extra="spark")
    if not os.environ.get("JAVA_HOME") and shutil.which("java") is None:
        expected = "Java 17 or later on the path, or JAVA_HOME"
        raise ArgumentError("--engine", got="spark, without Java", expected=expected, advice="Or use --engine local.")


def new_session(master: str) -> Any:
    """Spark session of a cluster. Raises where pyspark or Java is not there, and for a master that nobody knows."""
    check_spark()
    sql = import_module("pyspark.sql")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = SETTINGS | (LOCAL_SETTINGS if master.startswith("local") else {})
    builder = sql.SparkSession.builder.master(master).appName("nsed")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        made = builder.getOrCreate()
    except Exception as error:
        expected = "local[N], local-cluster[EXECUTORS,CORES,MB], spark://HOST:PORT, yarn or k8s://..., that answers"
        reason = str(getattr(error, "desc", None) or error).splitlines()[0]
        raise ArgumentError("--master", got=f"{master} ({reason})", expected=expected) from None
    made.sparkContext.setLogLevel("ERROR")
    return made


def shard_plans(files: Sequence[InputFile], batch_rows: int, shard_rows: int) -> list[ShardPlan]:
    """Shards of files, each of one file and of whole batches; rows of texts may be fewer than their lines.

    >>> [one.start[:2] for one in shard_plans([InputFile("a", 0, "", 25), InputFile("b", 0, "", 10)], 10, 20)]
    [(0, 0), (0, 20), (1, 0)]
    """
    size, batch = -(-shard_rows // batch_rows) * batch_rows, 0
    found: list[ShardPlan] = []
    for number, file in enumerate(files):
        for row in range(0, max(file.rows, 1), size):
            rows = min(size, max(file.rows, 1) - row)
            found.append(ShardPlan(len(found), Position(number, row, batch), rows))
            batch += -(-rows // batch_rows)
    return found


class TableRows(NamedTuple):
    """Rows of a job over tables, and the answers to them, on an executor, which has the model from the driver."""

    shipped: Any
    inputs: Inputs
    output: FileOutput | FolderOutput
    options: RunOptions
    ask: Ask
    device: str

    @classmethod
    def of(cls, context: Any, run: TableRun, model: Any, ask: Ask, *, device: str) -> "TableRows":
        """Rows of a run, the model broadcast."""
        inputs, output = replace(run.inputs, files=[file.absolute() for file in run.inputs.files]), run.output
        assert isinstance(output, FileOutput | FolderOutput)
        options = run.options._replace(progress=silent)
        return cls(context.broadcast(_packed(model)), inputs, output, options, ask, device)

    def write(self, plan: ShardPlan, shard: ShardInProgress) -> None:
        """Write the answers to the rows of a shard."""
        model = _unpacked(self.shipped.value, self.device)
        own = replace(self.inputs, files=self.inputs.files[: plan.start.file + 1])
        TableRun(self.ask(model), own, self.output, self.options).write_rows(plan.start, plan.rows, shard)


class LinkedRecords(NamedTuple):
    """Records to be linked, and their comparison, on an executor: it reads the tables, models are from the driver."""

    shipped: Any
    folder: ShardFolder
    name: str
    """Name of this run: what an executor has made of another one is of no use."""
    device: str

    @classmethod
    def of(cls, context: Any, job: LinkJob, folder: ShardFolder, *, device: str) -> "LinkedRecords":
        """Records of a job, which is broadcast with its models."""
        right = None if job.right is None else Path(job.right).absolute()
        here = replace(job, left=Path(job.left).absolute(), right=right, engine=None, progress=silent)
        return cls(context.broadcast(here.with_models(_packed)), folder, uuid4().hex, device)

    def write(self, plan: ShardPlan, shard: ShardInProgress) -> None:
        """Write the pairs of the records of a shard, and their evidence."""
        _made((self.name, self.device), self._run).write(plan, shard)

    def _run(self) -> LinkRun:
        job: LinkJob = self.shipped.value
        return job.with_models(lambda packed: _loaded(packed, self.device)).run_from_files(self.folder)


class WrittenShard(NamedTuple):
    """What comes back from an executor: its shard, or what is wrong with rows or folder, and what it warned of."""

    shard: Shard | NsedError
    warnings: list[Warning]


class ShardWriter:
    """Writing of shards on an executor, with as many threads as the driver has."""

    def __init__(self, rows: TableRows | LinkedRecords, folder: ShardFolder, done: Any) -> None:
        self.rows, self.folder, self.done, self.threads = rows, folder, done, torch.get_num_threads()

    def __call__(self, plan: ShardPlan) -> WrittenShard:
        """Write a shard; what is wrong with the rows, or the folder, is no fault of the executor, and comes back."""
        torch.set_num_threads(self.threads)
        with warnings.catch_warnings(record=True) as caught:
            shard = self._written(plan)
        ours = []
        for one in caught:
            if isinstance(one.message, Warning) and one.category.__module__ == NsedError.__module__:
                ours.append(one.message)
            else:  # goes to the executor's own log
                warnings.showwarning(one.message, one.category, one.filename, one.lineno)
        return WrittenShard(shard, ours)

    def _written(self, plan: ShardPlan) -> Shard | NsedError:
        try:
            with self.folder.part(plan.number) as current:
                self.rows.write(plan, current)
            shard = self.folder.record(plan.number, current)
        except NsedError as error:
            return error
        except OSError as error:
            where = f"an executor cannot use the folder {self.folder.path}: {error.strerror or error}"
            return DataError(self.folder.name, f"{where}. Expected a place that driver and executors see, with room")
        self.done.add(current.rows)
        return shard


def _write_shards(
    context: Any,
    rows: TableRows | LinkedRecords,
    folder: ShardFolder,
    plans: Sequence[ShardPlan],
    on_batch: OnBatch,
) -> None:
    """Write shards, wave by wave; each wave is in the manifest when it is done."""
    folder.path = folder.path.resolve()  # executors are in folders of their own
    writer, told, telling = ShardWriter(rows, folder, context.accumulator(0)), 0, Warnings()
    size = WAVES * max(context.defaultParallelism, 2)
    for first in range(0, len(plans), size):
        wave = plans[first : first + size]
        with ThreadPoolExecutor(1) as waiting:
            found = waiting.submit(context.parallelize(wave, len(wave)).map(writer).collect)
            while not found.done():
                time.sleep(POLLED)
                if (done := writer.done.value) > told:
                    on_batch(done - told)
                    told = done
        shards = _told(found.result(), telling)
        for one in shards:
            if not one.rows:  # a text has fewer rows than lines
                (folder.path / one.name).unlink()
        folder.add(one for one in shards if one.rows)


def _told(wave: Sequence[WrittenShard], telling: Warnings) -> list[Shard]:
    """Shards of a wave; their warnings are told, each once, and what an executor complained of is raised."""
    shards = []
    for one in wave:
        with telling.once():
            for message in one.warnings:
                warn(message)
        if isinstance(one.shard, NsedError):
            raise one.shard
        shards.append(one.shard)
    return shards
