"""The learning rate: warm-up, then cosine, plateau or constant."""

import math

from nsed.train.config import TrainConfig


class Schedule:
    """The factor on the learning rate at each step; it listens to validations and can be saved in three numbers."""

    def __init__(self, config: TrainConfig) -> None:
        self._config = config
        self._warmup = min(config.warmup, config.steps // 4)
        self.decays, self.waiting = 0, 0

    def factor(self, step: int) -> float:
        """For step 1, 2, ..."""
        config = self._config
        rising = min(1.0, step / self._warmup) if self._warmup else 1.0
        if config.schedule == "cosine":
            left = max(config.steps - self._warmup, 1)
            done = min(max(step - self._warmup, 0) / left, 1.0)
            return rising * 0.5 * (1 + math.cos(math.pi * done))
        return rising * config.decay**self.decays

    def observe(self, *, improved: bool) -> None:
        """A validation: on a plateau, every `decay_patience` validations without improvement are a decay."""
        self.waiting = 0 if improved else self.waiting + 1
        if self._config.schedule == "plateau" and self.waiting and self.waiting % self._config.decay_patience == 0:
            self.decays += 1

    @property
    def exhausted(self) -> bool:
        """Whether nothing more is to be expected."""
        if self._config.schedule == "plateau":
            return self.decays >= self._config.most_decays
        return self.waiting >= self._config.patience
