"""What the trainer needs to know of what it trains: a loss, a validation, and nothing of the model itself."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np
from torch import Tensor, nn


class Task(ABC):
    """A network with its data."""

    network: nn.Module
    metric: str
    """The number of a validation that decides which model is best."""
    higher_is_better: bool

    @property
    @abstractmethod
    def sizes(self) -> np.ndarray:
        """How long each training pair is, for batches of similar length."""

    @abstractmethod
    def loss(self, rows: np.ndarray) -> Tensor:
        """Mean loss of some training pairs."""

    @abstractmethod
    def validate(self) -> Mapping[str, float]:
        """All numbers of a validation, the deciding one among them."""
