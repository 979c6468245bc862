"""The backend for CPUs: compiled loops over the cells, vectorised over the pairs (extra `cpu`).

The batch is the innermost axis, so that the compiler makes vector instructions of the innermost loop; each thread takes
its own pairs. The threads are our own and hold no lock: numba's parallel loops abort when they are entered twice.
"""

from typing import Any

import numpy as np
import torch

from nsed.kernels.compiled import array, run_light_kernel
from nsed.lattice.backends.base import Backend
from nsed.lattice.semiring import LOG, Semiring
from nsed.types import NEG, Cells, Stack


class NumbaBackend(Backend):
    """Compiled for float32 and float64 on a CPU."""

    def forward(self, weights: Stack, semiring: Semiring) -> Cells:
        """See `Backend.forward`."""
        stack = array(weights)
        alpha = _bordered(np.full(stack.shape[1:], NEG, dtype=stack.dtype), NEG)
        alpha[1, 1] = 0.0
        _run("forward", stack, alpha, semiring is LOG)
        return _inner(alpha)

    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """See `Backend.sweep`."""
        solved = _bordered(array(injection), 0.0)
        _run("sweep_up" if reverse else "sweep_down", array(ratios), solved)
        return _inner(solved)

    def gradient(self, injection: Cells, weights: Stack, alpha: Cells, semiring: Semiring) -> Stack:
        """See `Backend.gradient`: ratios and sweep in one pass, where sums are log-sums."""
        if semiring is not LOG:
            return super().gradient(injection, weights, alpha, semiring)
        stack = array(weights)
        result = np.zeros_like(stack)
        _run("add_gradient", stack, _bordered(array(alpha), NEG), _bordered(array(injection), 0.0), result)
        return torch.from_numpy(result)


def _bordered(table: Any, fill: float) -> Any:
    """With one more row above and one more column to the left, so that every arc starts somewhere."""
    rows, columns, batch = table.shape
    wider = np.full((rows + 1, columns + 1, batch), fill, dtype=table.dtype)
    wider[1:, 1:] = table
    return wider


def _inner(table: Any) -> Cells:
    return torch.from_numpy(np.ascontiguousarray(table[1:, 1:]))


def _run(name: str, *arrays: Any) -> None:
    _, rows, columns, pairs = arrays[0].shape
    run_light_kernel("nsed.kernels.numba_kernels", name, *arrays, pairs=pairs, cells=rows * columns)
