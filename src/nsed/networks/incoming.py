"""Incoming normalisation, the paper's for transduction: the arcs that enter a cell compete (Equation 3).

What writes the next symbol is then known only in part, because the delete arc into the next column depends on the
symbol: Equation 7 leaves it out.
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional

from nsed.encoders.base import inside
from nsed.kernels.torch.arcs import next_symbol
from nsed.networks.operations import (
    Column,
    Memory,
    Normalisation,
    NormalisedArcs,
    Opened,
    Rows,
    TargetScores,
    entered,
    first_column,
    from_above,
    with_deletes,
)
from nsed.types import NEG, Lengths, Table


class Incoming(Normalisation):
    """Incoming normalisation, the paper's: alpha is a mixture of its predecessors and stays between 0 and 1."""

    def normalise(
        self, scores: TargetScores, target: Int[Tensor, "batch m"], lengths: tuple[Lengths, Lengths]
    ) -> NormalisedArcs:
        """See `Normalisation.normalise`: no target has an end of its own.

        Alpha at (n, m) is between 0 and 1, but no probability over targets. Paper: Equation 3, with one insert and
        substitute class per target symbol.
        """
        picked = entered(scores.delete, next_symbol(scores.insert, target), next_symbol(scores.substitute, target))
        rivals = entered(scores.delete, scores.insert.logsumexp(-1), scores.substitute.logsumexp(-1))
        total = torch.stack(list(rivals)).logsumexp(0)
        return NormalisedArcs(picked.map(lambda table: (table - total).clamp(min=NEG)), total.new_zeros(len(total)))

    def begin(self, like: Column) -> Memory:
        """See `Normalisation.begin`: alpha, chosen insert and substitute scores, and those of all symbols; history."""
        nothing = torch.full_like(like, NEG)
        return first_column(like), nothing, nothing, nothing, nothing, like.new_zeros(len(like))

    def open(self, column: TargetScores, memory: Memory, source_lengths: Lengths) -> Opened:
        """See `Normalisation.open`; `written` adds up the logarithms of the next-symbol distributions."""
        before, insert, substitute, any_insert, any_substitute, history = memory
        delete, substitute, any_substitute = map(from_above, (column.delete[:, :, 0], substitute, any_substitute))
        total = torch.stack([delete, any_insert, any_substitute]).logsumexp(0)
        entering = torch.logaddexp(before + insert - total, from_above(before) + substitute - total)
        is_first = (any_insert <= NEG).all(1, keepdim=True)
        entering = torch.where(is_first, before, entering).clamp(min=NEG)
        log_alpha = with_deletes(entering, delete - total)
        written = next_symbol_distribution(column, log_alpha[..., None], source_lengths)[:, 0]
        return Opened(log_alpha, history[:, None] + written, column)

    def close(self, opened: Opened, rows: Rows, symbols: Rows) -> Memory:
        """See `Normalisation.close`."""
        any_insert, any_substitute = (
            part[:, :, 0].logsumexp(-1)[rows] for part in (opened.scores.insert, opened.scores.substitute)
        )
        chosen = opened.of_symbols(rows, symbols)
        return opened.log_alpha[rows], *chosen, any_insert, any_substitute, opened.written[rows, symbols]


def next_symbol_distribution(
    scores: TargetScores, log_alpha: Table, source_lengths: Lengths
) -> Float[Tensor, "batch tgt symbols"]:
    """Next-symbol distribution: log-probabilities after each target prefix, rows weighted by the prefix's alpha.

    Insertions leave (i, j) with weight alpha[i, j]; the substitution beside it, into the same cell (i, j + 1), leaves
    (i - 1, j) with weight alpha[i - 1, j]. Rows beyond a source's own length count for nothing.

    Paper: Equations 6 and 7. Ours weights rows with the alpha of the prefix before the symbol, and is normalised.
    """
    above = functional.pad(scores.substitute[:, :-1], (0, 0, 0, 0, 1, 0), value=NEG)
    total = torch.logaddexp(scores.insert.logsumexp(-1), above.logsumexp(-1))[..., None]
    padding = ~inside(source_lengths + 1, log_alpha.shape[1])[:, :, None]
    beside, alpha_above = (
        alpha.masked_fill(padding, NEG)
        for alpha in (log_alpha, functional.pad(log_alpha[:, :-1], (0, 0, 1, 0), value=NEG))
    )
    inserted = scores.insert - total + beside[..., None]
    substituted = (above - total).clamp(min=NEG) + alpha_above[..., None]
    written = torch.logaddexp(inserted, substituted).logsumexp(1)
    return written - written.logsumexp(-1, keepdim=True)
