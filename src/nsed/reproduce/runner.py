"""Runs: data, training, selection, measures, record; one by one in this process, or several side by side in others."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NamedTuple

from nsed.config import flat, from_mapping, merged
from nsed.datasets import Splits
from nsed.errors import NsedError
from nsed.models.base import NetworkModel
from nsed.models.persistence import model_class
from nsed.progress import Validation
from nsed.reproduce.grid import CONFIGS, Run, settings_of
from nsed.reproduce.measure import (
    ALIGNED,
    describe,
    evidence_of,
    keep_links,
    measure,
    scripts_of,
    splits_of,
    toy_splits,
)
from nsed.reproduce.records import RECORDS, RunRecord, machine, read_record, record_path, versions, write_record
from nsed.text import StringConfig
from nsed.train.config import NetworkConfig
from nsed.train.optimiser import Schedule

QUICK = {
    "encoder.dim": 8,
    "train.steps": 4,
    "train.validate_every": 2,
    "train.batch_pairs": 32,
    "train.device": "cpu",
    "iterations": 2,
    "min_count": 1,
    "source_symbols": "graphemes",
    "target_symbols": "graphemes",
}
"""Settings of a rehearsal, where a model has them."""
MEASURING = 0.2
"""The share of a run's time that is kept for measuring, after the training."""
LEAST_SECONDS = 150
"""A run does not begin with less left than this."""
SCHEDULE, TIME = "schedule", "time"
"""What ended a training."""


@dataclass(frozen=True)
class Options:
    """How runs are done; plain values, as another process can be given them."""

    output: str = str(RECORDS)
    """Where records go."""
    configs: str = str(CONFIGS)
    quick: bool = False
    links: str | None = None
    """Where the links that models find in the test pairs of g2p-cmudict are kept, to be scored whenever there is a
    reference."""
    redo_cut: bool = False
    """Whether runs that were cut by time are done again."""


class SeededRun(NamedTuple):
    """A run with a seed, yet to be done."""

    run: Run
    seed: int


def jobs_of(runs: Sequence[Run], seeds: Sequence[int], options: Options) -> list[SeededRun]:
    """What has no record yet, each once: first all runs with the first seed, fastest first."""
    order = sorted(dict.fromkeys(runs), key=cost)
    jobs = [SeededRun(run, seed) for seed in seeds for run in order]
    return [job for job in jobs if not _is_done(record_path(Path(options.output), job.run.name, job.seed), options)]


def _is_done(path: Path, options: Options) -> bool:
    """Whether there is a record, of a run that may count."""
    if not path.exists():
        return False
    return not options.redo_cut or read_record(path).training.get("ended") != TIME


def cost(run: Run) -> int:
    """Rank by time that a run takes, about: small encoders and small data first."""
    kinds = ("edit-distance", "odds", "unigram", "cnn", "deep-cnn", "rnn", "transformer", "cross-encoder")
    kind = next(place for place, name in reversed(list(enumerate(kinds))) if run.config.endswith(name))
    return 2 * kind + (run.dataset == "g2p-cmudict")


def run_job(job: SeededRun, options: Options, *, deadline: float | None = None) -> RunRecord:
    """Train, choose, measure, and write the record; the training ends before the deadline (of `time.time()`)."""
    began = time.time()
    splits = toy_splits(job.run) if options.quick else splits_of(job.run)
    settings = _settings(job, options, deadline)
    trained = time.time()
    model, facts = _trained(settings, splits)
    training = {"seconds": round(time.time() - trained, 1), **facts}
    validation, test, selected, decoding = measure(model, splits)
    record = RunRecord(
        run=job.run.name,
        seed=job.seed,
        settings=asdict(settings),
        data=describe(splits),
        parameters=count_parameters(model),
        training=training,
        selected={"weights": "best validation", **selected},
        validation=validation,
        test=test,
        scripts={} if options.quick else scripts_of(model, job.run.dataset),
        evidence=() if options.quick else evidence_of(model, splits, job.run.dataset),
        decoding=decoding,
        seconds=round(time.time() - began, 1),
        quick=options.quick,
        versions=versions(),
        machine=machine(),
    )
    if options.links is not None and job.run.dataset == ALIGNED and not options.quick:
        keep_links(Path(options.links), record, model.links(splits.test))
    if not was_longer(record_path(Path(options.output), record.run, record.seed), record):
        write_record(Path(options.output), record)
    return record


def was_longer(path: Path, record: RunRecord) -> bool:
    """Whether there is a record of the same run with more updates, where this one was cut by time."""
    cut = record.training["ended"] == TIME and path.exists()
    return cut and read_record(path).training.get("steps", 0) > record.training["steps"]


def count_parameters(model: Any) -> int:
    """Numbers that were learned: of a network, or of a table of operations."""
    if isinstance(model, NetworkModel):
        return sum(parameter.numel() for parameter in model.network.parameters())
    return sum(tensor.numel() for tensor in model.contents().tensors.values())


