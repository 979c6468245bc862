"""Scores of many pairs by a table of operations: what a model without context compiles itself into.

Such a model says of each kind of symbol (a symbol, or a symbol in a class of places) what its gap weighs, and of two
kinds what their substitution weighs; all that is left of a pair is a bias. Terms that are of no kind, say gaps that are
cheaper to extend than to open, do not fit: then the model's own lattices score, see `OddsNetwork.no_table`.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from nsed.kernels.contracts import SubstitutionTable, TableStrings
from nsed.kernels.dispatch import TABLE_SCORES
from nsed.progress import OnBatch, ignore
from nsed.text import EncodedStrings
from nsed.text.batch import MAX_CELLS, DistinctPairs, check_cells

PAIRS_AT_ONCE = 2**17
"""Pairs that are scored before the next report of progress."""


class CompiledTable(NamedTuple):
    """Compiled table: strings as kinds of symbols, and the log-weights of operations on these."""

    source: TableStrings
    target: TableStrings
    table: SubstitutionTable


class SymbolKinds(NamedTuple):
    """Kinds of the symbols of a vocabulary: for each kind its gap, and how it weighs its row of substitutions."""

    numbers: np.ndarray
    """Kind of each symbol of all strings, one string after the other."""
    gap: Tensor
    row: Tensor
    factor: Tensor
    shift: Tensor

    @classmethod
    def of_symbols(cls, strings: EncodedStrings, gap: Tensor) -> "SymbolKinds":
        """Every symbol a kind of its own, as in a plain table."""
        rows = torch.arange(len(gap), device=gap.device)
        return cls(strings.flat, gap, rows, torch.ones_like(gap), torch.zeros_like(gap))

    def strings(self, starts: np.ndarray) -> TableStrings:
        """Strings as kinds, which are renumbered: of many, few occur, and only their weights are tabulated."""
        found = np.bincount(self.numbers, minlength=len(self.gap)) > 0
        flat = (np.cumsum(found) - 1).astype(np.int32)[self.numbers]
        chosen = torch.from_numpy(np.flatnonzero(found))
        weights = (part[chosen.to(part.device)] for part in self[1:])
        return TableStrings(*(torch.from_numpy(part).to(self.gap.device) for part in (flat, starts)), *weights)


@torch.no_grad()
def table_log_probs(
    compiled: CompiledTable, pairs: DistinctPairs, *, max_cells: int = MAX_CELLS, on_batch: OnBatch = ignore
) -> np.ndarray:
    """Log alpha_{n,m} of each pair; NEG, or below, for what cannot be.

    Raises `TooLongError` for a pair whose lattice has more than `max_cells` cells.
    """
    n, m = pairs.lengths
    check_cells(n + 1, m + 1, max_cells)
    result, device = np.empty(len(pairs)), compiled.table.device
    score = TABLE_SCORES.choose(compiled.table).code.scorer(*compiled, pairs=len(result)) if len(result) else None
    for start in range(0, len(result), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        assert score is not None
        result[part] = score(*(torch.from_numpy(side[part]).to(device) for side in pairs.rows)).cpu().numpy()
        on_batch(len(result[part]))
    return result
