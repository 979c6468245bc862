"""Bulk jobs over tables of any size: score, match and transduce files, batch by batch, in bounded memory."""

import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa

from nsed.errors import ArgumentError, CutOutputWarning, DataError, NsedError, TooLongError, UnknownSymbolWarning
from nsed.jobs.provenance import InputFile, count_rows, describe_inputs, model_hash
from nsed.jobs.questions import Answers, Question, decisions_of, samples_of, scores_of, targets_of
from nsed.jobs.shards import Position, RejectedRow, ShardInProgress
from nsed.jobs.table_files import RowFormat, Table, answered, is_device, other_columns, row_format, unwritable
from nsed.jobs.table_output import REJECTS, FileOutput, FolderOutput, Output, StreamOutput
from nsed.kernels.switch import wanted
from nsed.models.transduction import Overrides
from nsed.progress import OnBatch, Progress, silent
from nsed.text import Pairs
from nsed.text.readers.batches import BatchOptions, RowBatch, chosen_rows, input_files, split_batch
from nsed.text.readers.delimited import Reject, Sources
from nsed.text.readers.lines import STDIN
from nsed.train.run_folder import versions

ROWS_PER_BATCH, SHOWN = 2**16, 10
"""Rows that are read and answered together, and rejected rows that a summary names."""


class JobSummary(NamedTuple):
    """What a job has done, with what was done of it before it was resumed."""

    rows: int
    """Rows of the input, with those that were rejected."""
    written: int
    """Rows of the output."""
    rejected: int
    shown: list[RejectedRow]
    """The first of the rejected rows."""
    rejects: Path | None
    """File of the rejected rows; None where there is none."""


