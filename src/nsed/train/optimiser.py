"""Optimiser, gradient clipping, learning-rate schedule and time budget, and a moving average of the weights."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from nsed.train.config import TrainConfig
from nsed.train.strategy import GraphRecorder


class Schedule:
    """Learning-rate schedule: the factor at each step; it listens to validations and is saved as two numbers."""

    def __init__(self, config: TrainConfig) -> None:
        self._config = config
        self.warmup = min(config.warmup, config.steps // 4)
        self.decays, self.waiting = 0, 0

    def factor(self, step: int, *, spent: float = 0.0) -> float:
        """Learning-rate factor for step 1, 2, ...; `spent` is the share of a time budget, if that is further on."""
        config = self._config
        rising = min(1.0, step / self.warmup) if self.warmup else 1.0
        if config.schedule == "cosine":
            left = max(config.steps - self.warmup, 1)
            done = min(max(max(step - self.warmup, 0) / left, spent), 1.0)
            return rising * 0.5 * (1 + math.cos(math.pi * done))
        return rising * config.decay**self.decays

    def observe(self, *, improved: bool) -> None:
        """Observe a validation: on a plateau, every `decay_patience` validations without improvement are a decay."""
        self.waiting = 0 if improved else self.waiting + 1
        if self._config.schedule == "plateau" and self.waiting and self.waiting % self._config.decay_patience == 0:
            self.decays += 1

    @property
    def exhausted(self) -> bool:
        """Schedule's end: whether nothing more is to be expected."""
        if self._config.schedule == "plateau":
            return self.decays >= self._config.most_decays
        return self.waiting >= self._config.patience


UNMEASURED = 0.03
"""Share of a time budget that is kept for the last validation, as long as none has shown how long one takes."""
MEASURED, MARGIN = 5, 1.5
"""Updates from which on their time is known, the first one apart, and how many times theirs as many take afterwards."""


class Budget:
    """Time budget of a training: minutes, 0 for no limit, in which the last validation must find room too.

    Several processes, whose clocks differ, are not `exact`: they look at it only when they validate, all together.
    A `share` of it is for training, and more where so many updates `afterwards` need less than the rest.
    """

    def __init__(
        self, minutes: float, *, exact: bool = True, share: float = 1.0, afterwards: int | None = None
    ) -> None:
        self._whole, self._exact = 60 * minutes or math.inf, exact
        self._share, self._afterwards = share, afterwards
        self._limit, self._updates, self._updating = share * self._whole, -1, 0.0
        self._begun, self._warm, self._last = time.monotonic(), 0.0, UNMEASURED * share * 60 * minutes

    def begin(self, seconds: float) -> None:
        """Begin with so many seconds spent already, by the training that is resumed."""
        self._begun = time.monotonic() - seconds

    @property
    def seconds(self) -> float:
        """Seconds spent."""
        return time.monotonic() - self._begun

    @property
    def is_over(self) -> bool:
        """Whether no more is left than the last validation needs."""
        return self._exact and self.seconds + self._last >= self._limit

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.seconds >= self._limit

    @contextmanager
    def update(self) -> Iterator[None]:
        """Measure an update, but for the first one, which compiles: training has what as many need not afterwards."""
        before = self.seconds
        yield
        self._updating += self.seconds - before if self._updates >= 0 else 0.0
        self._updates += 1
        if self._afterwards is not None and self._exact and self._updates >= MEASURED:
            needed = MARGIN * self._afterwards * self._updating / self._updates
            self._limit = max(self._share * self._whole, self._whole - needed)

    def warm_up(self) -> None:
        """Note the end of the warm-up, so far: what comes after it is scheduled by time; a quarter of all at most."""
        self._warm = min(self.seconds, self._limit / 4)

    @property
    def share(self) -> float:
        """Share of the time after the warm-up that is spent; 0 without a limit."""
        if self._limit == math.inf or not self._exact:
            return 0.0
        return (self.seconds - self._warm) / max(self._limit - self._last - self._warm, 1e-9)

    @contextmanager
    def validation(self) -> Iterator[None]:
        """Measure a validation: the last one may take as long."""
        before = self.seconds
        yield
        self._last = self.seconds - before


class WeightAverage:
    """Exponential moving average of weights, `decay * average + (1 - decay) * weights`, warming up as 1 - 1/steps.

    A decay of 0 follows the weights themselves.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._network, self._decay = network, decay
        self._share = next(network.parameters()).new_ones(())
        self.weights: dict[str, Tensor] = {}
        if decay:
            self.weights = {name: value.detach().clone() for name, value in network.state_dict().items()}

    def now(self, step: int) -> None:
        """Set the step: the next update is number 1, 2, ..."""
        self._share.fill_(max(1 - self._decay, 1 / step))

    @torch.no_grad()
    def update(self) -> None:
        """Update the moving average after every step; the same kernels whatever its number."""
        if self.weights:
            current, averaged = self._network.state_dict(), list(self.weights.values())
            change = torch._foreach_sub([current[name] for name in self.weights], averaged)
            torch._foreach_mul_(change, self._share)
            torch._foreach_add_(averaged, change)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """Swap in the averaged weights: while this lasts, the network has them."""
        if not self.weights:
            yield
            return
        own = {name: value.detach().clone() for name, value in self._network.state_dict().items()}
        self._network.load_state_dict(self.weights)
        try:
            yield
        finally:
            self._network.load_state_dict(own)


class Updates:
    """Optimiser step of a network with the moving average of its weights; recorded as a CUDA graph, or not."""

    def __init__(self, network: nn.Module, config: TrainConfig, graph_recorder: GraphRecorder | None = None) -> None:
        parameters = list(network.parameters())
        self.optimiser, self.average = _optimiser(parameters, config), WeightAverage(network, config.average)
        work = partial(_apply, parameters, config.clip, self.optimiser, self.average)
        self._work = work if graph_recorder is None else graph_recorder.record(work)

    def apply(self, rate: float, step: int) -> None:
        """Apply update number 1, 2, ... with this learning rate; afterwards the gradients are zero."""
        for group in self.optimiser.param_groups:
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(rate)
            else:
                group["lr"] = rate
        self.average.now(step)
        self._work()


def _apply(
    parameters: list[nn.Parameter], clip: float, optimiser: torch.optim.Optimizer, average: WeightAverage
) -> Tensor:
    norm = nn.utils.clip_grad_norm_(parameters, clip)
    optimiser.step()
    average.update()
    optimiser.zero_grad(set_to_none=False)
    return norm


def _optimiser(parameters: list[nn.Parameter], config: TrainConfig) -> torch.optim.Optimizer:
    there = parameters[0].is_cuda  # one kernel for all parameters, and a rate that a captured graph can read
    rate = torch.tensor(config.learning_rate, device=parameters[0].device) if there else config.learning_rate
    if config.optimiser == "adam":
        return torch.optim.Adam(parameters, lr=rate, fused=there, capturable=there)
    return torch.optim.AdamW(parameters, lr=rate, weight_decay=config.weight_decay, fused=there, capturable=there)
