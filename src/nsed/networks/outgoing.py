"""Outgoing (exact) normalisation: in each cell one distribution over all that can happen next.

`delete`, `insert y` and `substitute y` compete; where the source is consumed only inserts remain, and the end is an
insert that is possible only there. So `log p(target | source)` is exact, sums to one over all targets, and the
next-symbol distribution needs no approximation.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from nsed.kernels.dispatch import ARCS
from nsed.kernels.torch.arcs import possible_cells
from nsed.lattice import Arcs
from nsed.networks.operations import (
    Column,
    Memory,
    Normalisation,
    NormalisedArcs,
    Opened,
    Rows,
    TargetScores,
    first_column,
    from_above,
    with_deletes,
)
from nsed.types import NEG, Lengths


class Outgoing(Normalisation):
    """Outgoing normalisation: exact conditional probabilities."""

    def normalise(
        self, scores: TargetScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]
    ) -> NormalisedArcs:
        """See `Normalisation.normalise`: with the end, alpha at (n, m) is exact, and 1 over all targets."""
        *arcs, end = ARCS.choose(scores.classes).code.outgoing_arcs(scores.classes, target, lengths)
        return NormalisedArcs(Arcs(*arcs), end)

    def begin(self, like: Column) -> Memory:
        """See `Normalisation.begin`."""
        return (first_column(like),)

    def open(self, column: TargetScores, memory: Memory, source_lengths: Lengths) -> Opened:
        """See `Normalisation.open`."""
        (entering,) = memory
        leaving = leaving_cells(column, source_lengths)
        log_alpha = with_deletes(entering, from_above(leaving.delete[:, :, 0]))
        writing = torch.logaddexp(leaving.insert[:, :, 0], leaving.substitute[:, :, 0])
        return Opened(log_alpha, (log_alpha[..., None] + writing).logsumexp(1), leaving)

    def close(self, opened: Opened, rows: Rows, symbols: Rows) -> Memory:
        """See `Normalisation.close`."""
        log_alpha = opened.log_alpha[rows]
        inserted, substituted = (log_alpha + scores for scores in opened.of_symbols(rows, symbols))
        return (torch.logaddexp(inserted, from_above(substituted)).clamp(min=NEG),)


def leaving_cells(scores: TargetScores, source_lengths: Lengths) -> TargetScores:
    """Softmax per cell: log-probabilities of everything that can happen in each cell."""
    return TargetScores(possible_cells(scores.classes, source_lengths).log_softmax(-1))