@dataclass(frozen=True)
class TableJob:
    r"""Job over tables: which rows to read, and where the answers go. `score`, `match` and `transduce` run it.

    >>> import tempfile, nsed
    >>> from pyarrow import parquet
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "pairs.tsv").write_text("source\ttarget\tid\ngrey\tgray\t7\n")
    >>> model = nsed.LearnableEditDistance.fit([("grey", "gray"), ("colour", "color")], iterations=1)
    >>> TableJob(folder / "pairs.tsv", folder / "scores.parquet", ids=["id"]).score(model).written
    1
    >>> parquet.read_table(folder / "scores.parquet").column_names
    ['id', 'source', 'target', 'score']
    """

    inputs: str | Path | Sequence[str | Path] | Pairs | Sources
    """Files, globs, folders; `-` is standard input."""
    output: str | Path | None = None
    """File, in the format of its ending; a folder, which exists or whose name ends in `/`; None: standard output."""
    columns: Sequence[str] | None = None
    """Names of the source, target and, optionally, label and language columns; of sources, of one column."""
    ids: Sequence[str] = ()
    """Columns of the input that come first in the output."""
    format: RowFormat | None = None
    """Output format; None: by the ending of the output, Parquet in a folder."""
    header: bool = True
    """Names of the columns first, in TSV and CSV."""
    on_error: Literal["stop", "skip"] = "stop"
    """What to do about a row that cannot be used: raise `DataError`, or go on and write it to `rejects`."""
    rejects: str | Path | None = None
    """File of rejected rows; None: `OUTPUT.rejects.tsv`, `_rejects.tsv` in a folder, none of standard output."""
    resume: bool = False
    """Go on with the unfinished job of this output, which must be the same job; begin it where there is none."""
    overwrite: bool = False
    """Begin again where an unfinished job, or a finished folder, is in the place of the output."""
    batch_rows: int = ROWS_PER_BATCH
    """Rows that are read and answered together."""
    shard_rows: int | None = None
    """Rows of a shard, at least; None: 262,144 pairs or 16,384 sources."""
    progress: Progress = field(default=silent, compare=False)

    def check(self) -> None:
        """Check what can be checked before a model is there. Raises `ArgumentError` or `DataError`."""
        self._output()
        if self.rejects is not None:
            row_format(Path(self.rejects), argument="--rejects")

    def score(self, model: Any) -> JobSummary:
        """Give each pair its score: `source`, `target`, `score`, then the other columns of the input."""
        return self._run(model, scores_of(model))

    def match(self, model: Any) -> JobSummary:
        """Decide whether each pair matches: `source`, `target`, `match`, `probability`, then the other columns."""
        return self._run(model, decisions_of(model))

    def transduce(
        self,
        model: Any,
        *,
        nbest: int = 1,
        beam: int | None = None,
        overrides: Overrides | str | Path | None = None,
    ) -> JobSummary:
        """Give each source its most probable targets: `source`, `target`, `log_prob`, then the other columns."""
        return self._run(model, targets_of(model, nbest=nbest, beam=beam, overrides=overrides))

    def sample(self, model: Any, *, count: int, seed: int = 0) -> JobSummary:
        """Draw targets of each source by their probabilities; columns are those of `transduce`."""
        return self._run(model, samples_of(model, count=count, seed=seed))

    def _run(self, model: Any, question: Question) -> JobSummary:
        self.check()
        output = self._output()
        inputs = self._inputs(question, hashed=output.can_resume)
        with output.opened(self._identity(model, question, inputs), resume=self.resume, overwrite=self.overwrite):
            with _advised(output):
                _Run(self, question, inputs, output).run()
            return self._finish(output)

    def _finish(self, output: Output) -> JobSummary:
        rows, written, rejected = output.counts()
        shown = list(islice(output.rejected_rows(), SHOWN))
        rejects = self._rejects_file() if rejected or self.rejects is not None else None
        with _advised(output):
            output.finish(rejects)
        if not written:
            where = shown[0].path if shown else str(self.inputs)
            raise DataError(where, "no row can be used: every one was rejected")
        return JobSummary(rows, written, rejected, shown, rejects)

    def _output(self) -> Output:
        """Output that is wanted, checked before any work is done."""
        if self.output is None:
            return StreamOutput(None, self.format or RowFormat.TSV, header=self.header)
        path = Path(self.output)
        if self._is_folder:
            return FolderOutput(path, self.format or RowFormat.PARQUET, header=self.header)
        form = self.format or row_format(path, argument="--output")
        if is_device(path):
            return StreamOutput(path, form, header=self.header)
        return FileOutput(path, form, header=self.header)

    @property
    def _is_folder(self) -> bool:
        return self.output is not None and (str(self.output).endswith("/") or Path(self.output).is_dir())

    def _rejects_file(self) -> Path | None:
        if self.rejects is not None or self.output is None:
            return None if self.rejects is None else Path(self.rejects)
        path = Path(self.output)
        if self._is_folder:
            return path / REJECTS
        return None if is_device(path) else path.with_name(path.name + ".rejects.tsv")

    def _inputs(self, question: Question, *, hashed: bool) -> "Inputs":
        if self.batch_rows < 1 or (self.shard_rows or 1) < 1:
            raise ArgumentError(
                "batch_rows and shard_rows", got=(self.batch_rows, self.shard_rows), expected="1 or more"
            )
        if isinstance(self.inputs, Pairs | Sources):
            return Inputs([], [], self.inputs)
        files = input_files(self.inputs)
        if self.resume and STDIN in files:
            raise ArgumentError("--resume", got="standard input", expected="files, which can be read again")
        known = describe_inputs(files) if hashed else [InputFile(str(one), 0, "", count_rows(one)) for one in files]
        return Inputs(files, known)

    def _identity(self, model: Any, question: Question, inputs: "Inputs") -> Mapping[str, Any]:
        """What makes it the same job: all that the output depends on, but for rows that stop it or are skipped."""
        return {
            "verb": question.verb,
            "settings": dict(question.settings),
            "columns": None if self.columns is None else list(self.columns),
            "ids": list(self.ids),
            "header": self.header,
            "batch_rows": self.batch_rows,
            "shard_rows": self.shard_rows or question.shard_rows,
            "model": model_hash(model),
            "inputs": [one._asdict() for one in inputs.known],
            "device": str(getattr(model, "device", "cpu")),
            "backend": wanted(),
            "versions": versions(),
        }


@dataclass(frozen=True)
class Inputs:
    """Inputs of a job: files, and what is known of them; or rows that are in memory."""

    files: Sequence[Path]
    known: Sequence[InputFile]
    content: Pairs | Sources | None = None

    def rows_from(self, position: Position) -> int | None:
        """About how many rows there are from a position on; None where nobody knows."""
        if self.content is not None:
            return len(self.content if isinstance(self.content, Pairs) else self.content.texts)
        counts = [one.rows for one in self.known]
        return sum(counts[position.file :]) - position.row if all(counts) else None


