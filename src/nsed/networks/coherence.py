"""Coherence: how evidence in one cell of a lattice depends on that in the cells around it, by a small convolution.

A match beside a match says more than one alone, and a gap beside a gap less: what affine gaps say of runs of gaps, this
says of any neighbourhood. All that the convolution sees is log-odds, never symbols, so it cannot learn words by heart.
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from nsed.lattice import Arcs
from nsed.text import PairBatch

CHANNELS = 4
"""Channels in: log-odds to substitute, delete and insert, and whether a cell is real."""
UNIT = 2.0
"""Log-odds that are one in a channel."""
SWAPPED = (0, 2, 1, 3)
"""Channels of the same cells seen from the other string: a deletion is an insertion there."""

Cells = Float[Tensor, "batch channels rows columns"]
Residual = Float[Tensor, "batch operations rows columns"]


class Coherence(nn.Module):
    """Residual of the log-odds of operations, from those in a window of three by three cells; begins at zero.

    With `symmetric`, a pair and its reverse have the same residuals: it is the mean of both views.
    """

    def __init__(self, size: int, *, symmetric: bool) -> None:
        super().__init__()
        self.symmetric = symmetric
        self.window = nn.Conv2d(CHANNELS, size, kernel_size=3, padding=1)
        self.residual = nn.Conv2d(size, CHANNELS - 1, kernel_size=1)
        nn.init.zeros_(self.residual.weight)
        nn.init.zeros_(self.residual.bias)  # type: ignore[arg-type]  # it has a bias

    def forward(self, batch: PairBatch, arcs: Arcs) -> Arcs:
        """Log-odds of operations in their context; what is beyond the end of a string changes nothing."""
        seen = self._channels(batch, arcs)
        found = self._residual(seen)
        if self.symmetric:
            other = self._residual(seen[:, SWAPPED].transpose(2, 3)).transpose(2, 3)
            found = (found + other[:, SWAPPED[:-1]]) / 2
        substitute, delete, insert = found.unbind(1)
        return Arcs(arcs.delete + delete, arcs.insert + insert, arcs.substitute + substitute)

    def _residual(self, cells: Cells) -> Residual:
        window = functional.conv2d(cells, self.window.weight.to(cells), self.window.bias.to(cells), padding=1)  # type: ignore[union-attr]  # it has a bias
        return functional.conv2d(torch.relu(window), self.residual.weight.to(cells), self.residual.bias.to(cells))  # type: ignore[union-attr]  # it has a bias

    def _channels(self, batch: PairBatch, arcs: Arcs) -> Cells:
        rows, columns = (torch.arange(size, device=batch.source.device) for size in arcs.substitute.shape[1:])
        real = (rows <= batch.source_lengths[:, None])[:, :, None] & (columns <= batch.target_lengths[:, None])[:, None]
        both = real & (rows > 0)[:, None] & (columns > 0)
        parts = (
            (arcs.substitute, both),
            (arcs.delete, real & (rows > 0)[:, None]),
            (arcs.insert, real & (columns > 0)),
        )
        channels = [torch.where(inside, log_odds / UNIT, 0.0) for log_odds, inside in parts]
        return torch.stack([*channels, real.to(arcs.substitute)], 1)
