"""Outputs of a job: one file, joined from its shards in the end; a folder of shards; or a stream, which has none."""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TextIO

import pyarrow as pa

from nsed.errors import ArgumentError
from nsed.jobs.shards import Position, RejectedRow, ShardFolder, ShardInProgress, check_unfinished
from nsed.jobs.table_files import BINARY, ArrowWriter, RowFormat, TextWriter, replacing, row_format, table_writer
from nsed.text.readers.delimited import Reject

PARTS, REJECTS = ".parts", "_rejects.tsv"
"""What the folder of a file's shards is called after the file; the file of rejected rows in a folder."""
REJECTS_AT_ONCE = 2**14


class JobOutput(Protocol):
    """Where a job writes: shard after shard, from a position in its inputs on."""

    form: RowFormat
    can_resume: bool
    name: str
    """What the output is called, in messages."""

    @property
    def position(self) -> Position:
        """Where the next shard begins."""

    @property
    def kept(self) -> str:
        """What is finished, for messages; empty where nothing is."""

    def opened(self, job: Mapping[str, Any], *, resume: bool, overwrite: bool) -> AbstractContextManager[None]:
        """Begin the job, or go on with it; while this lasts, no other job writes here."""

    def shard(self) -> AbstractContextManager[ShardInProgress]:
        """Write a shard: all of it, or nothing."""

    def counts(self) -> tuple[int, int, int]:
        """Rows of the input, of the output, and rejected ones, of all shards."""

    def rejected_rows(self) -> Iterator[RejectedRow]:
        """Rejected rows of all shards."""

    def finish(self, rejects: Path | None) -> None:
        """Put the output, if there is any, and the rejected rows into their places."""


class _Sharded:
    """Output in shards. Abstract: what becomes of them in the end is a matter of the output."""

    can_resume = True

    def __init__(self, path: Path, folder: ShardFolder, form: RowFormat) -> None:
        self.path, self.name, self.folder, self.form = path, str(path), folder, form

    @property
    def position(self) -> Position:
        """See `JobOutput.position`."""
        return self.folder.position

    @property
    def kept(self) -> str:
        """See `JobOutput.kept`."""
        return self.folder.kept

    @contextmanager
    def opened(self, job: Mapping[str, Any], *, resume: bool, overwrite: bool) -> Iterator[None]:
        with self.folder.lock():
            self.folder.begin(job, resume=resume, overwrite=overwrite)
            yield

    def shard(self) -> AbstractContextManager[ShardInProgress]:
        return self.folder.shard()

    def counts(self) -> tuple[int, int, int]:
        shards = self.folder.shards
        return sum(one.rows for one in shards), sum(one.written for one in shards), sum(one.rejected for one in shards)

    def rejected_rows(self) -> Iterator[RejectedRow]:
        return self.folder.rejected_rows()


class FileOutput(_Sharded):
    """One file, joined in the end from shards in the folder `FILE.parts`, which is then removed.

    Shards of Parquet are Arrow files: columns are encoded once, when they are joined.
    """

    def __init__(self, path: Path, form: RowFormat, *, header: bool) -> None:
        folder = path.resolve().with_name(path.name + PARTS)
        parts = RowFormat.ARROW if form in BINARY else form
        super().__init__(path, ShardFolder(folder, parts, name=str(path), header=header, headers=False), form)

    @contextmanager
    def opened(self, job: Mapping[str, Any], *, resume: bool, overwrite: bool) -> Iterator[None]:
        """See `JobOutput.opened`."""
        if resume:
            check_unfinished(self.path, self.folder.path)
        with super().opened(job, resume=resume, overwrite=overwrite):
            yield

    def finish(self, rejects: Path | None) -> None:
        """See `JobOutput.finish`."""
        parts = [part for part, shard in zip(self.folder.parts, self.folder.shards, strict=True) if shard.written]
        if parts:
            with replacing(self.path) as beside:
                (_join_arrow if self.form in BINARY else _join_text)(parts, beside, self.form)
        put_rejects(rejects, self.rejected_rows())
        self.folder.discard()