class PlacedBatch(NamedTuple):
    """Batch of a job, and where the next one begins."""

    batch: RowBatch
    number: int
    end: Position


class _Run:
    """One run of a job, from where its output is to the end of its inputs."""

    def __init__(self, job: TableJob, question: Question, inputs: Inputs, output: Output) -> None:
        self.job, self.question, self.inputs, self.output = job, question, inputs, output
        self.skip = job.on_error == "skip" or job.rejects is not None
        self.options = BatchOptions(job.columns, self.skip, job.batch_rows)
        self.columns: tuple[Path, pa.Schema | None] | None = None
        """File whose further columns all others must have, and these."""

    def run(self) -> None:
        """Write all shards that are left."""
        start = self.output.position
        if start.file:  # columns are those of the first file, which is read no more
            self._fitting(next(self.question.batches(self.inputs.files[0], self.options)))
        batches, telling = self._batches(start), _Telling()
        shard_rows = self.job.shard_rows or self.question.shard_rows
        with self.job.progress(self.question.verb, self.inputs.rows_from(start)) as on_batch:
            while first := next(batches, None):
                with self.output.shard() as shard:
                    self._write(first, shard, on_batch, telling)
                    while shard.rows < shard_rows and (placed := next(batches, None)):
                        self._write(placed, shard, on_batch, telling)

    def _batches(self, start: Position) -> Iterator[PlacedBatch]:
        number = start.batch
        if self.inputs.content is not None:
            texts = self.inputs.content.sources if isinstance(self.inputs.content, Pairs) else self.inputs.content.texts
            batch = RowBatch(Path("input"), self.inputs.content, range(1, len(texts) + 1), [], len(texts))
            yield PlacedBatch(batch, number, Position(0, len(texts), 1))
            return
        for file in range(start.file, len(self.inputs.files)):
            row = start.row if file == start.file else 0
            for batch in self.question.batches(self.inputs.files[file], self.options, start=row):
                row, number = row + batch.rows, number + 1
                yield PlacedBatch(batch, number - 1, Position(file, row, number))

    def _write(self, placed: PlacedBatch, shard: ShardInProgress, on_batch: OnBatch, telling: "_Telling") -> None:
        """Write the answers to a batch to a shard, and what it rejects."""
        rejects = list(placed.batch.rejects)
        batch = self._writable(self._fitting(placed.batch), rejects)
        with telling.once():
            for part, answers in self._answers(batch, placed.number, rejects):
                table, rows = self._table(part, answers)
                shard.write(table, rows)
        rejects.sort(key=lambda reject: reject.row)
        shard.rejects += [RejectedRow(str(batch.path), reject) for reject in rejects]
        shard.rows, shard.end = shard.rows + placed.batch.rows, placed.end
        on_batch(placed.batch.rows)

    def _answers(self, batch: RowBatch, number: int, rejects: list[Reject]) -> Iterator[tuple[RowBatch, Answers]]:
        """Answers to a batch; where a row is too long for the model, to halves of it, until that row is alone."""
        if not len(batch.numbers):
            return
        try:
            yield batch, self.question.answer(batch.content, number)
            return
        except TooLongError as error:
            if self.inputs.content is not None:
                raise
            if len(batch.numbers) == 1:
                self._reject(batch, 0, str(error).replace(" at place 0", ""), rejects)
                return
        for half in split_batch(batch):
            yield from self._answers(half, number, rejects)

    def _reject(self, batch: RowBatch, row: int, reason: str, rejects: list[Reject]) -> None:
        if not self.skip:
            raise DataError(batch.path, reason, line=batch.numbers[row])
        cells = [str(value) for value in self._row(batch, row)]
        rejects.append(Reject(batch.numbers[row], reason, cells))

    def _row(self, batch: RowBatch, row: int) -> list[object]:
        table, _ = self._table(chosen_rows(batch, [row]), Answers({}))
        return [next(iter(column.to_pylist() if hasattr(column, "to_pylist") else column)) for column in table.values()]

    def _writable(self, batch: RowBatch, rejects: list[Reject]) -> RowBatch:
        """Rows that the output's format can hold; others are rejected, before a model spends time on them."""
        table, _ = self._table(batch, Answers({}))
        bad = set(unwritable(table, self.output.form))
        if not bad or self.inputs.content is not None:
            return batch
        for row in sorted(bad):
            reason = f"text with a tab or a line break, which TSV cannot hold: {self._row(batch, row)}"
            self._reject(batch, row, f"{reason}. Use --format json or csv, or -o FILE.parquet", rejects)
        return chosen_rows(batch, [row for row in range(len(batch.numbers)) if row not in bad])

    def _table(self, batch: RowBatch, answers: Answers) -> tuple[Table, int]:
        """Output rows: ids, what was asked, the answers, other columns; and how many."""
        content, rows = batch.content, answers.rows
        others = other_columns(content) if isinstance(content, Pairs) else content.others
        given: dict[str, Any] = {"source": content.sources if isinstance(content, Pairs) else content.texts}
        if isinstance(content, Pairs):
            given["target"] = content.targets
        if rows is not None:
            given = {name: [column[row] for row in rows.tolist()] for name, column in given.items()}
            others = None if others is None else others.take(rows)
        ids = {name: self._id(batch, others, name) for name in self.job.ids}
        others = others.drop_columns(list(ids)) if others is not None and ids else others
        return answered({**ids, **given}, answers.columns, others), len(given["source"])

    def _id(self, batch: RowBatch, others: pa.Table | None, name: str) -> Any:
        known = [] if others is None else others.column_names
        if name not in known:
            expected = (
                f"one of {', '.join(known)}" if known else "none: there are no columns beside those that are read"
            )
            raise ArgumentError("--id", got=repr(name), expected=f"{expected} ({batch.path})")
        return others.column(name) if others is not None else None

    def _fitting(self, batch: RowBatch) -> RowBatch:
        """The same batch, whose further columns have the types of those of the first file. Raises `DataError`."""
        others = other_columns(batch.content) if isinstance(batch.content, Pairs) else batch.content.others
        schema = None if others is None else others.schema
        if self.columns is None:
            self.columns = (batch.path, schema)
        first, expected = self.columns
        if schema == expected:
            return batch
        names, wanted_names = (list(one.names) if one is not None else [] for one in (schema, expected))
        if names != wanted_names:
            message = f"has the further columns {names}, but {first} has {wanted_names}: expected the same in all files"
            raise DataError(batch.path, message)
        return _cast(batch, first, expected)


