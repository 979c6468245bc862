"""The scalar backend: `nsed.lattice.reference` and plain loops behind the interface of the fast ones."""

from collections.abc import Callable

import torch

from nsed.lattice.backends.base import Backend
from nsed.lattice.reference import Grid, Grids, Plus, alpha, arcs_into, logaddexp, start_of
from nsed.lattice.semiring import Semiring
from nsed.types import Cells, Stack

_PLUS: dict[str, Plus] = {"log": logaddexp, "max": max}


class ReferenceBackend(Backend):
    """Readable, slow, for any shape: what the other backends are compared with."""

    def forward(self, weights: Stack, semiring: Semiring) -> Cells:
        """See `Backend.forward`."""
        plus = _PLUS[semiring.name]
        return _pair_by_pair(lambda *grids: alpha(Grids(*grids), plus), *weights)

    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """See `Backend.sweep`."""
        return _pair_by_pair(_sweep_back if reverse else _sweep_on, injection, *ratios)


def _sweep_on(injection: Grid, *ratios: Grid) -> Grid:
    """Each cell takes from the cells before it."""
    solved = [row[:] for row in injection]
    for i, row in enumerate(solved):
        for j in range(len(row)):
            for step in arcs_into(i, j):
                before_i, before_j = start_of(step)
                solved[i][j] += ratios[step.operation - 1][i][j] * solved[before_i][before_j]
    return solved


def _sweep_back(injection: Grid, *ratios: Grid) -> Grid:
    """Each cell, complete once the cells after it are done, gives to the cells before it."""
    solved = [row[:] for row in injection]
    for i in reversed(range(len(solved))):
        for j in reversed(range(len(solved[i]))):
            for step in arcs_into(i, j):
                before_i, before_j = start_of(step)
                solved[before_i][before_j] += ratios[step.operation - 1][i][j] * solved[i][j]
    return solved


def _pair_by_pair(function: Callable[..., Grid], *tables: Cells) -> Cells:
    """Apply a function of grids to each pair of a batch."""
    pairs = zip(*(table.movedim(-1, 0).tolist() for table in tables), strict=True)
    solved = [function(*grids) for grids in pairs]
    shape = tables[0].movedim(-1, 0).shape
    return torch.tensor(solved, dtype=tables[0].dtype, device=tables[0].device).reshape(shape).movedim(0, -1)
