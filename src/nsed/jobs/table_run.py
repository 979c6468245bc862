"""Runs of jobs over tables: what a model is asked, from batches of rows to answers, and to the shards of the output."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from nsed.capabilities import Capability, by_language, can
from nsed.errors import (
    ArgumentError,
    CutOutputWarning,
    DataError,
    DoubtfulLinksWarning,
    TooLongError,
    UnknownLanguageWarning,
    UnknownSymbolWarning,
)
from nsed.jobs.shards import InputFile, Position, RejectedRow, ShardInProgress, describe_inputs
from nsed.jobs.table_files import Table, answered, other_columns, unwritable
from nsed.jobs.table_output import JobOutput
from nsed.models.transduction import Overrides, OverridesLike
from nsed.progress import OnBatch, Progress, SteadyMemory, ignore
from nsed.text import Pairs
from nsed.text.readers.batches import (
    BatchOptions,
    RowBatch,
    chosen_rows,
    pair_batches,
    source_batches,
    split_batch,
)
from nsed.text.readers.delimited import Reject, Sources, shown_cells

ROWS_PER_BATCH, PAIRS_PER_SHARD, SOURCES_PER_SHARD = 2**16, 2**18, 2**14
"""Rows that are read and answered together, and rows of a shard: at most so many are lost when a job is killed;
sources take their time."""
CONTEXTUAL_ROWS = 2**19
"""Pairs of a batch, and of a shard, of a model that encodes each different string of a batch once, in context: that is
most of its work, and the more pairs there are, the more often strings are the same."""
NO_ANSWER = "the model has no answer to it"
"""Why a row is rejected that could be read."""


class BatchAnswers(NamedTuple):
    """Answers to a batch: columns, and for each row of them its row in the batch, where these are not the same."""

    columns: Table
    rows: np.ndarray | None = None


@dataclass(frozen=True)
class Question:
    """Question to a model: what is read, what is asked, what the answers depend on."""

    verb: str
    unit: str
    settings: Mapping[str, Any]
    """What the answers depend on beside the model and the input."""
    batches: Callable[..., Iterator[RowBatch]]
    """Batch reader, of pairs or of sources."""
    answer: Callable[[Any, int], BatchAnswers]
    """Answers to what a batch holds, by its number."""
    shard_rows: int
    batch_rows: int = ROWS_PER_BATCH
    faults: Callable[[Any], Mapping[int, str]] = lambda _: {}
    """Rows of what a batch holds that cannot be answered, with the reason."""
    may_not_answer: bool = False
    """Whether the model may have no answer to a row, which is rejected then, whatever is done about others."""


def pair_rows(model: Any) -> dict[str, Any]:
    """Rows of a shard and of a batch of pairs, for a model."""
    encoder = getattr(getattr(model, "network", None), "source_encoder", None)
    if encoder is not None and encoder.encoder.sees_context:
        return {"shard_rows": CONTEXTUAL_ROWS, "batch_rows": CONTEXTUAL_ROWS}
    return {"shard_rows": PAIRS_PER_SHARD}


def scores_of(model: Any) -> Question:
    """Scores of pairs."""

    def answer(pairs: Pairs, _: int) -> BatchAnswers:
        return BatchAnswers({"score": model.score(pairs)})

    language = getattr(model, "language", None)
    settings = {} if language is None else {"language": language}
    faults = partial(_pairs_of_unknown_languages, model)
    return Question("score", "pairs", settings, pair_batches, answer, faults=faults, **pair_rows(model))


def decisions_of(model: Any) -> Question:
    """Decisions about pairs, and their calibrated probabilities. Raises `ArgumentError` where a model makes none."""
    if not can(model, Capability.MATCH):
        expected = "a matcher, or another model that has learned from labelled pairs"
        raise ArgumentError("model", got=f"a {type(model).__name__} that makes no decisions", expected=expected)

    def answer(pairs: Pairs, _: int) -> BatchAnswers:
        scores = model.score(pairs)
        return BatchAnswers({"match": scores >= model.threshold, "probability": model.calibration.probability(scores)})

    return Question("match", "pairs", {}, pair_batches, answer, **pair_rows(model))


def targets_of(
    model: Any,
    *,
    nbest: int = 1,
    beam: int | None = None,
    overrides: OverridesLike | None = None,
    language: str | None = None,
) -> Question:
    """Most probable targets of sources, see `Transducer.transduce`; `override` marks those of overrides.

    A model of several languages reads each source's own in the column `language`, see `languages_of`.
    """
    _check_transducer(model)
    given = None if overrides is None else Overrides.of(overrides)

    def answer(sources: Sources, _: int) -> BatchAnswers:
        spoken = languages_of(model, sources, language)
        own = {} if spoken is None else {"languages": spoken}
        found = model.transduce(sources.texts, nbest=nbest, beam=beam, overrides=given, **own)
        return _listed(found, marked=given is not None)

    hashes = [one.sha256 for one in describe_inputs([given.path] if given and given.path else [])]
    spoken = getattr(model, "language", None) or language
    settings = {"nbest": nbest, "beam": beam, "overrides": hashes, "language": spoken}
    faults = partial(_unknown_languages, model, named=language)
    asked: dict[str, Any] = {"faults": faults, "may_not_answer": True}
    return Question("transduce", "words", settings, source_batches, answer, SOURCES_PER_SHARD, **asked)


SEEDS_APART = 1_000_003
"""Between the seeds of two batches of a job, so that seeds that are neighbours draw differently."""


def samples_of(model: Any, *, count: int, seed: int = 0, language: str | None = None) -> Question:
    """Targets drawn by their probabilities; each batch has a seed of its own, the first that which is given."""
    _check_transducer(model)

    def answer(sources: Sources, batch: int) -> BatchAnswers:
        own, found = seed + SEEDS_APART * batch, dict[int, list[Any]]()
        for speaker, rows in by_language(model, languages_of(model, sources, language), len(sources.texts)):
            drawn = speaker.sample([sources.texts[row] for row in rows], count=count, seed=own)
            found.update(zip(rows, drawn, strict=True))
        return _listed([found[row] for row in range(len(sources.texts))], marked=False)

    settings = {"sample": count, "seed": seed, "language": getattr(model, "language", None) or language}
    faults = partial(_unknown_languages, model, named=language)
    asked: dict[str, Any] = {"faults": faults, "may_not_answer": True}
    return Question("transduce", "words", settings, source_batches, answer, SOURCES_PER_SHARD, **asked)


LANGUAGES = ("source_language", "target_language")
"""Usual names of the columns of languages."""


def languages_of(model: Any, sources: Sources, named: str | None) -> list[str] | None:
    """Language of each source, for a model of several that is not for one: of the named column, or of the usual ones.

    None where there is none, or the model does not ask. Raises `DataError` for a column that there is not.
    """
    others = (
        {} if sources.others is None else dict(zip(sources.others.column_names, sources.others.columns, strict=True))
    )
    if named is not None and named not in others:
        known = ", ".join(others) or "none"
        raise DataError("sources", f"no column {named!r} for their languages; beside the sources: {known}")
    if getattr(model, "languages", None) is None or getattr(model, "language", None) is not None:
        return None
    sides = [others[one].to_pylist() for one in ([named] if named else LANGUAGES) if one in others]
    return ["-".join(dict.fromkeys(map(_language, both))) for both in zip(*sides, strict=True)] if sides else None


def _language(cell: object) -> str:
    return "" if cell is None else str(cell)


def _unknown_languages(model: Any, sources: Sources, *, named: str | None) -> dict[int, str]:
    """Rows of a language that a model has not learned, or of none, with the reason."""
    return _not_learned(model, languages_of(model, sources, named))


def _pairs_of_unknown_languages(model: Any, pairs: Pairs) -> dict[int, str]:
    """Such rows of pairs, for a transducer of several languages; for a matcher these are one more hint, if known."""
    if getattr(model, "languages", None) is None or not can(model, Capability.TRANSDUCE):
        return {}
    own = getattr(model, "language", None) or ""
    return _not_learned(model, None if pairs.languages is None else [one or own for one in pairs.languages])


def _not_learned(model: Any, languages: Sequence[str] | None) -> dict[int, str]:
    known = dict.fromkeys(model.languages.symbols) if languages else {}
    reason = f"expected one of {', '.join(known)}"
    return {row: f"language {own!r}: {reason}" for row, own in enumerate(languages or ()) if own not in known}


def _check_transducer(model: Any) -> None:
    if not can(model, Capability.TRANSDUCE):
        raise ArgumentError("model", got=f"a {type(model).__name__}, which scores pairs only", expected="a transducer")


def _listed(found: list[list[Any]], *, marked: bool) -> BatchAnswers:
    """Answer rows: as many for each source as it has answers."""
    rows = np.repeat(np.arange(len(found)), [len(best) for best in found])
    answers = [one for best in found for one in best]
    mark = {"override": np.array([one.override for one in answers], dtype=bool)} if marked else {}
    log_probs = np.array([one.log_prob for one in answers], dtype=np.float64)
    return BatchAnswers({"target": [one.text for one in answers], "log_prob": log_probs, **mark}, rows)


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


class RunOptions(NamedTuple):
    """What a run does beside reading, asking and writing."""

    reading: BatchOptions
    ids: Sequence[str]
    """Columns of the input that come first in the output."""
    shard_rows: int
    """Rows of a shard, at least."""
    progress: Progress


class PlacedBatch(NamedTuple):
    """Batch of a job, and where the next one begins."""

    batch: RowBatch
    number: int
    end: Position


class TableRun:
    """One run of a job, from where its output is to the end of its inputs."""

    def __init__(self, question: Question, inputs: Inputs, output: JobOutput, options: RunOptions) -> None:
        self.question, self.inputs, self.output, self.options = question, inputs, output, options
        self.columns: tuple[Path, pa.Schema | None] | None = None
        """File whose further columns all others must have, and these."""

    def run(self) -> None:
        """Write all shards that are left."""
        start = self.output.position
        self._know_columns(start)
        batches, telling = _read_ahead(self._batches(start)), Warnings()
        part_is_done = SteadyMemory(pa.default_memory_pool().release_unused)
        with self.options.progress(self.question.verb, self.inputs.rows_from(start)) as on_batch:
            while first := next(batches, None):
                with self.output.shard() as shard:
                    self._write(first, shard, on_batch, telling)
                    while shard.rows < self.options.shard_rows and (placed := next(batches, None)):
                        self._write(placed, shard, on_batch, telling)
                part_is_done()

    def write_rows(self, start: Position, rows: int, shard: ShardInProgress) -> None:
        """Write a shard of so many rows, from a position on, of the last file that there is."""
        self._know_columns(start)
        telling = Warnings()
        for placed in self._batches(start):
            self._write(placed, shard, ignore, telling)
            if shard.rows >= rows:
                return

    def _know_columns(self, start: Position) -> None:
        """Read which columns the first file has, which others must have too, where it is read no more."""
        if start.file:
            self._fitting(next(self.question.batches(self.inputs.files[0], self.options.reading)))

    def _batches(self, start: Position) -> Iterator[PlacedBatch]:
        number = start.batch
        if self.inputs.content is not None:
            texts = self.inputs.content.sources if isinstance(self.inputs.content, Pairs) else self.inputs.content.texts
            batch = RowBatch(Path("input"), self.inputs.content, range(1, len(texts) + 1), [], len(texts))
            yield PlacedBatch(batch, number, Position(0, len(texts), 1))
            return
        for file in range(start.file, len(self.inputs.files)):
            row = start.row if file == start.file else 0
            for batch in self.question.batches(self.inputs.files[file], self.options.reading, start=row):
                row, number = row + batch.rows, number + 1
                yield PlacedBatch(batch, number - 1, Position(file, row, number))

    def _write(self, placed: PlacedBatch, shard: ShardInProgress, on_batch: OnBatch, telling: "Warnings") -> None:
        """Write the answers to a batch to a shard, and what it rejects."""
        rejects = list(placed.batch.rejects)
        batch = self._answerable(self._writable(self._fitting(placed.batch), rejects), rejects)
        with telling.once():
            for part, answers in self._answers(batch, placed.number, rejects):
                table, rows = self._table(part, answers)
                shard.write(table, rows)
                rejects += self._unanswered(part, answers)
        rejects.sort(key=lambda reject: reject.row)
        shard.rejects += [RejectedRow(str(batch.path), reject) for reject in rejects]
        shard.rows, shard.end = shard.rows + placed.batch.rows, placed.end
        on_batch(placed.batch.rows)

    def _answers(self, batch: RowBatch, number: int, rejects: list[Reject]) -> Iterator[tuple[RowBatch, BatchAnswers]]:
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
        if not self.options.reading.skip:
            raise DataError(batch.path, reason, line=batch.numbers[row])
        rejects += self._rejected(batch, [row], reason)

    def _rejected(self, batch: RowBatch, rows: Sequence[int], reason: str) -> list[Reject]:
        cells = self._cells(batch, rows)
        return [Reject(batch.numbers[row], reason, shown_cells(own)) for row, own in zip(rows, cells, strict=True)]

    def _cells(self, batch: RowBatch, rows: Sequence[int]) -> list[tuple[object, ...]]:
        table, _ = self._table(chosen_rows(batch, rows), BatchAnswers({}))
        columns = (column.to_pylist() if hasattr(column, "to_pylist") else column for column in table.values())
        return list(zip(*columns, strict=True))

    def _unanswered(self, batch: RowBatch, answers: BatchAnswers) -> list[Reject]:
        """Rows that the model has no answer to, as a table of known words has none to others."""
        if answers.rows is None:
            return []
        rows = np.flatnonzero(np.bincount(answers.rows, minlength=len(batch.numbers)) == 0).tolist()
        return self._rejected(batch, rows, NO_ANSWER) if rows else []

    def _writable(self, batch: RowBatch, rejects: list[Reject]) -> RowBatch:
        """Rows that the output's format can hold; others are rejected, before a model spends time on them."""
        table, _ = self._table(batch, BatchAnswers({}))
        bad = set(unwritable(table, self.output.form))
        if not bad or self.inputs.content is not None:
            return batch
        for row in sorted(bad):
            shown = list(self._cells(batch, [row])[0])
            reason = f"text with a tab or a line break, which TSV cannot hold: {shown}"
            self._reject(batch, row, f"{reason}. Use --format json or csv, or -o FILE.parquet", rejects)
        return chosen_rows(batch, [row for row in range(len(batch.numbers)) if row not in bad])

    def _answerable(self, batch: RowBatch, rejects: list[Reject]) -> RowBatch:
        """Rows without a fault that the model would stop at; others are rejected."""
        faults = self.question.faults(batch.content) if len(batch.numbers) else {}
        for row, reason in faults.items():
            self._reject(batch, row, reason, rejects)
        return chosen_rows(batch, [row for row in range(len(batch.numbers)) if row not in faults]) if faults else batch

    def _table(self, batch: RowBatch, answers: BatchAnswers) -> tuple[Table, int]:
        """Output rows: ids, what was asked, the answers, other columns; and how many."""
        content, rows = batch.content, answers.rows
        others = other_columns(content) if isinstance(content, Pairs) else content.others
        given: dict[str, Any] = {"source": content.sources if isinstance(content, Pairs) else content.texts}
        if isinstance(content, Pairs):
            given["target"] = content.targets
        if rows is not None:
            given = {name: [column[row] for row in rows.tolist()] for name, column in given.items()}
            others = None if others is None else others.take(rows)
        ids = {name: _id(batch, others, name) for name in self.options.ids}
        others = others.drop_columns(list(ids)) if others is not None and ids else others
        return answered({**ids, **given}, answers.columns, others), len(given["source"])

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


