"""Single derivations: the best one, and samples from all of them, by walking back from (n, m) to (0, 0)."""

from collections.abc import Callable, Iterable
from enum import IntEnum
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nsed.types import NEG, Lengths, Stack


class Operation(IntEnum):
    """What an arc does. NONE fills the places after the end of a path."""

    NONE = 0
    DELETE = 1
    INSERT = 2
    SUBSTITUTE = 3


class Step(NamedTuple):
    """One operation on a path, with the cell (i, j) that its arc enters."""

    operation: Operation
    i: int
    j: int


class Paths(NamedTuple):
    """Derivations in reading order: `operations` holds `Operation` codes, `score` the log-weight of each path.

    A pair that has no derivation at all gets an empty path with score NEG.
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
