"""Shards of a job's output, each committed as a whole, and the manifest: hashes of model and inputs, what is done."""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow.dataset
import torch

from nsed.errors import ArgumentError, DataError, NsedError
from nsed.jobs.table_files import RowFormat, Table, TableWriter, table_writer
from nsed.text.readers.batches import TABLES
from nsed.text.readers.delimited import Reject
from nsed.text.readers.lines import STDIN
from nsed.train.run_folder import take_lock
from nsed.train.saved_model import replace_file

CHUNK = 2**20


class InputFile(NamedTuple):
    """Input file: what it is, and about how many rows it has."""

    path: str
    size: int
    sha256: str
    rows: int
    """Rows of a binary table; lines of a text, with its header and empty ones."""


def describe_inputs(paths: Sequence[Path]) -> list[InputFile]:
    """Sizes, hashes and rows of files; of standard input, nothing is known. Raises `DataError` for what is no file."""
    return [_described(path) for path in paths]


def _described(path: Path) -> InputFile:
    if path == STDIN:
        return InputFile(str(path), 0, "", 0)
    digest, size, lines = hashlib.sha256(), 0, 0
    try:
        with path.open("rb") as stream:
            while chunk := stream.read(CHUNK):
                digest.update(chunk)
                size, lines = size + len(chunk), lines + chunk.count(b"\n")
    except OSError as error:
        raise DataError(path, f"cannot be read: {error.strerror}") from None
    return InputFile(str(path), size, digest.hexdigest(), count_rows(path, lines))


def count_rows(path: Path, lines: int = 0) -> int:
    """Rows of a binary table, as its own description says; of others, the lines that are known of it."""
    ending = path.suffix.lower()
    if ending not in TABLES:
        return lines
    try:
        return int(pyarrow.dataset.dataset(path, format="parquet" if ending == ".parquet" else "ipc").count_rows())
    except (OSError, ValueError):  # whoever reads it says what is wrong
        return 0


def model_hash(model: Any) -> str | None:
    """SHA-256 of all that a model consists of; None of a model that is not ours, of which nobody knows."""
    if not hasattr(model, "contents"):
        return None
    contents, digest = model.contents(), hashlib.sha256()
    plain = {
        "kind": model.kind,
        "config": asdict(model.config),
        "vocabularies": {name: list(vocabulary.symbols) for name, vocabulary in contents.vocabularies.items()},
        "record": dict(contents.record),
    }
    digest.update(json.dumps(plain, sort_keys=True, default=str).encode())
    for name, tensor in sorted(contents.tensors.items()):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


MANIFEST, LOCK = "manifest.json", "job.lock"
OURS = re.compile(
    r"part-\d{5,}\.(tsv|csv|json|parquet|arrow|rejects)(\.[0-9a-f]+)?(\.part)?|_rejects\.tsv"
    r"|(manifest\.json|rules\.parquet)(\.part)?"
)
"""Names of files that a job writes into its folder; others beside them are not ours."""


class Position(NamedTuple):
    """Place in the inputs: where the next shard begins."""

    file: int = 0
    row: int = 0
    """Rows of that file that are done."""
    batch: int = 0
    """Batches that are done, of all files."""


class ShardPlan(NamedTuple):
    """Shard that somebody is to write: which one, from where on, and how many rows."""

    number: int
    start: Position
    rows: int


@dataclass(frozen=True)
class Shard:
    """Finished shard: its file, its size, and what it is made of."""

    name: str
    size: int
    """Bytes of the file: a shard of another size is not the one that was written."""
    rows: int
    """Rows of the input, with those that were rejected."""
    written: int
    rejected: int
    end: Position
    """Where the next shard begins."""


class RejectedRow(NamedTuple):
    """Rejected row, with its file."""

    path: str
    reject: Reject


@dataclass
class ShardInProgress:
    """Shard that is being written."""

    writer: TableWriter
    rows: int = 0
    written: int = 0
    end: Position = field(default_factory=Position)
    rejects: list[RejectedRow] = field(default_factory=list)

    def write(self, table: Table, count: int) -> None:
        """Write a table of so many rows; none is written of none."""
        if count:
            self.writer.write(table)
            self.written += count


