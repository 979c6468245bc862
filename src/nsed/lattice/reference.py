"""The lattice in scalar Python, one pair at a time, written to be read: the oracle of every test.

Grids are nested lists, `grid[i][j]`. Two independent ways to every quantity: the recursions, and the enumeration of all
derivations, which needs no recursion to be right (and no more than a handful of symbols). `ReferenceBackend` puts the
recursions behind the interface of the fast ones: `EditLattice(..., backend="reference")`.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

from nsed.kernels.contracts import Backend, never
from nsed.kernels.dispatch import LATTICE, Implementation
from nsed.kernels.semiring import Semiring
from nsed.lattice.paths import Operation, Step
from nsed.types import NEG, REACHABLE, Cells, Stack

Grid = list[list[float]]
Plus = Callable[[float, float], float]


class Grids(NamedTuple):
    """The arcs of one pair, without padding: `len(grid) == n + 1`, `len(grid[0]) == m + 1`."""

    delete: Grid
    insert: Grid
    substitute: Grid

    def weight(self, step: Step) -> float:
        """Log-weight of one arc, at least NEG."""
        grid = self[step.operation - 1]
        return max(grid[step.i][step.j], NEG)


def logaddexp(x: float, y: float) -> float:
    """log(exp(x) + exp(y)), stable."""
    high, low = max(x, y), min(x, y)
    return high + math.log1p(math.exp(low - high))


def arcs_into(i: int, j: int) -> list[Step]:
    """The arcs that enter cell (i, j): three inside, one on the borders, none at (0, 0)."""
    steps = []
    if i > 0:
        steps.append(Step(Operation.DELETE, i, j))
    if j > 0:
        steps.append(Step(Operation.INSERT, i, j))
    if i > 0 and j > 0:
        steps.append(Step(Operation.SUBSTITUTE, i, j))
    return steps


def start_of(step: Step) -> tuple[int, int]:
    """The cell that an arc leaves."""
    return (
        step.i - (step.operation in (Operation.DELETE, Operation.SUBSTITUTE)),
        step.j - (step.operation in (Operation.INSERT, Operation.SUBSTITUTE)),
    )


def alpha(grids: Grids, plus: Plus = logaddexp) -> Grid:
    """Sum over the derivations of every prefix pair."""
    rows, columns = len(grids.delete), len(grids.delete[0])
    table = [[NEG] * columns for _ in range(rows)]
    table[0][0] = 0.0
    for i in range(rows):
        for j in range(columns):
            for step in arcs_into(i, j):
                before_i, before_j = start_of(step)
                table[i][j] = plus(table[i][j], table[before_i][before_j] + grids.weight(step))
    return [[max(value, NEG) for value in row] for row in table]


def beta(grids: Grids, plus: Plus = logaddexp) -> Grid:
    """Sum over the derivations of every suffix pair."""
    rows, columns = len(grids.delete), len(grids.delete[0])
    table = [[NEG] * columns for _ in range(rows)]
    table[-1][-1] = 0.0
    for i in reversed(range(rows)):
        for j in reversed(range(columns)):
            for step in arcs_into(i, j):
                before_i, before_j = start_of(step)
                table[before_i][before_j] = plus(table[before_i][before_j], table[i][j] + grids.weight(step))
    return [[max(value, NEG) for value in row] for row in table]


def all_paths(n: int, m: int) -> Iterator[list[Step]]:
    """Every derivation of n source into m target symbols, in no particular order."""
    if n == 0 and m == 0:
        yield []
    for step in arcs_into(n, m):
        for path in all_paths(*start_of(step)):
            yield [*path, step]


def path_weight(path: list[Step], grids: Grids) -> float:
    """Log-weight of a derivation: the sum over its arcs."""
    return math.fsum(grids.weight(step) for step in path)


class Enumerated(NamedTuple):
    """What can be said of a lattice by listing all its derivations."""

    log_prob: float
    posterior: dict[Step, float]
    entropy: float
    best_path: list[Step]
    best_score: float


def enumerate_all(grids: Grids) -> Enumerated:
    """Every quantity by brute force, straight from its definition."""
    paths = list(all_paths(len(grids.delete) - 1, len(grids.delete[0]) - 1))
    weights = [path_weight(path, grids) for path in paths]
    best = max(range(len(paths)), key=weights.__getitem__)
    if weights[best] <= REACHABLE:
        return Enumerated(NEG, {}, 0.0, [], NEG)
    log_prob = weights[best] + math.log(math.fsum(math.exp(w - weights[best]) for w in weights))
    probabilities = [math.exp(w - log_prob) for w in weights]
    posterior: dict[Step, float] = {}
    for path, probability in zip(paths, probabilities, strict=True):
        for step in path:
            posterior[step] = posterior.get(step, 0.0) + probability
    entropy = math.fsum(-p * math.log(p) for p in probabilities if p > 0)
    return Enumerated(log_prob, posterior, entropy, paths[best], weights[best])


_PLUS: dict[str, Plus] = {"log": logaddexp, "max": max}


class ReferenceBackend(Backend):
    """Readable, slow, for any shape: what the other backends are compared with.

    >>> from nsed.kernels.semiring import LOG
    >>> ReferenceBackend().forward(torch.zeros(3, 3, 3, 1), LOG)[:, :, 0].exp().round().tolist()
    [[1.0, 1.0, 1.0], [1.0, 3.0, 5.0], [1.0, 5.0, 13.0]]
    """

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


LATTICE.register(Implementation("reference", "scalar Python, to be read", refusal=never, load=ReferenceBackend))
