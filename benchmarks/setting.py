"""Where, on what and how thoroughly a benchmark runs; all that depends on the device goes through here."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor

from benchmarks.figures import Bar
from nsed.encoders import EncoderConfig
from nsed.train.strategy import GraphRecorder

T = TypeVar("T")


@dataclass(frozen=True)
class Setting:
    """A device, a folder with the paper's data or none, and whether small sizes and few rounds are enough."""

    device: torch.device
    quick: bool = False
    data: Path | None = None

    @property
    def on_gpu(self) -> bool:
        """Whether the figures are those of a GPU."""
        return self.device.type == "cuda"

    def pick(self, *, cpu: T, cuda: T, quick: T) -> T:
        """The size or the number of rounds for this setting."""
        if self.quick:
            return quick
        return cuda if self.on_gpu else cpu

    def bar(self, *, cpu: Bar | None = None, cuda: Bar | None = None) -> Bar | None:
        """What is to be reached here; nothing by a quick run."""
        return self.pick(cpu=cpu, cuda=cuda, quick=None)

    def encoder(self, kind: str, **others: Any) -> EncoderConfig:
        """Of the paper's size: 256 numbers, two layers (a CNN has one)."""
        size = {"dim": 32 if self.quick else 256, "layers": 1 if self.quick or kind == "cnn" else 2}
        return EncoderConfig(kind=kind, **{**size, **others})

    def record(self, work: Callable[[], Tensor]) -> Callable[[], Tensor]:
        """The same work; on a GPU as a CUDA graph, as in training, so that kernels are measured and not launches."""
        if not self.on_gpu:
            return work
        graph = GraphRecorder(self.device).record(work)
        graph()
        return graph

    def now(self) -> float:
        """Seconds, when everything that was begun is done."""
        if self.on_gpu:
            torch.cuda.synchronize(self.device)
        return time.perf_counter()
