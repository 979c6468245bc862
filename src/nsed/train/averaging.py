"""A running average of a network's weights: often better than any single state of them."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class WeightAverage:
    """`average = decay * average + (1 - decay) * weights` after every step, warming up as 1 - 1/steps.

    A decay of 0 follows the weights themselves.
    """

    def __init__(self, network: nn.Module, decay: float) -> None:
        self._network, self._decay = network, decay
        self._share = next(network.parameters()).new_ones(())
        self.weights: dict[str, Tensor] = {}
        if decay:
            self.weights = {name: value.detach().clone() for name, value in network.state_dict().items()}

    def now(self, step: int) -> None:
        """The next update is number 1, 2, ..."""
        self._share.fill_(max(1 - self._decay, 1 / step))

    @torch.no_grad()
    def update(self) -> None:
        """After every step; the same kernels whatever its number."""
        if self.weights:
            current, averaged = self._network.state_dict(), list(self.weights.values())
            change = torch._foreach_sub([current[name] for name in self.weights], averaged)
            torch._foreach_mul_(change, self._share)
            torch._foreach_add_(averaged, change)

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """While this lasts, the network has the averaged weights."""
        if not self.weights:
            yield
            return
        own = {name: value.detach().clone() for name, value in self._network.state_dict().items()}
        self._network.load_state_dict(self.weights)
        try:
            yield
        finally:
            self._network.load_state_dict(own)
