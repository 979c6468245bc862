"""Training loop, the order of its data, and whole runs: from the beginning, or resumed from a checkpoint, to the end.

It knows tasks, not models.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from nsed.errors import NsedError
from nsed.progress import OnStep, OnValidation, Validation
from nsed.text import Pairs
from nsed.train.checkpoint import (
    Checkpoint,
    identity_of,
    load_checkpoint,
    random_states,
    restore_random,
    save_checkpoint,
)
from nsed.train.config import NetworkConfig, TrainConfig, products_in
from nsed.train.optimiser import Budget, Schedule, Updates
from nsed.train.run_folder import LOGGERS, RunFolder, load_drawing
from nsed.train.strategy import SingleDevice, Strategy
from nsed.train.task import Task

POOL = 50
"""Bucketing pool: batches whose pairs are sorted by length together."""
ENDING, ENDING_SHARE = 1.0, 0.05
"""Seconds of a budget that are kept for what comes after a training that is saved: its curves are drawn, and a process
ends; and the share of the budget that they are at most."""


def epoch_batches(sizes: np.ndarray, *, batch_pairs: int, seed: int, epoch: int) -> list[np.ndarray]:
    """Batches of an epoch, as rows of the data: the same for the same seed and epoch, whenever they are asked for.

    Every row comes once; `sizes` says how long each pair is.
    """
    random = np.random.default_rng([seed, epoch])
    order = random.permutation(len(sizes))
    batches: list[np.ndarray] = []
    for start in range(0, len(order), POOL * batch_pairs):
        pool = order[start : start + POOL * batch_pairs]
        pool = pool[np.argsort(sizes[pool], kind="stable")]
        batches += [pool[first : first + batch_pairs] for first in range(0, len(pool), batch_pairs)]
    return [batches[place] for place in random.permutation(len(batches))]


class Trainer:
    """Trainer of a task's network, which it leaves with the weights of its best validation.

    With a folder, a checkpoint is saved there at every validation, and by time, and `resume` goes on from it, to the
    same weights as without interruption. The `identity` says what the training is; a checkpoint of another one is
    refused.
    """

    def __init__(
        self,
        task: Task,
        config: TrainConfig,
        folder: Path | None = None,
        *,
        strategy: Strategy | None = None,
        identity: Mapping[str, str] = MappingProxyType({}),
        spent: float = 0.0,
    ) -> None:
        self.task, self.config, self.folder, self.identity = task, config, folder, identity
        self.strategy = strategy or SingleDevice(config)
        self.gradients, self.updates = (
            self.strategy.gradients(task),
            Updates(task.network, config, self.strategy.graph_recorder),
        )
        self.schedule = Schedule(config)
        self.step, self.best_step, self.best = 0, 0, float("nan")
        self.best_weights: dict[str, Tensor] = {}
        self.validations: list[Validation] = []
        self._losses: list[Tensor] = []
        self._random: Mapping[str, Tensor] = {}
        self._saved_at = math.inf
        kept = min(ENDING, ENDING_SHARE * 60 * config.minutes) if folder is not None else 0.0
        left = 60 * config.minutes - spent - kept if config.minutes else math.inf
        self.deadline = time.monotonic() + left
        """When the minutes are over, for training and for what is tuned afterwards; never without any."""
        self._budget = Budget(
            _minutes(left),
            exact=self.strategy.count == 1,
            share=task.training_share,
            afterwards=task.updates_afterwards,
        )
        self._epoch, self._batches = -1, [task.sizes[:0]]

    def resume(self) -> bool:
        """Resume from the folder's checkpoint, if there is one."""
        if self.folder is None:
            return False
        found = load_checkpoint(self.folder, self.task.network, self.updates.optimiser, identity=self.identity)
        if found is None:
            return False
        self.best_weights, record, self._random = dict(found.best), found.record, found.random
        device = next(self.task.network.parameters()).device
        self.updates.average.weights = {name: value.to(device) for name, value in found.average.items()}
        self._losses = [loss.to(device) for loss in found.losses.get("since", ())]
        self.step, self.best_step = record["step"], record["best_step"]
        self.best = float("nan") if record["best"] is None else record["best"]
        self.schedule.decays, self.schedule.waiting = record["decays"], record["waiting"]
        self.validations = [Validation(*values) for values in record["validations"]]
        self._budget.begin(record.get("seconds", 0.0))
        self.deadline -= record.get("seconds", 0.0)
        return True

    def run(self, *, on_step: OnStep = lambda _: None, on_validation: OnValidation = lambda _: None) -> None:
        """Train to the end: all steps, all minutes, or no improvement for long enough."""
        with products_in(self.config.precision, self.strategy.device):
            self._run(on_step, on_validation)
        if self.best_weights:
            self.task.network.load_state_dict(self.best_weights)

    def advance(self) -> Tensor:
        """Train for one more update; its loss is still on its way from the device."""
        self.step += 1
        return self._update()

    @property
    def record(self) -> dict[str, object]:
        """Training metadata: its steps, which of them was kept, and how good that was."""
        kept = [one.metrics for one in self.validations if one.step == self.best_step]
        return {
            "steps": self.step,
            "best_step": self.best_step,
            **(kept[-1] if kept else {self.task.metric: self.best}),
        }

    def _run(self, on_step: OnStep, on_validation: OnValidation) -> None:
        self._saved_at = time.monotonic()
        if self._random:
            restore_random(self._random, self.strategy.device)
        else:
            self._reseed()
        while self.step < self.config.steps and not self.schedule.exhausted and not self._has_learned_all:
            with self._budget.update():
                self._losses.append(self.advance())
            on_step(self.step)
            over = self._budget.is_over
            if over or self.step % self.config.validate_every == 0 or self.step == self.config.steps:
                with self._budget.validation():
                    on_validation(self._validate(self._mean_loss()))
                    self._losses.clear()
                    self._save()
                self._reseed()
                if over or self._budget.is_over or self._budget.is_spent:
                    break
            elif self._must_save():
                self._mean_loss()  # never a checkpoint of weights that are no numbers
                self._save(random_states(self.strategy.device))

    @property
    def _has_learned_all(self) -> bool:
        """Whether the last validations, `perfect` of them, found no mistake."""
        last, best = self.validations[-self.config.perfect :], float(self.task.higher_is_better)
        enough = 0 < self.config.perfect <= len(self.validations)
        return enough and all(one.metrics[self.task.metric] == best for one in last)

    def _must_save(self) -> bool:
        """Time for a checkpoint; never with several processes, whose random numbers the first does not know."""
        interval = self.config.save_seconds
        return bool(interval) and self.strategy.count == 1 and time.monotonic() - self._saved_at >= interval

    def _mean_loss(self) -> float:
        """Mean loss since the last validation. Raises where it is no number."""
        loss = float(torch.stack(self._losses).mean())
        if not math.isfinite(loss):
            raise NsedError(f"the loss is {loss} at step {self.step}: try a smaller train.learning_rate")
        return loss

    def _reseed(self) -> None:
        """Seed the random numbers by seed, step and process alone, so that a resumed training draws the same ones."""
        entropy = [self.config.seed, self.step, self.strategy.rank]
        torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))

    def _update(self) -> Tensor:
        self.task.network.train()
        first, count = (self.step - 1) * self.config.accumulate, self.config.accumulate
        losses = [self._add_gradient(number) for number in range(first, first + count)]
        if self.step <= self.schedule.warmup:
            self._budget.warm_up()
        rate = self.config.learning_rate * self.schedule.factor(self.step, spent=self._budget.share)
        self.updates.apply(rate, self.step)
        return losses[0] if count == 1 else torch.stack(losses).mean()

    def _add_gradient(self, number: int) -> Tensor:
        rows, weight = self.strategy.own(self._rows(number))
        return self.gradients.add(rows, weight / self.config.accumulate)

    def _rows(self, number: int) -> np.ndarray:
        """Data order: the rows of batch 0, 1, 2, ... of the whole training."""
        epoch, place = divmod(number, -(-len(self.task.sizes) // self.config.batch_pairs))
        if epoch != self._epoch:
            self._batches = epoch_batches(
                self.task.sizes, batch_pairs=self.config.batch_pairs, seed=self.config.seed, epoch=epoch
            )
            self._epoch = epoch
        return self._batches[place]

    def _validate(self, loss: float) -> Validation:
        self.task.network.eval()
        as_later = torch.autocast(self.strategy.device.type, enabled=False)  # models are used in fp32
        with torch.no_grad(), as_later, self.updates.average.in_use():
            metrics = dict(self.task.validate())
            value = metrics[self.task.metric]
            improved = not self.best_weights or (value - self.best) * self._direction > 0
            if improved or value == self.best:  # of equals, the one that learned longer
                self.best = value
            if self.best == value or self.config.keep == "last":
                self.best_step = self.step
                self.best_weights = {name: value.clone() for name, value in self.task.network.state_dict().items()}
        self.schedule.observe(improved=improved)
        self.validations.append(Validation(self.step, loss, metrics, improved))
        return self.validations[-1]

    @property
    def _direction(self) -> int:
        return 1 if self.task.higher_is_better else -1

    def _save(self, random: Mapping[str, Tensor] = MappingProxyType({})) -> None:
        if self.folder is not None and self.strategy.is_first:
            self._write_checkpoint(self.folder, random)
        self.strategy.wait()
        self._saved_at = time.monotonic()

    def _write_checkpoint(self, folder: Path, random: Mapping[str, Tensor]) -> None:
        record = {
            "identity": dict(self.identity),
            "threads": torch.get_num_threads(),
            "step": self.step,
            "best_step": self.best_step,
            "best": None if math.isnan(self.best) else self.best,
            "decays": self.schedule.decays,
            "waiting": self.schedule.waiting,
            "seconds": self._budget.seconds,
            "validations": [list(validation) for validation in self.validations],
        }
        losses = {"since": torch.stack(self._losses)} if self._losses else {}
        checkpoint = Checkpoint(self.best_weights, self.updates.average.weights, losses, random, record)
        save_checkpoint(folder, self.task.network, self.updates.optimiser, checkpoint)


@runtime_checkable
class Savable(Protocol):
    """Savable protocol: whatever can be written to a folder."""

    def save(self, path: str | Path) -> None:
        """Write it to a folder."""


def _minutes(seconds: float) -> float:
    """Minutes of a budget: at least next to none, and 0 for no limit."""
    return 0.0 if seconds == math.inf else max(seconds, 1e-6) / 60


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
    spent: float = 0.0,
    save_early: Callable[[Path, Trainer], None] | None = None,
) -> Trainer:
    """Train the task's network, which then has the best weights; the trainer comes back.

    With a folder, the training saves itself there, and an unfinished training of the same kind and data goes on;
    of the same `start` too, the hash of the model that it began with, if it began with one. With `save_early` a model
    that can be used is there after a few seconds, and a better one after each validation that found it better; not in
    the place of a model that was there before. The seconds that are `spent` already count among its minutes.
    """
    identity, run = identity_of(config, *data, start=start), RunFolder(Path(folder)) if folder else None
    checkpoint = run.checkpoint if run else None
    trainer = Trainer(task, config.train, checkpoint, strategy=strategy, identity=identity, spent=spent)
    if run is not None:
        trainer.resume()
    if not strategy.is_first:
        trainer.run()
        return trainer
    if run is not None:
        facts = _facts(task, config, data, identity)
        run.check_data(facts["sha256"])
        run.begin(config, facts)
        if config.train.minutes:
            load_drawing()
        on_validation = _all_of(
            run.keep_curves(trainer.validations), LOGGERS[config.train.logger](run.path), on_validation
        )
        if save_early is not None and not run.has_model:
            save = partial(save_early, run.path, trainer)
            on_step, on_validation = _saving_early(save, on_step, on_validation, spent=spent)
    trainer.run(on_step=on_step, on_validation=on_validation)
    return trainer


def _saving_early(
    save: Callable[[], None], on_step: OnStep, on_validation: OnValidation, *, spent: float
) -> tuple[OnStep, OnValidation]:
    """Callbacks that also save a model: once after the first seconds, then whenever a validation found it better."""
    begun, is_there = time.monotonic() - spent, False

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
