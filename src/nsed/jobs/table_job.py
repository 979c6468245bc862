"""Bulk jobs over tables of any size: score, match and transduce files, batch by batch, in bounded memory."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

import torch

from nsed.errors import ArgumentError, DataError
from nsed.jobs.shards import InputFile, RejectedRow, count_rows, describe_inputs, model_hash, telling_what_is_kept
from nsed.jobs.table_files import OR_FORMAT, RowFormat, check_outputs, is_device, row_format
from nsed.jobs.table_output import REJECTS, FileOutput, FolderOutput, JobOutput, StreamOutput
from nsed.jobs.table_run import Inputs, Question, RunOptions, TableRun, decisions_of, samples_of, scores_of, targets_of
from nsed.kernels.switch import wanted
from nsed.models.transduction import OverridesLike
from nsed.progress import Progress, silent
from nsed.text import Pairs
from nsed.text.readers.batches import BatchOptions, input_files
from nsed.text.readers.delimited import Sources
from nsed.text.readers.lines import STDIN
from nsed.train.run_folder import versions

SHOWN = 10
"""Rejected rows that a summary names."""


class JobSummary(NamedTuple):
    """Job result: how many rows were read, written and rejected, with those from before it was resumed.

    >>> done = JobSummary(rows=1000, written=999, rejected=1, shown=[], rejects=Path("scores.rejects.tsv"))
    >>> f"{done.written} of {done.rows} rows; the others: {done.rejects}"
    '999 of 1000 rows; the others: scores.rejects.tsv'
    """

    rows: int
    """Rows of the input, with those that were rejected."""
    written: int
    """Rows of the output."""
    rejected: int
    shown: list[RejectedRow]
    """The first of the rejected rows."""
    rejects: Path | None
    """File of the rejected rows; None where there is none."""


Ask = Callable[[Any], Question]
"""From a model to what it is asked; one that can be pickled, so that the model need not be."""


class Engine(Protocol):
    """Who runs a job over tables."""

    identity: Mapping[str, Any]
    """What makes a job another one: its shards are others."""

    def run(self, run: TableRun, model: Any, ask: Ask) -> None:
        """Write all shards that are left of a run."""


class LocalEngine:
    """This process."""

    identity: Mapping[str, Any] = {}

    def run(self, run: TableRun, model: Any, ask: Ask) -> None:
        """See `Engine.run`."""
        run.run()


LOCAL = LocalEngine()


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
    """Names of the source, target and, optionally, label and language columns; of sources, of one column, and perhaps
    that of their languages, which is source_language unless it is named."""
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
    """Go on with the unfinished job of this output, which must be the same job; begin it where there is no output."""
    overwrite: bool = False
    """Begin again where an unfinished job, or a finished folder, is in the place of the output."""
    batch_rows: int | None = None
    """Rows that are read and answered together, no more than a shard has; None: 65,536, of contextual Matchers all."""
    shard_rows: int | None = None
    """Rows of a shard, at least, the last one aside; None: 262,144 pairs (of contextual Matchers 524,288) or 16,384
    sources."""
    engine: Engine = field(default=LOCAL, compare=False)
    """Who runs it: this process, or a cluster, see `nsed.spark.SparkEngine`; the output is the same."""
    progress: Progress = field(default=silent, compare=False)

    def check(self) -> None:
        """Check what can be checked before a model is there. Raises `ArgumentError` or `DataError`."""
        self._output()
        if self.rejects is not None:
            row_format(Path(self.rejects), argument="--rejects")

    def score(self, model: Any) -> JobSummary:
        """Give each pair its score: `source`, `target`, `score`, then the other columns of the input."""
        return self._run(model, scores_of)

    def match(self, model: Any) -> JobSummary:
        """Decide whether each pair matches: `source`, `target`, `match`, `probability`, then the other columns."""
        return self._run(model, decisions_of)

    def transduce(
        self,
        model: Any,
        *,
        nbest: int = 1,
        beam: int | None = None,
        overrides: OverridesLike | None = None,
    ) -> JobSummary:
        """Give each source its most probable targets: `source`, `target`, `log_prob`, then the other columns."""
        asked = partial(targets_of, nbest=nbest, beam=beam, overrides=overrides, language=self._language)
        return self._of_sources()._run(model, asked)

    def sample(self, model: Any, *, count: int, seed: int = 0) -> JobSummary:
        """Draw targets of each source by their probabilities; columns are those of `transduce`."""
        asked = partial(samples_of, count=count, seed=seed, language=self._language)
        return self._of_sources()._run(model, asked)

    @property
    def _language(self) -> str | None:
        """Column of the languages of sources, where it is named."""
        return self.columns[1] if self.columns is not None and len(self.columns) == 2 else None

    def _of_sources(self) -> "TableJob":
        """The same job, which reads the column of sources, and those of languages beside it."""
        return self if self._language is None or self.columns is None else replace(self, columns=self.columns[:1])

    def _run(self, model: Any, ask: Ask) -> JobSummary:
        self.check()
        question, output = ask(model), self._output()
        inputs = self._inputs(question, hashed=output.can_resume)
        with output.opened(self._identity(model, question, inputs), resume=self.resume, overwrite=self.overwrite):
            with telling_what_is_kept(output.name, lambda: output.kept):
                self.engine.run(TableRun(question, inputs, output, self._options(question)), model, ask)
            return self._finish(output)

    def _finish(self, output: JobOutput) -> JobSummary:
        rows, written, rejected = output.counts()
        shown = list(islice(output.rejected_rows(), SHOWN))
        rejects = self._rejects_file() if rejected or self.rejects is not None else None
        with telling_what_is_kept(output.name, lambda: output.kept):
            output.finish(rejects)
        if not written:
            where, why = (shown[0].path, f", the first as {shown[0].reject.reason}") if shown else ("input", "")
            raise DataError(where, f"no row can be used: every one was rejected{why}")
        return JobSummary(rows, written, rejected, shown, rejects)

    def _output(self) -> JobOutput:
        """JobOutput that is wanted, checked before any work is done."""
        if self.output is None:
            return StreamOutput(None, self.format or RowFormat.TSV, header=self.header)
        path = Path(self.output)
        if self._is_folder:
            return FolderOutput(path, self.format or RowFormat.PARQUET, header=self.header)
        form = self.format or row_format(path, argument="--output", advice=OR_FORMAT)
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

    def _written(self, question: Question) -> list[Path | None]:
        """Files that the job may put others in the place of."""
        output = [] if self.output is None else [Path(self.output)]
        folder = list(output[0].glob("*")) if self._is_folder else []
        rejects = self._rejects_file() if self._skips or question.may_not_answer else None
        if rejects in folder and rejects.name == REJECTS:  # those of an earlier run of the folder
            folder.remove(rejects)
        return [*output, *folder, rejects]

    @property
    def _skips(self) -> bool:
        """Whether rows that cannot be used are left out."""
        return self.on_error == "skip" or self.rejects is not None

    def _inputs(self, question: Question, *, hashed: bool) -> Inputs:
        if (self.batch_rows or 1) < 1 or (self.shard_rows or 1) < 1:
            raise ArgumentError(
                "batch_rows and shard_rows", got=(self.batch_rows, self.shard_rows), expected="1 or more"
            )
        if isinstance(self.inputs, Pairs | Sources):
            return Inputs([], [], self.inputs)
        files = input_files(self.inputs)
        check_outputs(self._written(question), files)
        if self.resume and STDIN in files:
            raise ArgumentError("--resume", got="standard input", expected="files, which can be read again")
        known = describe_inputs(files) if hashed else [InputFile(str(one), 0, "", count_rows(one)) for one in files]
        return Inputs(files, known)

    def _options(self, question: Question) -> RunOptions:
        shard_rows = self.shard_rows or question.shard_rows
        rows = min(self.batch_rows or question.batch_rows, shard_rows)
        reading = BatchOptions(self.columns, self._skips, rows, labels=False)  # no model asks for them
        return RunOptions(reading, self.ids, shard_rows, self.progress)

    def _identity(self, model: Any, question: Question, inputs: Inputs) -> Mapping[str, Any]:
        """What makes it the same job: all that the output depends on, but for rows that stop it or are skipped."""
        return {
            "verb": question.verb,
            "settings": dict(question.settings),
            "columns": None if self.columns is None else list(self.columns),
            "ids": list(self.ids),
            "header": self.header,
            "batch_rows": self.batch_rows or question.batch_rows,
            "shard_rows": self.shard_rows or question.shard_rows,
            "model": model_hash(model),
            "inputs": [one._asdict() for one in inputs.known],
            "device": str(getattr(model, "device", "cpu")),
            **self.engine.identity,
            "backend": wanted(),
            "threads": torch.get_num_threads() if hasattr(model, "network") else None,  # of sums, the last bit
            "versions": versions(),
        }