class ShardFolder:
    """Folder of a job: its manifest, its finished shards, its lock.

    `name` is that of the output, in messages; `headers` says whether each shard has a header, as a file of its own
    has, or only the first.
    """

    def __init__(self, path: Path, form: RowFormat, *, name: str, header: bool, headers: bool) -> None:
        self.path, self.form, self.name, self._header, self._headers = path, form, name, header, headers
        self.job: Mapping[str, Any] = {}
        self.shards: list[Shard] = []

    @property
    def position(self) -> Position:
        """Where the next shard begins."""
        return self.shards[-1].end if self.shards else Position()

    @property
    def parts(self) -> list[Path]:
        """Files of the finished shards, in order. Raises `DataError` for one that is gone, or has another size."""
        for shard in self.shards:
            self._check(shard)
        return [self.path / shard.name for shard in self.shards]

    @property
    def kept(self) -> str:
        """What is finished, for messages; empty where nothing is."""
        rows = sum(shard.rows for shard in self.shards)
        return f"{rows:,} rows are finished and kept in {self.path}: go on with --resume" if rows else ""

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Folder lock: while it is held, no other job gets the folder. Raises `DataError` with who holds it."""
        made = not self.path.exists()
        with self._taken() as stream:
            try:
                yield
            finally:
                Path(stream.name).unlink(missing_ok=True)
                if made and not self.shards:
                    self.clear()

    def begin(self, job: Mapping[str, Any], *, resume: bool, overwrite: bool) -> None:
        """Begin a job here, or go on with it. Raises `DataError` where another one is unfinished, or finished.

        `job` is what makes it the same: settings, hashes of the model and of the inputs, versions.
        """
        found = self._manifest()
        if found is not None and resume:
            self._resume(found, job)
            return
        if found is not None and not overwrite:
            raise self._taken_already(found)
        self._check_foreign()
        self.clear(keep_folder=True)
        self.job, self.shards = json.loads(json.dumps(job)), []
        self.write_manifest(finished=False)

    @contextmanager
    def shard(self) -> Iterator[ShardInProgress]:
        """Write a shard: it is there, and in the manifest, once all is done; where anything fails, nothing is."""
        number = len(self.shards)
        with self.part(number) as current:
            yield current
        self.add([self.record(number, current)])

    @contextmanager
    def part(self, number: int) -> Iterator[ShardInProgress]:
        """Write the file of a shard, which is not in the manifest before it is added there.

        Whoever writes the same one at the same time, on whatever machine, writes another file first.
        """
        path = self.file(number)
        beside = path.with_name(f"{path.name}.{uuid4().hex}.part")
        header = self._header and (self._headers or not number)
        try:
            with table_writer(beside, self.form, header=header) as writer:
                current = ShardInProgress(writer)
                yield current
            if current.rejects:
                self._write_rejects(path, current.rejects)
            beside.replace(path)
        finally:
            beside.unlink(missing_ok=True)

    def file(self, number: int) -> Path:
        """File of a shard."""
        return self.path / f"part-{number:05d}.{self.form}"

    def record(self, number: int, current: ShardInProgress) -> Shard:
        """Record of a shard whose file is written."""
        counts, path = (current.rows, current.written, len(current.rejects)), self.file(number)
        return Shard(path.name, path.stat().st_size, *counts, current.end)

    def add(self, shards: Iterable[Shard]) -> None:
        """Add finished shards to the manifest, in their order."""
        self.shards += shards
        self.write_manifest(finished=False)

    def write_manifest(self, *, finished: bool) -> None:
        """Write the manifest: the job, its shards, what they hold together."""
        counts = {name: sum(getattr(shard, name) for shard in self.shards) for name in ("rows", "written", "rejected")}
        content = {"job": self.job, "finished": finished, **counts, "shards": [asdict(shard) for shard in self.shards]}
        replace_file(self.path / MANIFEST, json.dumps(content, indent=1).encode())

    def rejected_rows(self) -> Iterator[RejectedRow]:
        """Rejected rows of all shards."""
        for shard in self.shards:
            if not shard.rejected:
                continue
            with _rejects(self.path / shard.name).open(encoding="utf-8") as stream:
                for line in stream:
                    path, row, reason, cells = json.loads(line)
                    yield RejectedRow(path, Reject(row, reason, cells))

    def remove_rejects(self) -> None:
        """Remove the files of rejected rows, which are in their own place now."""
        for shard in self.shards:
            _rejects(self.path / shard.name).unlink(missing_ok=True)

    def clear(self, *, keep_folder: bool = False) -> None:
        """Remove all files of a job, and the folder where nothing else is in it."""
        with suppress(FileNotFoundError):
            for path in self.path.iterdir():
                if OURS.fullmatch(path.name):
                    path.unlink(missing_ok=True)
        if not keep_folder:
            with suppress(OSError):
                self.path.rmdir()

    def discard(self) -> None:
        """Remove the folder and all that is in it; the manifest goes first: without it there is nothing to resume."""
        (self.path / MANIFEST).unlink(missing_ok=True)
        shutil.rmtree(self.path, ignore_errors=True)

    def _taken(self) -> Any:
        try:
            self.path.mkdir(exist_ok=True)
            return take_lock(self.path / LOCK)
        except BlockingIOError as held:
            raise DataError(
                self.path, f"another job is going on here, {held.strerror}: wait for it, or end it"
            ) from None
        except OSError as error:
            where = self.path.parent if not self.path.exists() else self.path
            raise DataError(self.name, f"cannot be written: {where}: {error.strerror}") from None

    def _manifest(self) -> dict[str, Any] | None:
        try:
            found = json.loads((self.path / MANIFEST).read_bytes())
            shards = [Shard(**{**one, "end": Position(*one["end"])}) for one in found["shards"]]
            named = {name: found[name] for name in ("job", "finished", "rows")}
            return {**found, **named, "job": {**found["job"]}, "shards": shards}
        except FileNotFoundError:
            return None
        except (OSError, ValueError, LookupError, RecursionError, TypeError):
            raise DataError(self.path / MANIFEST, "damaged: begin again with --overwrite") from None

    def _resume(self, found: Mapping[str, Any], job: Mapping[str, Any]) -> None:
        if found["finished"]:
            raise DataError(self.path, "the job here is finished: there is nothing to resume")
        differences = compare_jobs(found["job"], json.loads(json.dumps(job)))
        if differences:
            what = "; ".join(differences)
            message = (
                f"the unfinished job here is another one: {what}. Resume that one, or begin again with --overwrite"
            )
            raise DataError(self.path, message)
        self.job, self.shards = found["job"], found["shards"]
        self.parts  # noqa: B018  # raises where one is gone

    def _taken_already(self, found: Mapping[str, Any]) -> DataError:
        if found["finished"]:
            return DataError(self.path, "a finished job is here; --overwrite puts another in its place")
        message = f"an unfinished job is here, with {found['rows']:,} rows done: go on with --resume"
        return DataError(self.path, f"{message}, or begin again with --overwrite")

    def _check_foreign(self) -> None:
        """Refuse a folder with files of others: which ones would be the job's, nobody could say later."""
        others = sorted(
            path.name for path in self.path.iterdir() if not OURS.fullmatch(path.name) and path.name != LOCK
        )
        if others:
            got = f"{self.path}, which has {', '.join(others[:3])}"
            raise ArgumentError("output", got=got, expected="a new folder, an empty one, or one of a job")

    def _check(self, shard: Shard) -> None:
        path = self.path / shard.name
        size = path.stat().st_size if path.is_file() else None
        if size != shard.size:
            what = "is gone" if size is None else f"has {size:,} bytes, not {shard.size:,}"
            raise DataError(path, f"the finished shard {what}: put it back, or begin again with --overwrite")

    def _write_rejects(self, part: Path, rejects: Sequence[RejectedRow]) -> None:
        lines = (json.dumps([one.path, *one.reject], ensure_ascii=False) + "\n" for one in rejects)
        replace_file(_rejects(part), "".join(lines).encode("utf-8", errors="backslashreplace"))


