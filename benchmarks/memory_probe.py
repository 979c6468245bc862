"""The memory that one update needs at its peak, in a process of its own; see `memory.py`."""

import json
import re
import resource
import sys
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks import published
from benchmarks.setting import Setting
from benchmarks.tasks import (
    Numbers,
    OtherLoss,
    fixed_numbers,
    matcher_config,
    matcher_task,
    transducer_config,
    transducer_task,
    twin_task,
)
from benchmarks.transducer_update import published_task
from nsed.models.matcher import MatcherTask
from nsed.networks.matcher import MatcherNetwork
from nsed.text import PairBatch
from nsed.train.config import TrainConfig, products_in
from nsed.train.task import Batch, Task
from nsed.train.trainer import Trainer

STATUS = Path("/proc/self/status")
SYMBOLS = {"matcher": (300, 300), "transducer": (31, 43)}


def task_of(model: str, way: str, kind: str, setting: Setting, data: Numbers) -> Task:
    """A Matcher, ours or materialised; a Transducer, ours, published or its twin."""
    if model == "matcher":
        task = matcher_task(setting, matcher_config(setting, kind), data)
        return task if way == "ours" else materialised_task(task)
    config = transducer_config(setting, kind)
    if way == "twin":
        return twin_task(setting, config, data)
    ours = transducer_task(setting, config, data)
    return ours if way == "ours" else published_task(ours)


def materialised_task(task: MatcherTask) -> OtherLoss:
    """The same Matcher, with every table of features in full."""
    return OtherLoss(task, partial(_materialised_loss, task.network))


def _materialised_loss(network: MatcherNetwork, batch: Batch) -> Tensor:
    pairs = PairBatch(*batch)
    return published.matcher_loss(network, pairs, pairs.labels).mean()


def peak(task: Task, setting: Setting, *, batch: int) -> int:
    """Bytes above what there was before, at the most, in an update of so many pairs."""
    config = TrainConfig(device=str(setting.device), batch_pairs=batch, cuda_graph=False)
    trainer = Trainer(task, config)
    _forget_the_most(setting)
    before = most_memory(setting)
    with products_in(config.precision, setting.device):
        trainer.advance()
    return most_memory(setting) - before


def _forget_the_most(setting: Setting) -> None:
    """From now on; without this, what was once compiled would hide what a small update needs."""
    if setting.on_gpu:
        torch.cuda.reset_peak_memory_stats(setting.device)
    with suppress(OSError):  # only Linux can forget
        Path("/proc/self/clear_refs").write_text("5")


def most_memory(setting: Setting) -> int:
    """Bytes held at the most so far.

    Where the kernel says it of this process alone, that is taken: `ru_maxrss` begins with the most of its parent.
    """
    if setting.on_gpu:
        return torch.cuda.max_memory_allocated(setting.device)
    if STATUS.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", STATUS.read_text())):
        return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def probe(*, model: str, way: str, kind: str, batch: int, length: int, device: str, quick: bool) -> int:
    """The peak of one update, after a small one that loads and compiles whatever is needed."""
    setting = Setting(torch.device(device), quick)
    for pairs in (2, batch):
        data = fixed_numbers(pairs, length if pairs == batch else 2, symbols=SYMBOLS[model])
        used = peak(task_of(model, way, kind, setting, data), setting, batch=pairs)
    return used


if __name__ == "__main__":
    given: dict[str, Any] = json.loads(sys.argv[1])
    print(probe(**given))
