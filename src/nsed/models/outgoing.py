"""The exact normalisation: in each cell one distribution over all that can happen next.

`delete`, `insert y` and `substitute y` compete; where the source is consumed only inserts remain, and the end is an
insert that is possible only there. So `log p(target | source)` is exact, sums to one over all targets, and the
next-symbol distribution needs no approximation.
"""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from nsed.lattice import NEG, Arcs, EditLattice
from nsed.models.columns import Column, Memory, Normalisation, Opened, Rows, first_column, from_above, with_deletes
from nsed.models.op_scores import TargetScores, entered, is_last_row, next_symbol
from nsed.text.vocabulary import END, PAD, START
from nsed.types import Lengths, PerPair, Table


class Outgoing(Normalisation):
    """Exact conditional probabilities."""

    def arcs(self, scores: TargetScores, target: Int[Tensor, "batch m"], source_lengths: Lengths) -> Arcs:
        """See `Normalisation.arcs`: only the scores of the target's own symbols are normalised."""
        possible = possible_cells(scores, source_lengths)
        total = _total(possible)
        insert, substitute = next_symbol(possible.insert, target), next_symbol(possible.substitute, target)
        return entered(possible.delete - total, insert - total, substitute - total)

    def log_prob(self, lattice: EditLattice, scores: TargetScores, lengths: tuple[Lengths, Lengths]) -> PerPair:
        """`log_alpha[n, m]` plus the log-probability of the end there: exact, and 1 over all targets together."""
        n, m = lengths
        final = scores.insert[torch.arange(len(n), device=n.device), n, m]
        return lattice.log_prob + final[:, END] - final.masked_fill(_never(final), NEG).logsumexp(1)

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
    """Log-probabilities of everything that can happen in each cell."""
    possible = possible_cells(scores, source_lengths)
    total = _total(possible)
    return TargetScores(
        possible.delete - total, possible.insert - total[..., None], possible.substitute - total[..., None]
    )


def possible_cells(scores: TargetScores, source_lengths: Lengths) -> TargetScores:
    """The scores, NEG for what cannot happen in a cell."""
    last = is_last_row(source_lengths, scores.delete.shape[1])[:, :, None]
    delete = scores.delete.masked_fill(last, NEG)
    insert = scores.insert.masked_fill(_impossible(scores.insert, last), NEG)
    substitute = scores.substitute.masked_fill(_impossible(scores.substitute, None) | last[..., None], NEG)
    return TargetScores(delete, insert, substitute)


def _total(scores: TargetScores) -> Table:
    """The logarithm of the sum over all classes."""
    written = torch.logaddexp(scores.insert.logsumexp(-1), scores.substitute.logsumexp(-1))
    return torch.logaddexp(scores.delete, written)


def _impossible(
    scores: Float[Tensor, "batch src tgt symbols"], end_allowed: Bool[Tensor, "batch src 1"] | None
) -> Bool[Tensor, "#batch #src #tgt symbols"]:
    """No operation writes padding or a start; an end is written where it is allowed."""
    never, end = _never(scores), torch.arange(scores.shape[-1], device=scores.device) == END
    if end_allowed is None:
        return (never | end)[None, None, None]
    return never | (end & ~end_allowed[..., None])


def _never(scores: Float[Tensor, "*cells symbols"]) -> Bool[Tensor, " symbols"]:
    """What is never written: made on the device, so that nothing waits for a copy."""
    number = torch.arange(scores.shape[-1], device=scores.device)
    return (number == PAD) | (number == START)