def check_unfinished(output: Path, parts: Path) -> None:
    """Refuse to go on with a file that is there without a folder of its job: it would be made again without a word."""
    if output.exists() and not parts.exists():
        instead = "it is finished, or of another job; without --resume it is made again"
        raise DataError(output, f"there is no unfinished job of this file: {instead}")


@contextmanager
def telling_what_is_kept(output: str, kept: Callable[[], str]) -> Iterator[None]:
    """Errors with a note on what is kept, if anything is; those of the system are `DataError` of the output."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = f"cannot be written: {os.strerror(error.errno) if error.errno else error}"
        raise DataError(output, "; ".join(filter(None, [reason, kept()]))) from None
    except (NsedError, KeyboardInterrupt) as error:
        if note := kept():
            error.add_note(note)
        raise


def _rejects(part: Path) -> Path:
    return part.with_suffix(".rejects")


def compare_jobs(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Differences between two jobs, in words; empty where they are the same.

    >>> compare_jobs({"verb": "score", "nbest": 1}, {"verb": "score", "nbest": 2})
    ['nbest was 1, is 2']
    """
    found = []
    for name in dict.fromkeys([*before, *now]):
        one, other = before.get(name), now.get(name)
        if one == other:
            continue
        if name == "inputs":
            found.append(_changed_inputs(one or [], other or []))
        elif name == "model":
            found.append("its model was another")
        else:
            found.append(f"{name} was {_shown(one)}, is {_shown(other)}")
    return [one for one in found if one]


def _shown(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _changed_inputs(before: Sequence[Mapping[str, Any]], now: Sequence[Mapping[str, Any]]) -> str:
    if len(before) != len(now):
        return f"it had {len(before)} input files, now there are {len(now)}"
    changed = [new["path"] for old, new in zip(before, now, strict=True) if old["sha256"] != new["sha256"]]
    return f"{', '.join(changed[:3])} {'has' if len(changed) == 1 else 'have'} other content" if changed else ""
