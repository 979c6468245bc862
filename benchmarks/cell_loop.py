"""The published design, written by us: a loop over the cells, each a few tensor operations over the batch."""

from typing import NamedTuple, Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nsed.lattice import Arcs
from nsed.networks.operations import TargetScores
from nsed.types import Lengths, PerPair


class Weights(Protocol):
    """Log-weights of the arcs into cell (i, j), one per pair."""

    def delete(self, i: int, j: int) -> PerPair:
        """Of the arc from (i - 1, j)."""

    def insert(self, i: int, j: int) -> PerPair:
        """Of the arc from (i, j - 1)."""

    def substitute(self, i: int, j: int) -> PerPair:
        """Of the arc from (i - 1, j - 1)."""


class OfArcs(NamedTuple):
    """From tables that have the arcs of the strings' own symbols already."""

    arcs: Arcs

    def delete(self, i: int, j: int) -> PerPair:
        """See `Weights`."""
        return self.arcs.delete[:, i, j]

    def insert(self, i: int, j: int) -> PerPair:
        """See `Weights`."""
        return self.arcs.insert[:, i, j]

    def substitute(self, i: int, j: int) -> PerPair:
        """See `Weights`."""
        return self.arcs.substitute[:, i, j]


class OfClasses(NamedTuple):
    """From the table of all classes in all cells: each cell looks up the classes of its own symbol, as in the paper."""

    scores: TargetScores
    target: Int[Tensor, "batch m"]

    def delete(self, i: int, j: int) -> PerPair:
        """See `Weights`."""
        return self.scores.delete[:, i - 1, j]

    def insert(self, i: int, j: int) -> PerPair:
        """See `Weights`."""
        return self._symbol(self.scores.insert[:, i, j - 1], j)

    def substitute(self, i: int, j: int) -> PerPair:
        """See `Weights`."""
        return self._symbol(self.scores.substitute[:, i - 1, j - 1], j)

    def _symbol(self, scores: Float[Tensor, "batch symbols"], j: int) -> PerPair:
        return scores.gather(1, self.target[:, j - 1, None])[:, 0]


def log_prob(weights: Weights, source_lengths: Lengths, target_lengths: Lengths, *, sizes: tuple[int, int]) -> PerPair:
    """Log-sum over all derivations of each pair; autograd records every cell of a table of this size."""
    rows, columns = sizes
    cells = {(0, 0): torch.zeros(len(source_lengths), device=source_lengths.device)}
    for i in range(rows):
        for j in range(columns):
            terms = []
            if i > 0:
                terms.append(cells[i - 1, j] + weights.delete(i, j))
            if j > 0:
                terms.append(cells[i, j - 1] + weights.insert(i, j))
            if i > 0 and j > 0:
                terms.append(cells[i - 1, j - 1] + weights.substitute(i, j))
            if terms:
                cells[i, j] = torch.logsumexp(torch.stack(terms), dim=0)
    table = torch.stack([cells[i, j] for i in range(rows) for j in range(columns)], dim=1)
    return table.gather(1, (source_lengths * columns + target_lengths)[:, None])[:, 0]
