"""The interface of a backend."""

from abc import ABC, abstractmethod

from nsed.lattice.arcs import incoming
from nsed.lattice.semiring import Semiring
from nsed.types import Cells, Stack


class Backend(ABC):
    """Two recursions over the cells of a batch of lattices, and what is made of them.

    Callers pass arcs whose impossible places hold NEG (in `forward`) or 0 (in `sweep`), so a backend needs to know
    neither lengths nor masks.
    """

    @abstractmethod
    def forward(self, weights: Stack, semiring: Semiring) -> Cells:
        """`x[0,0] = 0`; `x[c]` = semiring sum over arcs a into c of `x[start of a] + weights[a]`."""

    @abstractmethod
    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """`x[c] = injection[c]` + sum over arcs a into c (`reverse`: out of c) of `ratios[a] * x[other end of a]`."""

    def gradient(self, injection: Cells, weights: Stack, alpha: Cells, semiring: Semiring) -> Stack:
        """What `injection`, the derivative by `alpha = forward(weights)`, means for the weights.

        A backend may do it in one go; this is what it must give.
        """
        ratios = semiring.ratios(incoming(alpha, weights))
        return self.sweep(injection, ratios, reverse=True) * ratios
