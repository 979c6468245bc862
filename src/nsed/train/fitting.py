"""Training runs: from the beginning, or resumed from a checkpoint, to the end; the same for every model."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch

from nsed.progress import OnStep, OnValidation, Validation
from nsed.text import Pairs
from nsed.train.checkpoint import identity_of
from nsed.train.config import NetworkConfig
from nsed.train.run_folder import LOGGERS, RunFolder
from nsed.train.strategy import Strategy
from nsed.train.task import Task
from nsed.train.trainer import Trainer


@runtime_checkable
class Savable(Protocol):
    """Savable protocol: whatever can be written to a folder."""

    def save(self, path: str | Path) -> None:
        """Write it to a folder."""


FIRST_SECONDS = 5.0
"""Seconds of training after which there is a first model."""
Model = TypeVar("Model", bound=Savable)


@contextmanager
def sole_training(folder: str | Path | None, strategy: Strategy, *, threads: int = 0) -> Iterator[None]:
    """Sole training of a folder, if there is one: its lock, and so many CPU threads, or those it began with.

    Their number decides how sums are grouped, and so about the last bits of the weights.
    """
    run, before = RunFolder(Path(folder)) if folder else None, torch.get_num_threads()
    with run.lock() if run and strategy.is_first else nullcontext():
        begun = run.threads if run and strategy.count == 1 else None
        torch.set_num_threads(begun or threads or before)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def run_training(
    task: Task,
    config: NetworkConfig,
    data: tuple[Pairs, Pairs],
    strategy: Strategy,
    *,
    folder: str | Path | None,
    on_step: OnStep,
    on_validation: OnValidation,
    start: str = "",
    save_early: Callable[[Path, Trainer], None] | None = None,
) -> Trainer:
    """Train the task's network, which then has the best weights; the trainer comes back.

    With a folder, the training saves itself there, and an unfinished training of the same kind and data goes on;
    of the same `start` too, the hash of the model that it began with, if it began with one. With `save_early` a model
    that can be used is there after a few seconds, and a better one after each validation that found it better; not in
    the place of a model that was there before.
    """
    identity, run = identity_of(config, *data, start=start), RunFolder(Path(folder)) if folder else None
    trainer = Trainer(task, config.train, run.checkpoint if run else None, strategy=strategy, identity=identity)
    if run is not None:
        trainer.resume()
    if not strategy.is_first:
        trainer.run()
        return trainer
    if run is not None:
        facts = _facts(task, config, data, identity)
        run.check_data(facts["sha256"])
        run.begin(config, facts)
        on_validation = _all_of(
            run.keep_curves(trainer.validations), LOGGERS[config.train.logger](run.path), on_validation
        )
        if save_early is not None and not run.has_model:
            on_step, on_validation = _saving_early(partial(save_early, run.path, trainer), on_step, on_validation)
    trainer.run(on_step=on_step, on_validation=on_validation)
    return trainer


def _saving_early(
    save: Callable[[], None], on_step: OnStep, on_validation: OnValidation
) -> tuple[OnStep, OnValidation]:
    """Callbacks that also save a model: once after the first seconds, then whenever a validation found it better."""
    begun, is_there = time.monotonic(), False

    def after_step(step: int) -> None:
        nonlocal is_there
        on_step(step)
        if not is_there and time.monotonic() - begun >= FIRST_SECONDS:
            is_there = True
            save()

    def after_validation(validation: Validation) -> None:
        nonlocal is_there
        if validation.improved:
            is_there = True
            save()
        on_validation(validation)

    return after_step, after_validation


def _all_of(*listeners: OnValidation) -> OnValidation:
    def tell(validation: Validation) -> None:
        for listener in listeners:
            listener(validation)

    return tell


def save_finished(model: Model, folder: str | Path | None, strategy: Strategy) -> Model:
    """Save the finished model, which is now in the folder too, in the place of its checkpoint."""
    if folder is not None and strategy.is_first:
        model.save(folder)
        RunFolder(Path(folder)).close()
    return model


def _facts(task: Task, config: NetworkConfig, data: tuple[Pairs, Pairs], identity: dict[str, str]) -> dict[str, Any]:
    start = {"start": identity["model to start from"]} if "model to start from" in identity else {}
    return start | {
        "seed": config.train.seed,
        "threads": torch.get_num_threads(),
        "parameters": sum(parameter.numel() for parameter in task.network.parameters()),
        "pairs": {"training": len(data[0]), "validation": len(data[1])},
        "sha256": {"training": identity["training pairs"], "validation": identity["validation pairs"]},
    }
