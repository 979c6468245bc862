"""Single derivations of a pair: the best one, samples from all of them, and the k best.

The best one and samples are walked back from (n, m) to (0, 0). The k best are found exactly, by best-first search: each
arc costs what the best derivation of its cell loses by ending with it, nothing for the best arc, more for the others. A
derivation's costs add up to how far it is behind the best one, whatever is left to walk included, so the search from
(n, m) back to (0, 0) meets complete derivations in their true order and follows none that it does not need.
"""

from collections.abc import Callable, Iterable, Iterator
from enum import IntEnum
from heapq import heappop, heappush
from itertools import count, islice
from math import fsum
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nsed.types import NEG, REACHABLE, Lengths, Stack


class Operation(IntEnum):
    """What an arc does. NONE fills the places after the end of a path.

    >>> Operation(3).name, [int(operation) for operation in Operation]
    ('SUBSTITUTE', [0, 1, 2, 3])
    """

    NONE = 0
    DELETE = 1
    INSERT = 2
    SUBSTITUTE = 3


class Step(NamedTuple):
    """One operation on a path, with the cell (i, j) that its arc enters.

    >>> step = Step(Operation.SUBSTITUTE, i=1, j=1)
    >>> step.operation.name, (step.i, step.j)
    ('SUBSTITUTE', (1, 1))
    """

    operation: Operation
    i: int
    j: int


class Paths(NamedTuple):
    """Derivations in reading order: `operations` holds `Operation` codes, `score` the log-weight of each path.

    A pair that has no derivation at all gets an empty path with score NEG.

    >>> from nsed.lattice import Paths
    >>> paths = Paths(torch.tensor([[3, 1, 0], [0, 0, 0]]), torch.tensor([-0.5, NEG]))
    >>> paths.steps(0)
    [Step(operation=<Operation.SUBSTITUTE: 3>, i=1, j=1), Step(operation=<Operation.DELETE: 1>, i=2, j=1)]
    >>> paths.steps(1), (paths.score > REACHABLE).tolist()
    ([], [True, False])
    """

    operations: Int[Tensor, "*which steps"]
    score: Float[Tensor, "*which"]

    def steps(self, *which: int) -> list[Step]:
        """The operations of one path (say, of pair 3: `steps(3)`, of its sample 0: `steps(3, 0)`) with their cells."""
        return steps_of(self.operations[which].tolist())


_OPERATIONS = tuple(Operation)


def steps_of(codes: Iterable[int]) -> list[Step]:
    """The steps of a path that is given as operation codes."""
    walked, i, j = [], 0, 0
    for operation in map(_OPERATIONS.__getitem__, codes):
        if operation is Operation.NONE:
            break
        i += operation is not Operation.INSERT
        j += operation is not Operation.DELETE
        walked.append(Step(operation, i, j))
    return walked


Choice = Callable[[Float[Tensor, "3 batch paths"]], Int[Tensor, "batch paths"]]
"""Given the shares of the three arcs into each path's cell: which arc to take back."""


def most_likely(shares: Float[Tensor, "3 batch paths"]) -> Int[Tensor, "batch paths"]:
    """The arc with the largest share."""
    return shares.argmax(0)


def at_random(generator: torch.Generator | None) -> Choice:
    """An arc drawn with its share as probability (the Gumbel-max trick: an arc of share 0 is never drawn)."""

    def choose(shares: Float[Tensor, "3 batch paths"]) -> Int[Tensor, "batch paths"]:
        uniform = torch.rand(shares.shape, generator=generator, device=shares.device, dtype=shares.dtype)
        uniform = uniform.clamp(min=torch.finfo(shares.dtype).tiny)  # rand may be 0, and its logarithm would beat all
        return (shares.log() - (-uniform.log()).log()).argmax(0)

    return choose