def _settings(job: SeededRun, options: Options, deadline: float | None) -> StringConfig:
    settings = settings_of(job.run, folder=Path(options.configs))
    known = dict(flat(asdict(settings)))
    changes: dict[str, Any] = {"train.seed": job.seed} | (QUICK if options.quick else {})
    if deadline is not None:
        left = max(deadline - time.time(), 1)
        changes["train.minutes"] = round(left * (1 - MEASURING) / 60, 3)
    mine = {name: value for name, value in changes.items() if name in known}
    changed = from_mapping(type(settings), merged(asdict(settings), mine), where=job.run.name)
    assert isinstance(changed, StringConfig)
    return changed


def _trained(settings: StringConfig, splits: Splits) -> tuple[Any, dict[str, Any]]:
    """The model, and what its training has to tell, its learning curve among it."""
    model = model_class(settings.model)
    if not issubclass(model, NetworkModel):
        made = model.fit(splits.training, validation=splits.validation, config=settings)
        return made, {"iterations": len(made.history), "ended": SCHEDULE}
    assert isinstance(settings, NetworkConfig)
    schedule, curve = Schedule(settings.train), list[tuple[float, ...]]()

    def listen(validation: Validation) -> None:
        schedule.observe(improved=validation.improved)
        figures = validation.loss, validation.metrics[model.validation_metric]
        curve.append((validation.step, *(round(figure, 4) for figure in figures)))

    made = model.fit(splits.training, validation=splits.validation, config=settings, on_validation=listen)
    whole = schedule.exhausted or made.record["steps"] == settings.train.steps
    return made, {**made.record, "ended": SCHEDULE if whole else TIME, "curve": curve}


class FinishedRun(NamedTuple):
    """A job that is over, with the tail of what it said if it failed."""

    job: SeededRun
    seconds: float
    error: str = ""


def run_jobs(
    jobs: Sequence[SeededRun],
    options: Options,
    *,
    at_once: int = 1,
    minutes: float | None = None,
    until: float | None = None,
    on_finished: Callable[[FinishedRun], None],
) -> None:
    """Do jobs in processes of their own, so many side by side, each with one thread.

    A job has `minutes` at most; all together have `until` seconds from now, and none begins shortly before them.
    """
    end = time.time() + until if until else None
    waiting, running = list(jobs), list[_Process]()
    while waiting or running:
        while waiting and len(running) < at_once and (end is None or end - time.time() > LEAST_SECONDS):
            running.append(_Process(waiting.pop(0), options, _deadline(minutes, end)))
        for process in [one for one in running if one.is_over(end)]:
            running.remove(process)
            on_finished(process.result())
        if not running and end is not None and end - time.time() <= LEAST_SECONDS:
            return
        time.sleep(0.2)


def _deadline(minutes: float | None, end: float | None) -> float | None:
    ends = [time.time() + 60 * minutes] if minutes else []
    return min([*ends, *([end] if end else [])], default=None)


class _Process:
    """A job under way in a process of its own."""

    def __init__(self, job: SeededRun, options: Options, deadline: float | None) -> None:
        self.job, self._began = job, time.time()
        told = {"run": job.run.name, "seed": job.seed, "deadline": deadline, **asdict(options)}
        environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        command = [sys.executable, "-m", "nsed.reproduce.runner", json.dumps(told)]
        self._said = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115  # closed when over; a pipe would fill up
        self._process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=self._said)

    def is_over(self, end: float | None) -> bool:
        """Whether it is done; one that is not when everything ends is stopped."""
        if self._process.poll() is None and end is not None and time.time() >= end:
            self._process.kill()
            self._process.wait()
        return self._process.poll() is not None

    def result(self) -> FinishedRun:
        """Result of the run: how long it took, and what went wrong, if anything."""
        with self._said:
            self._said.seek(0)
            said, code = self._said.read().strip(), self._process.returncode
        error = "stopped: there was no time left" if code < 0 else said[-2000:] or f"exit status {code}"
        return FinishedRun(self.job, time.time() - self._began, "" if code == 0 else error)


def main(text: str) -> None:
    """Do one run in this process, as JSON tells it: what `run_jobs` starts."""
    told = json.loads(text)
    job, deadline = SeededRun(Run.named(told.pop("run")), told.pop("seed")), told.pop("deadline")
    run_job(job, Options(**told), deadline=deadline)


def run_here(jobs: Sequence[SeededRun], options: Options, *, minutes: float | None = None) -> Iterator[FinishedRun]:
    """Do jobs in this process, one after the other; what fails is told and does not stop the others."""
    for job in jobs:
        began = time.time()
        try:
            run_job(job, options, deadline=_deadline(minutes, None))
        except NsedError as error:
            yield FinishedRun(job, time.time() - began, str(error))
        else:
            yield FinishedRun(job, time.time() - began)


if __name__ == "__main__":
    main(sys.argv[1])
