"""The exact normalisation: in each cell one distribution over all that can happen next.

`delete`, `insert y` and `substitute y` compete; where the source is consumed only inserts remain, and the end is an
insert that is possible only there. So `log p(target | source)` is exact, sums to one over all targets, and the
next-symbol distribution needs no approximation.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nsed.kernels import cpu_arcs, gpu_arcs
from nsed.lattice.arcs import final_cell, unstacked
from nsed.networks.operations import (
    Column,
    Memory,
    Normalisation,
    Opened,
    Rows,
    TargetScores,
    Weighed,
    entered,
    first_column,
    from_above,
    is_last_row,
    next_symbol,
    with_deletes,
)
from nsed.types import END, NEG, PAD, START, Lengths


class Outgoing(Normalisation):
    """Exact conditional probabilities."""

    def weigh(self, scores: TargetScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]) -> Weighed:
        """See `Normalisation.weigh`: with the end, `log_alpha[n, m]` is exact, and 1 over all targets together."""
        if gpu_arcs.can_run(scores.classes):
            arcs, end, _ = gpu_arcs.outgoing_arcs(scores.classes, target, *lengths)
            return Weighed(unstacked(arcs), end)
        if cpu_arcs.can_run(scores.classes):
            arcs, end = cpu_arcs.compiled_arcs(scores.classes, blocked(scores), target, lengths)
            return Weighed(unstacked(arcs), end)
        return weighed(scores, target, lengths)

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


def weighed(scores: TargetScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]) -> Weighed:
    """Only the scores of the target's own symbols, and in the last cell of the end, are normalised."""
    n, m = lengths
    possible = possible_cells(scores, n)
    total = possible.classes.logsumexp(-1)
    insert, substitute = next_symbol(possible.insert, target), next_symbol(possible.substitute, target)
    end = possible.insert[..., END] - total
    arcs = entered(possible.delete - total, insert - total, substitute - total)
    return Weighed(arcs, final_cell(end.permute(1, 2, 0), n, m))


def leaving_cells(scores: TargetScores, source_lengths: Lengths) -> TargetScores:
    """Log-probabilities of everything that can happen in each cell."""
    return TargetScores(possible_cells(scores, source_lengths).classes.log_softmax(-1))


def possible_cells(scores: TargetScores, source_lengths: Lengths) -> TargetScores:
    """The scores, NEG for what cannot happen in a cell.

    Nothing writes padding or a start; the end is an insert where the source is consumed, and only inserts are there.
    """
    last = is_last_row(source_lengths, scores.classes.shape[1])[:, :, None, None]
    before, after = _possible(scores)
    possible = torch.where(last, after, before)
    return TargetScores(scores.classes.masked_fill(~possible, NEG))


def blocked(scores: TargetScores) -> Float[Tensor, "2 classes"]:
    """To be added to the scores of a cell: with some source left, and without."""
    nothing = scores.classes.new_zeros(2, scores.classes.shape[-1])
    return nothing.masked_fill(~_possible(scores), NEG)


def _possible(scores: TargetScores) -> Bool[Tensor, "2 classes"]:
    """Which classes can happen in a cell with some source left, and in one without."""
    number = torch.arange(scores.classes.shape[-1], device=scores.classes.device)  # made there: nothing waits
    is_insert, symbol = (number > 0) & (number <= scores.symbols), (number - 1) % scores.symbols
    written = (number == 0) | ((symbol != PAD) & (symbol != START) & (symbol != END))
    return torch.stack([written, is_insert & (written | (symbol == END))])