def _read_ahead(batches: Iterator[PlacedBatch]) -> Iterator[PlacedBatch]:
    """The same batches; the next one is read by a thread while one is answered."""
    with ThreadPoolExecutor(1) as reader:
        coming = reader.submit(next, batches, None)
        while batch := coming.result():
            coming = reader.submit(next, batches, None)
            yield batch


def _id(batch: RowBatch, others: pa.Table | None, name: str) -> Any:
    if others is None or name not in others.column_names:
        known = "none: no column is left beside those that are read"
        if others is not None:
            known = f"one of {', '.join(others.column_names)}"
        raise ArgumentError("--id", got=repr(name), expected=f"{known} ({batch.path})")
    return others.column(name)


def _cast(batch: RowBatch, first: Path, schema: pa.Schema) -> RowBatch:
    """Batch whose further columns have the types of a schema, which may have those of labels and languages too."""
    others = batch.content.others
    assert others is not None  # columns of labels and languages have the same types in all batches
    fields = pa.schema([schema.field(name) for name in others.column_names])
    try:
        cast = others.cast(fields)
    except (pa.ArrowException, ValueError) as error:
        raise DataError(batch.path, f"columns of other types than those of {first}: {error}") from None
    content = batch.content
    made = Sources(content.texts, cast) if isinstance(content, Sources) else replace(content, others=cast)
    return batch._replace(content=made)


class Warnings:
    """Warnings of all batches of a job: of each kind, and side, that any batch may give rise to, the first.

    Others are said once in the same words.
    """

    def __init__(self) -> None:
        self._said: set[tuple[type[Warning], str]] = set()

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
                side = getattr(one.message, "side", "") if one.category in OF_BATCHES else str(one.message)
                if (one.category, side) not in self._said:
                    self._said.add((one.category, side))
                    warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


OF_BATCHES = (UnknownSymbolWarning, UnknownLanguageWarning, CutOutputWarning, DoubtfulLinksWarning)
