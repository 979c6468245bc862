"""The k best derivations of a pair, exactly, by best-first search.

Each arc costs what the best derivation of its cell loses by ending with it: nothing for the best arc, more for the
others. A derivation's costs add up to how far it is behind the best one, whatever is left to walk included, so the
search from (n, m) back to (0, 0) meets complete derivations in their true order and follows none that it does not need.
"""

from collections.abc import Iterator
from heapq import heappop, heappush
from itertools import count, islice
from math import fsum
from typing import NamedTuple

import torch
from torch import Tensor

from nsed.lattice.path import Operation, Paths, steps_of
from nsed.types import NEG, REACHABLE, Lengths, Stack

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
