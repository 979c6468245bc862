"""Distribution strategy: one process, or data parallelism over several (Lightning Fabric, extra `train`)."""

import os
from abc import ABC, abstractmethod
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from nsed.errors import ArgumentError
from nsed.train.config import TrainConfig
from nsed.train.gradients import Eager, Gradients, Graphed, GraphRecorder, batch_of
from nsed.train.task import Task


def chosen_device(config: TrainConfig) -> torch.device:
    """Device that the settings name; auto is a GPU if there is one."""
    if config.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        return torch.zeros(0, device=config.device).device
    except (RuntimeError, AssertionError):
        expected = "auto, cpu, or a device that torch has here"
        raise ArgumentError("train.device", got=repr(config.device), expected=expected) from None


class Strategy(ABC):
    """Distribution strategy: processes that train together; all have the same weights, each its own rows of a batch."""

    device: torch.device
    rank: int
    """Process rank: the number of this process; only the first, 0, writes and talks."""
    count: int

    graph_recorder: GraphRecorder | None = None
    """CUDA graph recorder, where graphs are wanted."""

    @abstractmethod
    def gradients(self, task: Task) -> Gradients:
        """Gradient strategy: how this process gets the gradient of the whole batch."""

    @abstractmethod
    def wait(self) -> None:
        """Barrier: wait until all have come here."""

    @property
    def is_first(self) -> bool:
        """Rank zero: whether this process writes and talks."""
        return self.rank == 0

    def own(self, rows: np.ndarray) -> tuple[np.ndarray, float]:
        """Batch shard: this process' rows of a batch, and the weight of their mean loss over all processes."""
        mine = rows[self.rank :: self.count]
        return (mine, len(mine) * self.count / len(rows)) if len(mine) else (rows[:1], 0.0)


class SingleDevice(Strategy):
    """Single-device strategy: a single process."""

    rank, count = 0, 1

    def __init__(self, config: TrainConfig) -> None:
        self.device = chosen_device(config)
        if config.cuda_graph and self.device.type == "cuda":
            self.graph_recorder = GraphRecorder(self.device)

    def gradients(self, task: Task) -> Gradients:
        """See `Strategy.gradients`."""
        return Eager(task, self.device) if self.graph_recorder is None else Graphed(task, self.graph_recorder)

    def wait(self) -> None:
        """See `Strategy.wait`."""


class DataParallel(Strategy):
    """Data-parallel strategy: one process per device, started here or by `torchrun`."""

    def __init__(self, config: TrainConfig) -> None:
        if find_spec("lightning") is None:
            expected = "1; more need Lightning Fabric: pip install 'neural-string-edit-distance[train]'"
            raise ArgumentError("train.devices", got=config.devices, expected=expected)
        accelerator = chosen_device(config).type
        fabric = import_module("lightning.fabric").Fabric
        self._fabric = fabric(accelerator=accelerator, devices=config.devices, strategy="ddp")
        self._fabric.launch()
        self.device, self.rank, self.count = self._fabric.device, self._fabric.global_rank, self._fabric.world_size

    def gradients(self, task: Task) -> Gradients:
        """See `Strategy.gradients`."""
        return Averaged(task, self._fabric)

    def wait(self) -> None:
        """See `Strategy.wait`."""
        self._fabric.barrier()


class Objective(nn.Module):
    """Loss module: a task's loss as a module, which is what Fabric can share among processes."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.network = task.network
        self._loss = task.loss

    def forward(self, *batch: Tensor) -> Tensor:
        """See `Task.loss`."""
        return self._loss(batch)


class Averaged(Gradients):
    """All-reduced gradient of each process' rows, averaged over the processes while it is computed."""

    def __init__(self, task: Task, fabric: Any) -> None:
        self._task, self._fabric, self._objective = task, fabric, fabric.setup_module(Objective(task))

    def add(self, rows: np.ndarray, share: float) -> Tensor:
        """See `Gradients.add`."""
        loss: Tensor = self._objective(*batch_of(self._task, rows, self._fabric.device))
        self._fabric.backward(loss * share)
        return loss.detach()


def is_first_process() -> bool:
    """Rank zero, whether this process writes and talks; known before there is a strategy, from whoever started it."""
    return int(os.environ.get("RANK", os.environ.get("LOCAL_RANK", "0"))) == 0


def strategy_for(config: TrainConfig) -> Strategy:
    """Distribution strategy of as many processes as the settings say."""
    return SingleDevice(config) if config.devices == 1 else DataParallel(config)
