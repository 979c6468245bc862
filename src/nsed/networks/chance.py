"""How probable two strings are if they have nothing to do with each other, under a table of edit operations."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from nsed.networks.operation_table import OperationTable
from nsed.text import PairBatch
from nsed.types import Lengths, PerPair


def by_chance(table: OperationTable, batch: PairBatch) -> PerPair:
    """Log p(s) + log p(t) of each pair: the margins of the table's own distribution over pairs of strings.

    Each symbol is written with or without a partner, and any number of the other side's symbols before it and before
    the end, which is a geometric series.
    """
    source = table.delete + table.substitute.sum(1), table.insert.sum()
    target = table.insert + table.substitute.sum(0), table.delete.sum()
    return _margin(*source, table.end, batch.source, batch.source_lengths) + _margin(
        *target, table.end, batch.target, batch.target_lengths
    )


def _margin(
    symbols: Float[Tensor, " symbols"],
    others: Float[Tensor, ""],
    end: Float[Tensor, ""],
    strings: Int[Tensor, "batch length"],
    lengths: Lengths,
) -> PerPair:
    log_symbols, log_end = (symbols / (1 - others)).log(), (end / (1 - others)).log()
    real = torch.arange(strings.shape[1]) < lengths[:, None]
    return torch.where(real, log_symbols[strings], 0.0).sum(1) + log_end
