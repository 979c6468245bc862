"""Tables of pair features in one compiled pass on a CPU (extra `cpu`), for whoever reads them more than once.

Equal to `PairFeatures.rectified` and dropout, without similarities. Random numbers for dropout are made from one seed
and the place of a feature, so that the backward pass can make them again.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from nsed.kernels.compiled import array, has_numba, run_kernel
from nsed.types import Table


def can_compile(source: Float[Tensor, "batch src dim"]) -> bool:
    """Whether there are kernels for the device and type of these."""
    return source.device.type == "cpu" and source.dtype in (torch.float32, torch.float64) and has_numba()


class Features(NamedTuple):
    """`x = dropout(relu(source[i] + target[j]))`, its sum and its sum of squares."""

    x: Float[Tensor, "batch src tgt dim"]
    total: Table
    squares: Table


def compiled_features(
    source: Float[Tensor, "batch src dim"], target: Float[Tensor, "batch tgt dim"], *, dropout: float = 0.0
) -> Features:
    """The features of every cell."""
    return Features(*_Features.apply(source, target, dropout))  # type: ignore[no-untyped-call]  # torch's apply


class _Features(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, source: Tensor, target: Tensor, dropout: float) -> tuple[Tensor, Tensor, Tensor]:
        sides = array(source), array(target)
        dtype, shape = sides[0].dtype, (*source.shape[:2], target.shape[1])
        made = np.empty((*shape, source.shape[2]), dtype), np.empty(shape, dtype), np.empty(shape, dtype)
        drawn = drops(dropout, dtype)
        run("table", *sides, *drawn, *made)
        ctx.x, ctx.scale = made[0], drawn[2]
        return torch.from_numpy(made[0]), torch.from_numpy(made[1]), torch.from_numpy(made[2])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        batch, rows, columns, dim = ctx.x.shape
        to_source, to_target = (np.zeros((batch, size, dim), ctx.x.dtype) for size in (rows, columns))
        run("untable", ctx.x, *map(array, gradients), ctx.scale, to_source, to_target)
        return torch.from_numpy(to_source), torch.from_numpy(to_target), None


def drops(dropout: float, dtype: np.dtype) -> tuple[np.uint32, np.uint32, Any]:
    """A seed, the number below which features are dropped, and the factor of those that stay."""
    seed = int(torch.randint(2**31, ())) if dropout else 0
    return np.uint32(seed), np.uint32(dropout * 2**32), dtype.type(1 / (1 - dropout))


def run(name: str, *arrays: Any) -> None:
    """A kernel of `numba_features`, over all pairs."""
    run_kernel("nsed.kernels.numba_features", name, *arrays, pairs=len(arrays[0]))
