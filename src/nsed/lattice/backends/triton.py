"""The backend for GPUs: log-sums and their gradient as Triton kernels; everything else as torch does it."""

import torch
from torch import Tensor

from nsed.kernels.gpu import MOST_NUMBERS, launch, power_of_two, runs_triton
from nsed.lattice.backends.base import Backend
from nsed.lattice.backends.torch import TorchBackend
from nsed.lattice.semiring import LOG, Semiring
from nsed.types import Cells, Stack

KERNELS = "nsed.kernels.triton_kernels"
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
        alpha: Cells = lattice_forward(weights.detach())
        return alpha

    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """See `Backend.sweep`."""
        return self._torch.sweep(injection, ratios, reverse)

    def gradient(self, injection: Cells, weights: Stack, alpha: Cells, semiring: Semiring) -> Stack:
        """See `Backend.gradient`."""
        if not _can_run(weights, semiring):
            return self._torch.gradient(injection, weights, alpha, semiring)
        result: Stack = lattice_gradient(weights.detach(), alpha.detach(), injection.detach())
        return result


@torch.library.custom_op("nsed::lattice_forward", mutates_args=())
def lattice_forward(weights: Tensor) -> Tensor:
    """The forward table `[rows, columns, batch]` of log-weights `[3, rows, columns, batch]`."""
    alpha = weights.new_empty(weights.shape[1:])
    _run("log_forward", weights.contiguous(), alpha)
    return alpha


@torch.library.custom_op("nsed::lattice_gradient", mutates_args=())
def lattice_gradient(weights: Tensor, alpha: Tensor, injection: Tensor) -> Tensor:
    """The gradient by the weights of what has the gradient `injection` by the forward table."""
    result = torch.empty_like(weights, memory_format=torch.contiguous_format)
    _run("log_gradient", weights.contiguous(), alpha.contiguous(), injection.contiguous(), result)
    return result


@lattice_forward.register_fake
def _(weights):  # type: ignore[no-untyped-def]  # torch's form
    return weights.new_empty(weights.shape[1:])


@lattice_gradient.register_fake
def _(weights, alpha, injection):  # type: ignore[no-untyped-def]  # torch's form
    return torch.empty_like(weights, memory_format=torch.contiguous_format)


def _run(name: str, *tables: Tensor) -> None:
    _, rows, columns, batch = tables[0].shape
    width = power_of_two(columns, least=2)
    pairs = max(1, LANES // width)
    launch(KERNELS, name, (-(-batch // pairs),), *tables, rows, columns, batch, WIDTH=width, PAIRS=pairs)


def _can_run(weights: Stack, semiring: Semiring) -> bool:
    fits = 0 < weights.shape[2] <= WIDEST and 0 < weights.numel() < MOST_NUMBERS
    return runs_triton(weights) and semiring is LOG and weights.dtype == torch.float32 and fits
