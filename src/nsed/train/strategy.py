"""Training strategy: how the gradient of a batch is computed, by one process or by several, and on which device.

Gradients come operation by operation, or as a CUDA graph, which captures a function's kernels once and launches them
together ever after: small kernels are over before the next one is launched. Several processes are data parallel
(Lightning Fabric, extra `train`).
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from nsed.errors import ArgumentError
from nsed.progress import no_garbage_collection
from nsed.train.config import TrainConfig
from nsed.train.task import Batch, Task

Work = Callable[[], Tensor]


class GraphRecorder:
    """CUDA graph recorder: captures graphs that run one after the other, never at the same time."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch's own
        self.pool = torch.cuda.graph_pool_handle()

    def record(self, work: Work) -> "RecordedGraph":
        """CUDA graph of some work, to be replayed many times."""
        return RecordedGraph(work, self)


class RecordedGraph:
    """CUDA graph of work without arguments: its tensors stay where they are, and it always gives the same one.

    The first call does it, so that everything is warm; the second captures it.
    """

    def __init__(self, work: Work, graph_recorder: GraphRecorder) -> None:
        self._work, self._recorder = work, graph_recorder
        self._is_warm, self._graph = False, torch.cuda.CUDAGraph()
        self._result: Tensor | None = None

    def __call__(self) -> Tensor:
        """Run the work: the first time eagerly, as warm-up, then by replaying its graph."""
        if not self._is_warm:
            self._is_warm = True
            return self._aside()
        if self._result is None:
            self._result = self._record()
        self._graph.replay()
        return self._result

    def _record(self) -> Tensor:
        """Capture the graph without garbage collection: the end of an old graph would be the end of this capture."""
        with (
            no_garbage_collection(),
            torch.cuda.graph(self._graph, pool=self._recorder.pool, stream=self._recorder.stream),
        ):
            return self._work()

    def _aside(self) -> Tensor:
        """Warm-up run before the capture, on a side stream, as the capture is."""
        current = torch.cuda.current_stream(self._recorder.device)
        self._recorder.stream.wait_stream(current)
        with torch.cuda.stream(self._recorder.stream):
            result = self._work()
        current.wait_stream(self._recorder.stream)
        return result


class Gradients(ABC):
    """Gradient strategy: how the gradient of a batch is computed."""

    @abstractmethod
    def add(self, rows: np.ndarray, share: float) -> Tensor:
        """Accumulate `share` times the gradient of these rows into that of the network; their loss comes back."""


class Eager(Gradients):
    """Eager gradients: one operation after the other, on any device."""

    def __init__(self, task: Task, device: torch.device) -> None:
        self._task, self._device = task, device

    def add(self, rows: np.ndarray, share: float) -> Tensor:
        """See `Gradients.add`: slice by slice, so that what autograd keeps fits the memory, or the cache."""
        return in_slices(self._task, rows, share, self._add)

    def _add(self, rows: np.ndarray, share: float) -> Tensor:
        return backpropagated(self._task, batch_of(self._task, rows, self._device), share)


class Shape(NamedTuple):
    """Batch shape: what batches of the same CUDA graph have in common."""

    pairs: int
    widths: tuple[int, ...]
    share: float


class Graphed(Gradients):
    """CUDA graph per shape of a batch; strings are padded to an even number of symbols, so that there are fewer.

    A graph writes into the gradients that are there when it is recorded, so these must be set to zero between updates,
    never dropped.
    """

    def __init__(self, task: Task, graph_recorder: GraphRecorder) -> None:
        self._task, self._recorder = task, graph_recorder
        self._made: dict[Shape, tuple[Tensor, RecordedGraph]] = {}

    def add(self, rows: np.ndarray, share: float) -> Tensor:
        """See `Gradients.add`: slice by slice, where the batch is too large for the memory."""
        return in_slices(self._task, rows, share, self._add)

    def _add(self, rows: np.ndarray, share: float) -> Tensor:
        shape = Shape(len(rows), self._task.widths(rows, multiple=2), share)
        if shape not in self._made:
            self._made[shape] = self._make(shape)
        place, graph = self._made[shape]
        place.copy_(torch.from_numpy(rows).pin_memory(), non_blocking=True)
        return graph().clone()

    def _make(self, shape: Shape) -> tuple[Tensor, RecordedGraph]:
        place = torch.zeros(shape.pairs, dtype=torch.long, device=self._recorder.device)
        return place, self._recorder.record(partial(_of_shape, self._task, place, shape))


def _of_shape(task: Task, place: Tensor, shape: Shape) -> Tensor:
    return backpropagated(task, task.batch(place, shape.widths), shape.share)


def in_slices(task: Task, rows: np.ndarray, share: float, add: Callable[[np.ndarray, float], Tensor]) -> Tensor:
    """Accumulated gradient of a batch, by what adds that of each of its slices; the batch's loss comes back."""
    losses = []
    for some in slices_of(task, rows):
        part = len(some) / len(rows)
        losses.append(add(some, share * part) * part)
    return losses[0] if len(losses) == 1 else torch.stack(losses).sum()


def slices_of(task: Task, rows: np.ndarray) -> list[np.ndarray]:
    """Microbatches: the rows of a batch, in as few equal slices as the task wants."""
    most = task.most_cells
    if most is None or len(rows) == 0:
        return [rows]
    cells = len(rows) * math.prod(width + 1 for width in task.widths(rows))
    return np.array_split(rows, min(len(rows), max(1, round(cells / most))))


def batch_of(task: Task, rows: np.ndarray, device: torch.device) -> Batch:
    """Training batch of these rows, padded no wider than it must be."""
    return task.batch(torch.from_numpy(rows).to(device), task.widths(rows))


def backpropagated(task: Task, batch: Batch, share: float) -> Tensor:
    """Backpropagate: add `share` times the gradient of the loss to that of the parameters."""
    loss = task.loss(batch)
    (loss * share).backward()  # type: ignore[no-untyped-call]  # torch's own
    return loss.detach()


def chosen_device(config: TrainConfig) -> torch.device:
    """Device that the settings name; auto is a GPU if there is one."""
    if config.device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    return checked_device(config.device, "train.device", expected="auto, cpu, or a device that torch has here")


def checked_device(
    device: str | torch.device, name: str = "device", *, expected: str = "cpu, or a device that torch has here"
) -> torch.device:
    """Device of that name. Raises `ArgumentError` where torch has none."""
    try:
        return torch.zeros(0, device=device).device
    except (RuntimeError, AssertionError):
        raise ArgumentError(name, got=repr(str(device)), expected=expected) from None


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
