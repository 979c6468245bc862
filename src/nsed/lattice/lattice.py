"""The edit lattice: all ways to turn a source string into a target string, weighted."""

from functools import cached_property
from typing import Literal

import torch

from nsed.errors import ArgumentError
from nsed.kernels.dispatch import lattice_backend
from nsed.kernels.semiring import LOG, MAX, incoming
from nsed.kernels.switch import AUTO
from nsed.lattice.arcs import (
    Arcs,
    batch_first,
    check_lengths,
    check_tables,
    final_cell,
    one_hot_final,
    unstacked,
    usable,
)
from nsed.lattice.forward_backward import backward_table, forward_table, ratios_of, sweep
from nsed.lattice.paths import Paths, at_random, k_best, most_likely, walk_back
from nsed.types import REACHABLE, Cells, Lengths, PerPair, Stack, Table

Weighting = Literal["cell", "posterior"]


class EditLattice:
    """A batch of edit lattices and everything that can be asked of them, computed when asked and then kept.

    `delete`, `insert` and `substitute` hold log-weights, `[batch, n+1, m+1]`; an arc belongs to the cell it enters.
    Places that no arc can enter (delete in row 0, insert in column 0, substitute in both, everything beyond a pair's
    own lengths) are ignored whatever they hold; arcs of weight minus infinity are allowed. All quantities are
    differentiable where that means something, any number of times.

    Raises `ShapeError`, `DTypeError`, `DeviceError` or `UnknownNameError`, naming the argument. `validate=False` leaves
    the checks out, for loops on a GPU that must not wait for the device.

    The 13 derivations of two symbols into two, all arcs of weight 1:

    >>> ones = torch.zeros(1, 3, 3)
    >>> lattice = EditLattice(ones, ones, ones, torch.tensor([2]), torch.tensor([2]))
    >>> round(lattice.log_prob.exp().item())
    13
    """

    def __init__(
        self,
        delete: Table,
        insert: Table,
        substitute: Table,
        source_lengths: Lengths,
        target_lengths: Lengths,
        *,
        backend: str = AUTO,
        validate: bool = True,
    ) -> None:
        arcs = Arcs(delete, insert, substitute)
        if validate:
            check_tables(arcs)
            check_lengths("source_lengths", source_lengths, delete, axis=1)
            check_lengths("target_lengths", target_lengths, delete, axis=2)
        self._backend = lattice_backend(backend, delete)
        self._lengths = (source_lengths.long(), target_lengths.long())
        self._weights = usable(arcs, *self._lengths)

    @cached_property
    def arcs(self) -> Arcs:
        """The log-weights in use, to look at (they carry no gradient): NEG (-1e30) where no arc can be."""
        return unstacked(self._weights.detach())

    @cached_property
    def log_alpha(self) -> Table:
        """Log-sum over the derivations of each prefix pair; 0 at (0, 0), NEG where there is none.

        Paper: Equation 1 and Algorithm "Forward evaluation".
        """
        return batch_first(self._alpha)

    @cached_property
    def log_beta(self) -> Table:
        """Log-sum over the derivations of each suffix pair; 0 at the pair's own (n, m), NEG where there is none.

        Paper: section 3, the suffix-pair probabilities beta.
        """
        return batch_first(backward_table(self._weights, *self._lengths, backend=self._backend, semiring=LOG))

    @cached_property
    def log_prob(self) -> PerPair:
        """Log-sum over all derivations of each pair: `log_alpha` at its own (n, m)."""
        return final_cell(self._alpha, *self._lengths)

    @cached_property
    def occupancy(self) -> Table:
        """Probability that a derivation passes through each cell; 1 at (0, 0) and (n, m)."""
        return batch_first(self._occupancy)

    @cached_property
    def posteriors(self) -> Arcs:
        """Probability that each arc is used, given the pair: the derivative of `log_prob` by the arc's weight.

        Paper: Equation 2, alpha * P * beta / alpha_{n,m}, for one pair.
        """
        return unstacked(self._occupancy * self._ratios)

    def expected_operations(self, weighting: Weighting = "cell") -> Arcs:
        """Which operation leads into each cell: the target of EM.

        `cell`: the three operations of each reachable cell but (0, 0) sum to one. `posterior`: they sum to the
        probability that the cell is visited, as in textbook EM.

        Paper: Algorithm "Expectation-Maximization Loss", the normalised `expected`. Ours has no beta: it is the same
        factor for the three arcs into a cell and cancels.
        """
        if weighting == "cell":
            return unstacked(self._ratios)
        if weighting == "posterior":
            return self.posteriors
        raise ArgumentError("weighting", got=repr(weighting), expected="'cell' or 'posterior'")

    @cached_property
    def entropy(self) -> PerPair:
        """Uncertainty, in nats, about which derivation made the pair; 0 when there is only one."""
        above_zero = self._ratios.clamp(min=torch.finfo(self._ratios.dtype).tiny)
        surprise = -(self._ratios * above_zero.log()).sum(0)
        return (self._occupancy * surprise).sum((0, 1))

    def best_path(self) -> Paths:
        """The most probable derivation of each pair (Viterbi) and its log-weight; ties go to substitutions.

        Paper: section 3, Equation 1 with the sum replaced by the maximum.
        """
        best = forward_table(self._weights, backend=self._backend, semiring=MAX)
        ratios = ratios_of(best, self._weights, semiring=MAX)
        found = walk_back(self._weights, ratios, *self._lengths, paths=1, choose=most_likely)
        return Paths(found.operations[:, 0], found.score[:, 0])

    def best_paths(self, k: int) -> Paths:
        """The `k` most probable derivations of each pair, best first; empty ones with score NEG where there are fewer.

        Exact, and meant to be read: one pair after the other. The first is that of `best_path`.
        """
        _check_count(k)
        weights = self._weights.detach()
        best = forward_table(weights, backend=self._backend, semiring=MAX)
        return k_best(weights, incoming(best, weights), *self._lengths, k=k)

    def sample_paths(self, k: int, *, generator: torch.Generator | None = None) -> Paths:
        """`k` independent derivations per pair, each drawn with its posterior probability."""
        _check_count(k)
        return walk_back(self._weights, self._ratios, *self._lengths, paths=k, choose=at_random(generator))

    @cached_property
    def _alpha(self) -> Cells:
        return forward_table(self._weights, backend=self._backend, semiring=LOG)

    @cached_property
    def _ratios(self) -> Stack:
        return ratios_of(self._alpha, self._weights, semiring=LOG)

    @cached_property
    def _occupancy(self) -> Cells:
        reached = (self.log_prob.detach() > REACHABLE).to(self._alpha.dtype)
        end = one_hot_final(self._alpha, *self._lengths) * reached
        return sweep(end, self._ratios, backend=self._backend, reverse=True)


def _check_count(k: int) -> None:
    if not isinstance(k, int) or k < 1:
        raise ArgumentError("k", got=k, expected="a whole number of paths, at least 1")
