"""Whole updates, as the trainer does them: forward, backward, clipping, optimiser, on a GPU as recorded graphs."""

from typing import Any

import numpy as np
import torch

from benchmarks.setting import Setting
from nsed.train.config import TrainConfig, products_in
from nsed.train.strategy import batch_of
from nsed.train.task import Task
from nsed.train.trainer import Trainer

RECORDED = 3
"""Runs after which every shape has been recorded and replayed."""


class Updates:
    """The first updates of a training, the same batches in every run, so that a GPU has seen their shapes."""

    def __init__(self, task: Task, setting: Setting, *, count: int, batch: int, **others: Any) -> None:
        self.count, self._device = count, setting.device
        config = TrainConfig(device=str(setting.device), batch_pairs=batch, **others)
        self.trainer = Trainer(task, config)
        for _ in range(RECORDED if setting.on_gpu else 1):
            self()

    def __call__(self) -> None:
        """Once through the batches."""
        self.trainer.step = 0
        with products_in(self.trainer.config.precision, self._device):
            for _ in range(self.count):
                self.trainer.advance()


def same_loss(one: Task, other: Task, setting: Setting, *, pairs: int = 64) -> None:
    """Both losses of some pairs of different lengths are the same, without dropout: they may be compared."""
    batch = batch_of(one, np.arange(min(pairs, len(one.sizes))), setting.device)
    one.network.eval()
    other.network.eval()
    with torch.no_grad():
        torch.testing.assert_close(one.loss(batch), other.loss(batch), rtol=1e-3, atol=1e-3)
