"""Questions to models over tables: scores, decisions and targets of a batch of rows, as columns of the output."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError
from nsed.jobs.provenance import describe_inputs
from nsed.jobs.table_files import Table
from nsed.models.transduction import Overrides
from nsed.text import Pairs
from nsed.text.readers.batches import RowBatch, pair_batches, source_batches
from nsed.text.readers.delimited import Sources

PAIRS_PER_SHARD, SOURCES_PER_SHARD = 2**18, 2**14
"""Rows of a shard: at most so many are lost when a job is killed; sources take their time."""


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


def scores_of(model: Any) -> Question:
    """Scores of pairs."""

    def answer(pairs: Pairs, _: int) -> BatchAnswers:
        return BatchAnswers({"score": model.score(pairs)})

    return Question("score", "pairs", {}, pair_batches, answer, PAIRS_PER_SHARD)


def decisions_of(model: Any) -> Question:
    """Decisions about pairs, and their calibrated probabilities. Raises `ArgumentError` where a model makes none."""
    if not can(model, Capability.MATCH):
        expected = "a matcher, or another model that has learned from labelled pairs"
        raise ArgumentError("model", got=f"a {type(model).__name__} that makes no decisions", expected=expected)

    def answer(pairs: Pairs, _: int) -> BatchAnswers:
        scores = model.score(pairs)
        return BatchAnswers({"match": scores >= model.threshold, "probability": model.calibration.probability(scores)})

    return Question("match", "pairs", {}, pair_batches, answer, PAIRS_PER_SHARD)


def targets_of(
    model: Any, *, nbest: int = 1, beam: int | None = None, overrides: Overrides | str | Path | None = None
) -> Question:
    """Most probable targets of sources, see `Transducer.transduce`; `exception` marks those of overrides."""
    _check_transducer(model)
    given = Overrides.read(overrides) if isinstance(overrides, str | Path) else overrides

    def answer(sources: Sources, _: int) -> BatchAnswers:
        found = model.transduce(sources.texts, nbest=nbest, beam=beam, overrides=given)
        return _listed(found, marked=given is not None)

    hashes = [one.sha256 for one in describe_inputs([given.path] if given and given.path else [])]
    settings = {"nbest": nbest, "beam": beam, "overrides": hashes, "language": getattr(model, "language", None)}
    return Question("transduce", "words", settings, source_batches, answer, SOURCES_PER_SHARD)


SEEDS_APART = 1_000_003
"""Between the seeds of two batches of a job, so that seeds that are neighbours draw differently."""


def samples_of(model: Any, *, count: int, seed: int = 0) -> Question:
    """Targets drawn by their probabilities; each batch has a seed of its own, the first that which is given."""
    _check_transducer(model)

    def answer(sources: Sources, batch: int) -> BatchAnswers:
        return _listed(model.sample(sources.texts, count=count, seed=seed + SEEDS_APART * batch), marked=False)

    settings = {"sample": count, "seed": seed, "language": getattr(model, "language", None)}
    return Question("transduce", "words", settings, source_batches, answer, SOURCES_PER_SHARD)


def _check_transducer(model: Any) -> None:
    if not can(model, Capability.TRANSDUCE):
        raise ArgumentError("model", got=f"a {type(model).__name__}, which scores pairs only", expected="a transducer")


def _listed(found: list[list[Any]], *, marked: bool) -> BatchAnswers:
    """Answer rows: as many for each source as it has answers."""
    rows = np.repeat(np.arange(len(found)), [len(best) for best in found])
    answers = [one for best in found for one in best]
    mark = {"exception": np.array([one.override for one in answers], dtype=bool)} if marked else {}
    log_probs = np.array([one.log_prob for one in answers], dtype=np.float64)
    return BatchAnswers({"target": [one.text for one in answers], "log_prob": log_probs, **mark}, rows)
