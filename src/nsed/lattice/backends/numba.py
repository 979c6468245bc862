"""The backend for CPUs: compiled loops over the cells, vectorised over the pairs (extra `cpu`).

The batch is the innermost axis, so that the compiler makes vector instructions of the innermost loop; each thread takes
its own pairs. The threads are our own and hold no lock: numba's parallel loops abort when they are entered twice.
"""

from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from nsed.lattice.arcs import NEG
from nsed.lattice.backends.base import Backend
from nsed.lattice.backends.threads import in_threads
from nsed.lattice.semiring import LOG, Semiring
from nsed.types import Cells, Stack


class NumbaBackend(Backend):
    """Compiled for float32 and float64 on a CPU."""

    def forward(self, weights: Stack, semiring: Semiring) -> Cells:
        """See `Backend.forward`."""
        stack = _array(weights)
        alpha = _bordered(np.full(stack.shape[1:], NEG, dtype=stack.dtype), NEG)
        alpha[1, 1] = 0.0
        _run("log_forward" if semiring is LOG else "max_forward", stack, alpha)
        return _inner(alpha)

    def sweep(self, injection: Cells, ratios: Stack, reverse: bool) -> Cells:
        """See `Backend.sweep`."""
        solved = _bordered(_array(injection), 0.0)
        _run("sweep_up" if reverse else "sweep_down", _array(ratios), solved)
        return _inner(solved)

    def gradient(self, injection: Cells, weights: Stack, alpha: Cells, semiring: Semiring) -> Stack:
        """See `Backend.gradient`: ratios and sweep in one pass, where sums are log-sums."""
        if semiring is not LOG:
            return super().gradient(injection, weights, alpha, semiring)
        stack = _array(weights)
        result = np.zeros_like(stack)
        _run("add_gradient", stack, _bordered(_array(alpha), NEG), _bordered(_array(injection), 0.0), result)
        return torch.from_numpy(result)


def _bordered(table: Any, fill: float) -> Any:
    """With one more row above and one more column to the left, so that every arc starts somewhere."""
    rows, columns, batch = table.shape
    wider = np.full((rows + 1, columns + 1, batch), fill, dtype=table.dtype)
    wider[1:, 1:] = table
    return wider


def _inner(table: Any) -> Cells:
    return torch.from_numpy(np.ascontiguousarray(table[1:, 1:]))


def _array(tensor: Tensor) -> Any:
    return tensor.detach().contiguous().numpy()


def _run(name: str, *arrays: Any) -> None:
    """A kernel over all pairs, some per thread."""
    kernel: Callable[..., None] = getattr(_kernels(), name)
    in_threads(lambda part, first, last: kernel(*arrays, first, last), arrays[0].shape[-1])


@cache
def _kernels() -> ModuleType:
    """Compiled when first used, then kept on disk; importing nsed does not import numba."""
    return import_module("nsed.lattice.backends.numba_kernels")
