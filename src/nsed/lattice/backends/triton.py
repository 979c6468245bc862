"""The backend for GPUs: log-sums and their gradient as Triton kernels; everything else as torch does it."""

import torch

from nsed.lattice.backends.base import Backend
from nsed.lattice.backends.gpu import kernels, power_of_two, runs_triton
from nsed.lattice.backends.torch import TorchBackend
from nsed.lattice.semiring import LOG, Semiring
from nsed.types import Cells, Stack

KERNELS = "nsed.lattice.backends.triton_kernels"
WIDEST, LANES = 1024, 256
"""Columns of a table at most, and cells that a program works on at once, unless a row needs more."""


class TritonBackend(Backend):
    """float32 and log-sums in kernels; float64, best paths, wide tables and second derivatives in torch."""

    def __init__(self) -> None:
        self._torch = TorchBackend()

    def forward(self, weights: Stack, semiring: Semiring) -> Cells:
        """See `Backend.forward`."""
        if not _can_run(weights, semiring):
            return self._torch.forward(weights, semiring)
        stack = weights.detach().contiguous()
        _, rows, columns, batch = stack.shape
        alpha = stack.new_empty((rows, columns, batch))
        width, pairs = _block(columns)
        kernels(KERNELS).log_forward[(-(-batch // pairs),)](
            stack, alpha, rows, columns, batch, WIDTH=width, PAIRS=pairs
        )
        return alpha

    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """See `Backend.sweep`."""
        return self._torch.sweep(injection, ratios, reverse)

    def gradient(self, injection: Cells, weights: Stack, alpha: Cells, semiring: Semiring) -> Stack:
        """See `Backend.gradient`."""
        if not _can_run(weights, semiring):
            return self._torch.gradient(injection, weights, alpha, semiring)
        tensors = tuple(part.detach().contiguous() for part in (weights, alpha, injection))
        result = torch.empty_like(tensors[0])
        _, rows, columns, batch = result.shape
        width, pairs = _block(columns)
        kernels(KERNELS).log_gradient[(-(-batch // pairs),)](
            *tensors, result, rows, columns, batch, WIDTH=width, PAIRS=pairs
        )
        return result


def _can_run(weights: Stack, semiring: Semiring) -> bool:
    fits = 0 < weights.shape[2] <= WIDEST and weights.shape[3] > 0
    return runs_triton(weights) and semiring is LOG and weights.dtype == torch.float32 and fits


def _block(columns: int) -> tuple[int, int]:
    """Cells of a row and pairs that a program works on: powers of two."""
    width = power_of_two(columns, least=2)
    return width, max(1, LANES // width)