class FolderOutput(_Sharded):
    """A folder of shards, each a file of its own, with the manifest; rejected rows are in `_rejects.tsv`."""

    def __init__(self, path: Path, form: RowFormat, *, header: bool) -> None:
        super().__init__(path, ShardFolder(path, form, name=str(path), header=header, headers=True), form)

    def finish(self, rejects: Path | None) -> None:
        """See `JobOutput.finish`."""
        self.folder.parts  # noqa: B018  # raises where one is gone
        put_rejects(rejects, self.rejected_rows())
        self.folder.write_manifest(finished=True)
        self.folder.remove_rejects()


class StreamOutput:
    """Standard output, a device or a pipe: rows are written as they come, and nothing can be resumed."""

    can_resume, kept, position = False, "", Position()

    def __init__(self, path: Path | None, form: RowFormat, *, header: bool) -> None:
        if path is None and form in BINARY:
            raise ArgumentError("--format", got=form, expected="tsv, csv or json without --output FILE")
        self.form, self.name, self._path, self._header = form, str(path or "standard output"), path, header
        self._counts = (0, 0, 0)

    @contextmanager
    def opened(self, job: Mapping[str, Any], *, resume: bool, overwrite: bool) -> Iterator[None]:
        """See `JobOutput.opened`."""
        if resume:
            raise ArgumentError("--resume", got="an output that is no file", expected="--output FILE, or a folder")
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace") as log, self._open() as writer:
            self._log: TextIO = log
            self._writer = writer
            yield

    @contextmanager
    def _open(self) -> Iterator[TextWriter | ArrowWriter]:
        if self._path is None:
            yield TextWriter(sys.stdout, self.form, header=self._header)
            return
        with replacing(self._path) as path, table_writer(path, self.form, header=self._header) as writer:
            yield writer

    @contextmanager
    def shard(self) -> Iterator[ShardInProgress]:
        """See `JobOutput.shard`."""
        current = ShardInProgress(self._writer)
        yield current
        made = (current.rows, current.written, len(current.rejects))
        self._counts = (self._counts[0] + made[0], self._counts[1] + made[1], self._counts[2] + made[2])
        self._log.writelines(json.dumps([one.path, *one.reject]) + "\n" for one in current.rejects)

    def counts(self) -> tuple[int, int, int]:
        """See `JobOutput.counts`."""
        return self._counts

    def rejected_rows(self) -> Iterator[RejectedRow]:
        """See `JobOutput.rejected_rows`."""
        self._log.seek(0)
        for line in self._log:
            path, row, reason, cells = json.loads(line)
            yield RejectedRow(path, Reject(row, reason, cells))

    def finish(self, rejects: Path | None) -> None:
        """See `JobOutput.finish`."""
        put_rejects(rejects, self.rejected_rows())


def put_rejects(path: Path | None, rows: Iterable[RejectedRow]) -> None:
    """Write rejected rows to their file, if there is to be one: file, row, reason, cells as JSON."""
    if path is None:
        return
    form = row_format(path, argument="rejects")
    with replacing(path) as beside, table_writer(beside, form) as writer:
        left = iter(rows)
        writer.write(_reject_table(islice(left, REJECTS_AT_ONCE)))  # a header at least
        while some := list(islice(left, REJECTS_AT_ONCE)):
            writer.write(_reject_table(some))


def _reject_table(rows: Iterable[RejectedRow]) -> Mapping[str, Any]:
    listed = list(rows)
    return {
        "file": pa.array([one.path for one in listed], pa.string()),
        "row": pa.array([one.reject.row for one in listed], pa.int64()),
        "reason": pa.array([" ".join(one.reject.reason.split()) for one in listed], pa.string()),
        "cells": pa.array([json.dumps(one.reject.cells, ensure_ascii=False) for one in listed], pa.string()),
    }


def _join_text(parts: Iterable[Path], output: Path, form: RowFormat) -> None:
    with output.open("wb") as whole:
        for part in parts:
            with part.open("rb") as stream:
                shutil.copyfileobj(stream, whole, 2**20)


def _join_arrow(parts: Iterable[Path], output: Path, form: RowFormat) -> None:
    """Join Arrow files; a row group of Parquet is a shard."""
    with table_writer(output, form) as writer:
        assert isinstance(writer, ArrowWriter)
        for part in parts:
            with pa.OSFile(str(part)) as file:
                writer.write_arrow(pa.ipc.open_file(file).read_all())
