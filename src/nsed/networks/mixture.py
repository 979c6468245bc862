"""Mixture mathematics: the mean of several exact models' probabilities, symbol by symbol and in one lattice.

A mixture draws one of its members, all alike, and lets it write: `p(target) = mean of p_k(target)`. So the probability
of a prefix is the mean of the members' own, and a member that finds the prefix improbable has little left to say about
the next symbol. Nothing is approximated.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from nsed.lattice import EditLattice
from nsed.networks.search import IncrementalDecoder, Rows
from nsed.types import NEG, REACHABLE, UNKNOWN, Lengths, Table

Numbers = Int[Tensor, " symbols"]


class MixtureMember(NamedTuple):
    """Member of a mixture: its decoder, and its own number of each symbol of the mixture's vocabularies."""

    decoder: IncrementalDecoder[Any, Any, Any]
    source: Numbers
    target: Numbers


class MixedSource(NamedTuple):
    """Encoded sources, as each member encodes them."""

    members: tuple[Any, ...]
    lengths: Lengths


class MixedHypotheses(NamedTuple):
    """Hypotheses of each member, for the same prefixes, a row each."""

    members: tuple[Any, ...]
    symbols: Int[Tensor, "rows length"]
    lost: Float[Tensor, "members rows"]
    """NEG for a member that has no number for some symbol of the prefix, and so cannot write it; else 0."""

    @property
    def vector(self) -> Float[Tensor, "rows dim"]:
        """See `Hypotheses.vector`: those of the first member."""
        vector: Tensor = self.members[0].vector
        return vector


class MixedExpanded(NamedTuple):
    """Expanded hypotheses of each member, and the mean of what they say."""

    members: tuple[Any, ...]
    hypotheses: MixedHypotheses
    written: Float[Tensor, "rows symbols"]


class MixtureDecoder:
    """Incremental decoder of a mixture whose members all write in the same direction, as an `IncrementalDecoder`."""

    def __init__(self, members: Sequence[MixtureMember]) -> None:
        self.members = tuple(members)

    @property
    def device(self) -> torch.device:
        """See `IncrementalDecoder.device`."""
        return self.members[0].decoder.device

    @property
    def longest(self) -> int | None:
        """See `IncrementalDecoder.longest`: that of the member that ends first."""
        return min((one.decoder.longest for one in self.members if one.decoder.longest is not None), default=None)

    def encode(self, source: Int[Tensor, "batch n"], lengths: Lengths) -> MixedSource:
        """See `IncrementalDecoder.encode`."""
        return MixedSource(tuple(one.decoder.encode(one.source[source], lengths) for one in self.members), lengths)

    def begin(self, source: MixedSource) -> MixedHypotheses:
        """See `IncrementalDecoder.begin`."""
        begun = tuple(one.decoder.begin(own) for one, own in zip(self.members, source.members, strict=True))
        lost = torch.zeros((len(begun), len(source.lengths)), device=self.device)
        return MixedHypotheses(begun, begun[0].symbols, lost)

    def expand(self, hypotheses: MixedHypotheses) -> MixedExpanded:
        """See `IncrementalDecoder.expand`: the mean probability of each prefix with each next symbol."""
        expanded, said = [], []
        for one, own, lost in zip(self.members, hypotheses.members, hypotheses.lost, strict=True):
            expanded.append(one.decoder.expand(own))
            said.append(expanded[-1].written[:, one.target] + lost[:, None])  # NEG for <unk>: never written
        mean = torch.stack(said).logsumexp(0) - math.log(len(said))
        return MixedExpanded(tuple(expanded), hypotheses, mean.clamp(min=NEG))

    def continued(
        self, expanded: MixedExpanded, rows: Rows, symbols: Rows, *, same_sources: bool = False
    ) -> MixedHypotheses:
        """See `IncrementalDecoder.continued`."""
        before = expanded.hypotheses
        own = [one.target[symbols] for one in self.members]
        members = tuple(
            one.decoder.continued(opened, rows, numbers, same_sources=same_sources)
            for one, opened, numbers in zip(self.members, expanded.members, own, strict=True)
        )
        missing = torch.stack(own) == UNKNOWN
        longer = torch.cat([before.symbols[rows], symbols[:, None]], dim=1)
        return MixedHypotheses(members, longer, before.lost[:, rows].masked_fill(missing, NEG))


def mixed_lattice(
    lattices: Sequence[EditLattice], ends: Float[Tensor, "members batch"], lengths: tuple[Lengths, Lengths]
) -> EditLattice:
    """Lattice of a mixture, of those of its members for the same pairs, and their log-probabilities of the end.

    Its forward table is the mean of the members' own, `A`, and its posteriors are those of the mixture: the members'
    own, weighted by how probable each makes the pair. With `G` the joint weight of all derivations through an arc and
    `O` that of those through a cell, summed over members, an arc has the weight `G / O(to) * A(to) / A(from)`: of a
    single member, its own. Derivations are as a first-order chain with these posteriors has them.
    """
    alphas = torch.stack([lattice.log_alpha.double() for lattice in lattices])
    betas = torch.stack([lattice.log_beta.double() for lattice in lattices]) + ends.double()[:, :, None, None]
    mean, through = alphas.logsumexp(0) - math.log(len(lattices)), (alphas + betas).logsumexp(0)

    def mixed(own: list[Table], reads: int, writes: int) -> Table:
        weights = torch.stack([table.double() for table in own])
        joint = (_entering(alphas, reads, writes) + weights + betas).logsumexp(0)
        weight = joint - through + mean - _entering(mean, reads, writes)
        return weight.masked_fill(joint <= REACHABLE, NEG).to(own[0])

    arcs = [lattice.arcs for lattice in lattices]
    return EditLattice(
        mixed([own.delete for own in arcs], 1, 0),
        mixed([own.insert for own in arcs], 0, 1),
        mixed([own.substitute for own in arcs], 1, 1),
        *lengths,
    )


def _entering(cells: Tensor, reads: int, writes: int) -> Tensor:
    """Values of the cells that arcs come from, at the cells that they enter; NEG where none comes from."""
    height, width = cells.shape[-2:]
    return functional.pad(cells[..., : height - reads, : width - writes], (writes, 0, reads, 0), value=NEG)