def _cast(batch: RowBatch, first: Path, schema: pa.Schema) -> RowBatch:
    """Batch whose further columns have the types of a schema, which may have those of labels and languages too."""
    others = batch.content.others
    fields = pa.schema([schema.field(name) for name in others.column_names])
    try:
        cast = others.cast(fields)
    except (pa.ArrowException, ValueError) as error:
        raise DataError(batch.path, f"columns of other types than those of {first}: {error}") from None
    content = batch.content
    made = Sources(content.texts, cast) if isinstance(content, Sources) else replace(content, others=cast)
    return batch._replace(content=made)


class _Telling:
    """Warnings of all batches of a job: of each kind that any batch may give rise to, the first."""

    def __init__(self) -> None:
        self._said: set[type[Warning]] = set()

    @contextmanager
    def once(self) -> Iterator[None]:
        """Answer a batch."""
        caught: list[warnings.WarningMessage] = []
        try:
            with warnings.catch_warnings(record=True) as caught:
                for category in OF_BATCHES:
                    warnings.simplefilter("always", category)
                yield
        finally:
            for one in caught:
                if one.category not in self._said:
                    warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
                self._said |= {one.category} & set(OF_BATCHES)


OF_BATCHES = (UnknownSymbolWarning, CutOutputWarning)


@contextmanager
def _advised(output: Output) -> Iterator[None]:
    """Errors with a note on what is kept; those of the system are `DataError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise DataError(output.name, "; ".join(filter(None, [_reason(error), output.kept]))) from None
    except (NsedError, KeyboardInterrupt) as error:
        if output.kept:
            error.add_note(output.kept)
        raise


def _reason(error: OSError) -> str:
    return f"cannot be written: {os.strerror(error.errno) if error.errno else error}"
