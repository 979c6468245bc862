"""The backward table: the forward table of the two strings read from their ends."""

import torch

from nsed.kernels.contracts import Backend
from nsed.kernels.semiring import Semiring
from nsed.lattice.alpha import forward_table
from nsed.types import NEG, Cells, Lengths, Stack


def backward_table(
    weights: Stack, source_lengths: Lengths, target_lengths: Lengths, *, backend: Backend, semiring: Semiring
) -> Cells:
    """Log-sum (or maximum) over all derivations of each suffix pair; 0 at the pair's own (n, m), NEG in the padding.

    Paper: section 3, "the same algorithm with the reversed order of iteration". Ours has `beta[0, 0] = alpha[n, m]`,
    theirs `beta[1, 1]`.
    """
    n, m = source_lengths, target_lengths
    # the arc from (i-1, j) to (i, j) enters, read backwards, the cell (n - (i-1), m - j)
    ends = ((n + 1, m), (n, m + 1), (n + 1, m + 1))
    mirrored = torch.stack([mirror(cells, *end) for cells, end in zip(weights, ends, strict=True)])
    return mirror(forward_table(mirrored, backend=backend, semiring=semiring), n, m)


def mirror(cells: Cells, last_row: Lengths, last_column: Lengths) -> Cells:
    """`result[i, j, b] = cells[last_row[b] - i, last_column[b] - j, b]`, NEG where that is outside the table."""
    height, width, batch = cells.shape
    rows = last_row - torch.arange(height, device=cells.device)[:, None, None]
    columns = last_column - torch.arange(width, device=cells.device)[:, None]
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    pairs = torch.arange(batch, device=cells.device)
    return torch.where(inside, cells[rows.clamp(0, height - 1), columns.clamp(0, width - 1), pairs], NEG)
