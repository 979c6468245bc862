"""Tables of answers: options of commands that write them; files of one table; long jobs, with their progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from nsed.cli.console import err, progress_bar, warn
from nsed.errors import ArgumentError
from nsed.jobs.table_files import BINARY, OR_FORMAT, RowFormat, Table, TextWriter, replacing, row_format, table_writer

if TYPE_CHECKING:
    from nsed.jobs import JobSummary
    from nsed.jobs.table_job import Engine
    from nsed.progress import OnBatch, Progress
    from nsed.spark import SparkEngine

RowFormatOption = Annotated[
    RowFormat | None,
    typer.Option(
        "--format",
        help="By default by the ending of --output: .tsv, .csv, .json (a line for each row), .parquet, .arrow or "
        ".feather; else tsv.",
        show_default=False,
    ),
]
TableFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write here instead of to standard output, in the format of the ending: .tsv, .csv, .json, .parquet, "
        ".arrow or .feather.",
    ),
]
Header = Annotated[bool, typer.Option("--header/--no-header", help="Names of the columns first, in TSV and CSV.")]
JobOutput = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        help="Write here instead of to standard output, in the format of the ending, see --format; a name that ends "
        "in / is a folder of shards, Parquet by default.",
        show_default=False,
    ),
]
Ids = Annotated[
    str | None,
    typer.Option("--id", help="Columns of the input to write first, say id or id_a,id_b.", show_default=False),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on with the unfinished job of this output: same inputs, model and settings; the result is the same "
        "as without interruption.",
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Begin again where an unfinished job, or a finished folder, is.")
]
ShardRows = Annotated[
    int | None,
    typer.Option(
        "--shard-rows",
        min=1,
        help="Rows after which what is done is safe from a kill: 262,144 pairs (524,288 of a contextual Matcher), "
        "16,384 sources.",
        show_default=False,
    ),
]


EngineOption = Annotated[
    Literal["local", "spark"],
    typer.Option(
        "--engine",
        help="Who does the work: this process, or executors of a Spark cluster (extra spark, Java 17), to the same "
        "output. All of them must see the files, and have nsed installed.",
    ),
]
Master = Annotated[
    str,
    typer.Option(
        "--master",
        help="Spark cluster: local[N], spark://HOST:PORT, yarn, as spark-submit takes it.",
    ),
]


def engine_of(engine: Literal["local", "spark"], master: str) -> Engine:
    """Engine of a job over tables that the user means."""
    from nsed.jobs.table_job import LOCAL

    return cluster_of(engine, master) or LOCAL


def cluster_of(engine: Literal["local", "spark"], master: str) -> SparkEngine | None:
    """Cluster that the user means; None: this process."""
    if engine == "local":
        return None
    from nsed.spark import SparkEngine, check_spark

    check_spark()
    return SparkEngine(master)


@contextmanager
def telling_interruption() -> Iterator[None]:
    """Say what is kept of a job when somebody interrupts it."""
    try:
        yield
    except KeyboardInterrupt as interruption:
        for note in getattr(interruption, "__notes__", ()):
            err.print(note, markup=False)
        raise


class TableOutput(NamedTuple):
    """Table output: where the rows go, and how."""

    path: Path | None
    form: RowFormat
    header: bool

    @classmethod
    def of(cls, path: Path | None, form: RowFormat | None, header: bool) -> TableOutput:
        """What the user wants, checked before any work is done."""
        chosen = form or (RowFormat.TSV if path is None else row_format(path, argument="--output", advice=OR_FORMAT))
        if path is None and chosen in BINARY:
            raise ArgumentError("--format", got=chosen, expected="tsv, csv or json without --output FILE")
        return cls(path, chosen, header)

    def write(self, table: Table) -> None:
        """Write all rows."""
        if self.path is None:
            TextWriter(sys.stdout, self.form, header=self.header).write(table)
            return
        with replacing(self.path) as beside, table_writer(beside, self.form, header=self.header) as writer:
            writer.write(table)


class OnError(StrEnum):
    """Error policy: what to do about rows that cannot be used."""

    STOP = "stop"
    SKIP = "skip"


OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="What to do about rows that cannot be used, say with a null, an invalid label or too few columns: "
        "stop at the first, or skip them.",
    ),
]
RejectsFile = Annotated[
    Path | None,
    typer.Option(
        "--rejects",
        help="Skip such rows, and write them here: file, row, reason, cells; OUTPUT.rejects.tsv by default.",
        show_default=False,
    ),
]
SECONDS_BETWEEN = 30
"""Seconds between two lines on the progress of a job whose standard error is no terminal."""


def job_progress(unit: str) -> Progress:
    """Progress of a job: a bar with the time left; without a terminal, a line now and then."""

    @contextmanager
    def shown(what: str, total: int | None) -> Iterator[OnBatch]:
        begun = told = time.monotonic()
        done = 0
        with progress_bar(what, total, unit=unit) as bar:

            def advance(count: int) -> None:
                nonlocal told, done
                done += count
                bar.advance(count)
                now = time.monotonic()
                if not err.is_terminal and now - told >= SECONDS_BETWEEN:
                    told = now
                    bar.comment(_pace(done, total, now - begun, unit))

            yield advance

    return shown


def _pace(done: int, total: int | None, seconds: float, unit: str) -> str:
    """Speed, and the time that is left.

    >>> _pace(1000, 4000, 10.0, "pairs")
    '100 pairs/s, 0:00:30 left'
    """
    speed = done / max(seconds, 1e-9)
    left = "" if total is None else f", {timedelta(seconds=round(max(total - done, 0) / speed))} left"
    return f"{speed:,.0f} {unit}/s{left}"


def report_rejects(summary: JobSummary) -> None:
    """Say how many rows were skipped, and which."""
    if not summary.rejected:
        return
    shown = "; ".join(f"row {one.reject.row}: {one.reject.reason}" for one in summary.shown)
    more = "; ..." if summary.rejected > len(summary.shown) else ""
    where = f"; all are in {summary.rejects}" if summary.rejects else ""
    rows = "1 row" if summary.rejected == 1 else f"{summary.rejected:,} rows"
    warn(f"{rows} skipped: {shown}{more}{where}")
