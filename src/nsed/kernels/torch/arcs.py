"""Arc normalisation in torch, operation by operation, on any device: the readable twin of both normalisations."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from nsed.kernels.contracts import ClassScores
from nsed.types import END, NEG, PAD, START, Lengths, PerPair, Table


def outgoing_arcs(
    scores: ClassScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]
) -> tuple[Table, Table, Table, PerPair]:
    """See `ArcsKernel.outgoing_arcs`.

    Only the scores of the target's own symbols, and in the last cell of the end, are normalised.
    """
    possible = possible_cells(scores, lengths[0])
    total = possible.logsumexp(-1)
    insert, substitute = (next_symbol(part, target) for part in possible[..., 1:].chunk(2, dim=-1))
    end = _last_cell(possible[..., 1 + END] - total, lengths)
    return *entered(possible[..., 0] - total, insert - total, substitute - total), end


def match_arcs(scores: Float[Tensor, "batch src tgt 4"]) -> tuple[Table, Table, Table, Table]:
    """See `ArcsKernel.match_arcs`."""
    delete, insert, substitute, non_match = scores.unbind(-1)
    rows, columns = (torch.arange(size, device=scores.device).sub(1).clamp(min=0) for size in scores.shape[1:3])
    everything = torch.stack([*entered(delete, insert, substitute), non_match[:, rows[:, None], columns]])
    delete, insert, substitute, non_match = everything - everything.logsumexp(0)
    return delete, insert, substitute, non_match


def entered(delete: Table, insert: Table, substitute: Table) -> tuple[Table, Table, Table]:
    """Scores shifted from the cells that arcs leave to the cells that they enter; NEG where no arc enters."""
    return (
        functional.pad(delete[:, :-1], (0, 0, 1, 0), value=NEG),
        functional.pad(insert[:, :, :-1], (1, 0), value=NEG),
        functional.pad(substitute[:, :-1, :-1], (1, 0, 1, 0), value=NEG),
    )


def next_symbol(scores: ClassScores, target: Int[Tensor, "batch m"]) -> Table:
    """Next-symbol scores: in each cell (i, j), that of the class of t_{j+1}; NEG in the last column."""
    labels = functional.pad(target, (0, 1))[:, None, :, None].expand(-1, scores.shape[1], -1, 1)
    chosen = scores.gather(-1, labels)[..., 0]
    return functional.pad(chosen[:, :, :-1], (0, 1), value=NEG)


def possible_cells(scores: ClassScores, source_lengths: Lengths) -> ClassScores:
    """Masked scores: NEG for what cannot happen in a cell.

    Nothing writes padding or a start; the end is an insert where the source is consumed, and only inserts are there.
    """
    last = torch.arange(scores.shape[1], device=source_lengths.device) == source_lengths[:, None]
    before, after = possible_classes(scores.shape[-1], scores.device)
    return scores.masked_fill(~torch.where(last[:, :, None, None], after, before), NEG)


def possible_classes(classes: int, device: torch.device) -> Bool[Tensor, "2 {classes}"]:
    """Class mask: which classes can happen in a cell with some source left, and in one without."""
    number, symbols = torch.arange(classes, device=device), (classes - 1) // 2  # made there: nothing waits
    is_insert, symbol = (number > 0) & (number <= symbols), (number - 1) % symbols
    written = (number == 0) | ((symbol != PAD) & (symbol != START) & (symbol != END))
    return torch.stack([written, is_insert & (written | (symbol == END))])


def _last_cell(table: Table, lengths: tuple[Lengths, Lengths]) -> PerPair:
    """Final cell: the value at each pair's own (n, m)."""
    places = lengths[0] * table.shape[2] + lengths[1]
    return table.flatten(1).gather(1, places[:, None])[:, 0]  # an index with three parts would sort in its gradient
