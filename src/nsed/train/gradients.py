"""The gradient of a batch, added to the gradients of the network: operation by operation, or as a CUDA graph."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from nsed.train.task import Batch, Task


class Gradients(ABC):
    """How the gradient of a batch is computed."""

    multiple: int
    """What batches should be padded to a multiple of."""

    @abstractmethod
    def add(self, batch: Batch, share: float) -> Tensor:
        """Add `share` times the gradient to that of the network; the batch's loss comes back."""


class Eager(Gradients):
    """One operation after the other, on any device."""

    multiple = 1

    def __init__(self, task: Task, device: torch.device) -> None:
        self._task, self._device = task, device

    def add(self, batch: Batch, share: float) -> Tensor:
        """See `Gradients.add`."""
        return backpropagated(self._task, moved(batch, self._device), share)


class Recorded(NamedTuple):
    """A graph with the places of its input and of its result."""

    graph: torch.cuda.CUDAGraph
    batch: Batch
    loss: Tensor


class Graphed(Gradients):
    """One CUDA graph per shape of a batch, recorded when the shape comes for the second time.

    Small kernels are over before the next one is launched; a graph launches them all at once. It writes into the
    gradients that are there when it is recorded, so these must be set to zero between updates, never dropped.
    """

    multiple = 2

    def __init__(self, task: Task, device: torch.device) -> None:
        self._task, self._device = task, device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch's own
        self._pool = torch.cuda.graph_pool_handle()
        self._recorded: dict[tuple[torch.Size, ...], Recorded | None] = {}

    def add(self, batch: Batch, share: float) -> Tensor:
        """See `Gradients.add`."""
        shape = tuple(part.shape for part in batch)
        if shape not in self._recorded:
            self._recorded[shape] = None
            return self._aside(batch, share)
        recorded = self._recorded[shape] or self._record(batch, share)
        self._recorded[shape] = recorded
        for place, part in zip(recorded.batch, batch, strict=True):
            place.copy_(part, non_blocking=True)
        recorded.graph.replay()
        return recorded.loss.clone()

    def _aside(self, batch: Batch, share: float) -> Tensor:
        """As graphs are recorded, on a stream of its own, so that everything is warm for the recording."""
        current = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            loss = backpropagated(self._task, moved(batch, self._device), share)
        current.wait_stream(self._stream)
        return loss

    def _record(self, batch: Batch, share: float) -> Recorded:
        graph, places = torch.cuda.CUDAGraph(), tuple(part.to(self._device, copy=True) for part in batch)
        with torch.cuda.graph(graph, pool=self._pool, stream=self._stream):
            loss = backpropagated(self._task, places, share)
        return Recorded(graph, places, loss)


def backpropagated(task: Task, batch: Batch, share: float) -> Tensor:
    """Add `share` times the gradient of the loss to that of the parameters."""
    loss = task.loss(batch)
    (loss * share).backward()  # type: ignore[no-untyped-call]  # torch's own
    return loss.detach()


def moved(batch: Batch, device: torch.device) -> Batch:
    """The same on another device."""
    return tuple(part.to(device, non_blocking=True) for part in batch)
