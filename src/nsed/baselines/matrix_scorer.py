"""From a table of numbers to one number: a convolutional network that sees no padding."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from nsed.types import PerPair, Table


class MatrixScorer(nn.Module):
    """Convolutions of 3 x 3 cells, then the largest and the mean value of each channel, then a small network.

    Cells of padding are zero before every convolution, as is what lies beyond the table.
    """

    def __init__(self, *, channels: int, layers: int) -> None:
        super().__init__()
        self.convolutions = nn.ModuleList(
            nn.Conv2d(channels if layer else 1, channels, 3, padding=1) for layer in range(layers)
        )
        for convolution in self.convolutions:  # torch's own initial weights make the numbers of each layer smaller
            assert isinstance(convolution, nn.Conv2d)
            nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
        self.head = nn.Sequential(nn.Linear(2 * channels, channels), nn.ReLU(), nn.Linear(channels, 1))

    def forward(self, table: Table, real: Bool[Tensor, "batch src tgt"]) -> PerPair:
        """One number per table; of each at least one cell must be real."""
        mask = real[:, None].to(table.dtype)
        cells = table[:, None] * mask
        for convolution in self.convolutions:
            cells = convolution(cells).relu() * mask
        scores: Tensor = self.head(_pooled(cells, mask))
        return scores[:, 0]


def _pooled(
    cells: Float[Tensor, "batch channels src tgt"], mask: Float[Tensor, "batch 1 src tgt"]
) -> Float[Tensor, "batch both"]:
    """Nothing is below zero, so the zeros of padding are never the only largest values."""
    return torch.cat([cells.amax((2, 3)), cells.sum((2, 3)) / mask.sum((2, 3))], dim=1)