def walk_back(
    weights: Stack, ratios: Stack, source_lengths: Lengths, target_lengths: Lengths, *, paths: int, choose: Choice
) -> Paths:
    """Follow `paths` derivations per pair from (n, m) back to (0, 0), all pairs at once.

    With the ratios of the max semiring and `most_likely` this is Viterbi; with those of the log semiring and
    `at_random` an exact sample of the posterior over derivations.
    """
    shares = ratios.detach()
    pairs = torch.arange(shares.shape[3], device=shares.device)[:, None]
    i, j = (lengths[:, None].expand(-1, paths) for lengths in (source_lengths, target_lengths))
    score, backwards = torch.zeros_like(i, dtype=shares.dtype), []
    for _ in range(shares.shape[1] + shares.shape[2] - 2):
        here = shares[:, i, j, pairs]
        moving = here.sum(0) > 0
        arc = choose(here)
        score = score + torch.where(moving, weights[arc, i, j, pairs], 0.0)
        backwards.append(torch.where(moving, arc + 1, int(Operation.NONE)).to(torch.int8))
        i, j = i - (moving & (arc != 1)).long(), j - (moving & (arc != 0)).long()
    arrived = (i == 0) & (j == 0)
    return Paths(_in_reading_order(backwards, like=i), torch.where(arrived, score, NEG))


def _in_reading_order(backwards: list[Int[Tensor, "batch paths"]], like: Int[Tensor, "batch paths"]) -> Tensor:
    """Turn last-to-first operations round, so that every path starts at place 0 and zeros follow its end."""
    if not backwards:
        return torch.zeros((*like.shape, 0), dtype=torch.int8, device=like.device)
    codes = torch.stack(backwards, dim=-1)
    count = (codes != int(Operation.NONE)).sum(-1, keepdim=True)
    place = count - 1 - torch.arange(codes.shape[-1], device=codes.device)
    return torch.where(place >= 0, codes.gather(-1, place.clamp(min=0)), int(Operation.NONE))


Behind = list[list[list[float]]]
"""By operation (delete, insert, substitute), i and j: what an arc costs, infinite where there is none."""


class Partial(NamedTuple):
    """A derivation of the rest of a pair, from cell (i, j) on, as the heap sorts them.

    Among equals the one that is nearer to (0, 0) comes first, then the older one: substitutions, then insertions, as
    in the best path.
    """

    cost: float
    left: int
    age: int
    i: int
    j: int
    codes: tuple[int, ...]


def k_best(weights: Stack, incoming: Stack, source_lengths: Lengths, target_lengths: Lengths, *, k: int) -> Paths:
    """The k best derivations of each pair, best first; empty, with score NEG, where there are fewer than k.

    `incoming` is the weight of the best derivation that ends with each arc.
    """
    costs = (incoming.amax(0) - incoming).masked_fill(incoming <= REACHABLE, torch.inf).double()
    batch, longest = incoming.shape[3], incoming.shape[1] + incoming.shape[2] - 2
    codes, score = torch.zeros(batch, k, longest, dtype=torch.int8), torch.full((batch, k), NEG, dtype=torch.double)
    lengths = zip(source_lengths.tolist(), target_lengths.tolist(), strict=True)
    for pair, (n, m) in enumerate(lengths):
        for rank, path in enumerate(islice(_best_first(costs[..., pair].tolist(), n, m), k)):
            codes[pair, rank, : len(path)] = torch.tensor(path, dtype=torch.int8)
            score[pair, rank] = _weight(weights[..., pair], path)
    return Paths(codes.to(weights.device), score.to(weights))


def _best_first(costs: Behind, n: int, m: int) -> Iterator[tuple[int, ...]]:
    """All derivations as operation codes, best first, found one at a time."""
    ages, heap = count(), [Partial(0.0, n + m, 0, n, m, ())]
    while heap:
        one = heappop(heap)
        if one.i == one.j == 0:
            yield one.codes
        for operation in (Operation.SUBSTITUTE, Operation.INSERT, Operation.DELETE):
            cost = one.cost + costs[operation - 1][one.i][one.j]
            if cost < torch.inf:
                i, j = one.i - (operation is not Operation.INSERT), one.j - (operation is not Operation.DELETE)
                heappush(heap, Partial(cost, i + j, next(ages), i, j, (int(operation), *one.codes)))


def _weight(weights: Tensor, path: tuple[int, ...]) -> float:
    return fsum(float(weights[step.operation - 1, step.i, step.j]) for step in steps_of(path))
