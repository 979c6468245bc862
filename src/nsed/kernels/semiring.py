"""Semirings: what "sum over derivations" means, log-sum-exp for probabilities, maximum (Viterbi) for the best path.

Everything else (the recursion, its gradient, the backends) is written once for both.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from nsed.types import NEG, REACHABLE, Cells, Stack


@dataclass(frozen=True)
class Semiring:
    """Semiring addition of log-weights.

    `plus` sums two tensors (a torch function that takes `out=`). `shares` says how much each of the three arcs that
    enter a cell contributes to the cell's sum: the derivative of the sum, three numbers in [0, 1] that add up to one.
    """

    name: str
    plus: Callable[..., Tensor]
    shares: Callable[[Stack], Stack]

    def ratios(self, incoming: Stack) -> Stack:
        """Arc ratios: shares of the arcs in their cell; zero in cells that no derivation reaches, (0, 0) included."""
        reached = incoming.detach().amax(0) > REACHABLE
        return self.shares(incoming) * reached.to(incoming.dtype)


def _softmax(incoming: Stack) -> Stack:
    return torch.softmax(incoming, dim=0)


def _argmax(incoming: Stack) -> Stack:
    """Argmax with ties to substitute, then insert, then delete: fewer operations first."""
    winner = 2 - incoming.detach().flip(0).argmax(0)
    return torch.stack([winner == operation for operation in range(3)]).to(incoming.dtype)


LOG = Semiring("log", torch.logaddexp, _softmax)
MAX = Semiring("max", torch.maximum, _argmax)


def starts(cells: Cells, fill: float) -> Stack:
    """Start-cell values of each arc: the value at the cell where it starts; `fill` where there is no such cell."""
    bordered = functional.pad(cells, (0, 0, 1, 0, 1, 0), value=fill)
    return torch.stack([bordered[:-1, 1:], bordered[1:, :-1], bordered[:-1, :-1]])


def incoming(alpha: Cells, weights: Stack) -> Stack:
    """Incoming log-weights: of the derivations that end with each arc, alpha at its start plus its weight."""
    return starts(alpha, NEG).add_(weights)
