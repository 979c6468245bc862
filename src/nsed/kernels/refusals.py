"""Refusals: why an implementation of a kernel cannot do what it is given, in words; nothing where it can.

A kernel's refusals all take the same arguments, those of `Kernel.choose`. They are asked in every step of training and
decoding, and only where the device is right (`switch.devices_of`), so they only look at types and sizes, and at whether
a gradient is asked for: that of something that requires one. Whether autograd is on says nothing.
"""

from typing import Any

import torch
from torch import Tensor, nn

MOST_NUMBERS = 2**31
"""Maximum table size in numbers: Triton's kernels count places in 32 bits."""
LONGEST, MOST_SCORED, MOST_WEIGHED = 64, 256, 1024
"""What a program of Triton can hold: symbols of a string with its end, classes to be scored, classes to be weighed."""
FLOATS = (torch.float32, torch.float64)


def never(*_: Any) -> str:
    """Refusal of torch's implementations: none, they can always run."""
    return ""


def no_floats(tensor: Tensor, *_: Any) -> str:
    """Refusal of arcs, match scores and table scores by numba."""
    return "" if tensor.dtype in FLOATS else "is compiled for float32 and float64"


def no_triton_pair_scores(source: Tensor, target: Tensor, weight: Tensor, dropout: float) -> str:
    """Refusal of pair scores, and tables of features, by Triton."""
    if source.dtype not in (torch.float32, torch.bfloat16):
        return "is compiled for float32 and bfloat16"
    cells, classes = len(source) * source.shape[1] * target.shape[1], len(weight)
    fits = max(source.shape[1], target.shape[1]) <= LONGEST and classes <= MOST_SCORED and dropout < 1
    fits = fits and 0 < cells * max(classes, source.shape[2]) < MOST_NUMBERS
    return "" if fits else f"does strings below {LONGEST} symbols and {MOST_SCORED} classes at most"


def no_numba_pair_scores(source: Tensor, target: Tensor, weight: Tensor, dropout: float) -> str:
    """Refusal of pair scores by numba."""
    if source.dtype not in FLOATS:
        return "is compiled for float32 and float64"
    return "" if dropout < 1 else "cannot drop everything"


def no_triton_arcs(scores: Tensor) -> str:
    """Refusal of arcs by Triton."""
    fits = scores.shape[-1] <= MOST_WEIGHED and 0 < scores.numel() < MOST_NUMBERS and scores.dtype == torch.float32
    return "" if fits else f"does float32 and {MOST_WEIGHED} classes at most"


def no_triton_gru(vectors: Tensor, unit: nn.GRU) -> str:
    """Refusal of GRUs by Triton: weights in float32, under autocast or not."""
    return "" if vectors.numel() and unit.weight_ih_l0.dtype == torch.float32 else "does weights in float32"


def no_numba_gru(vectors: Tensor, unit: nn.GRU) -> str:
    """Refusal of GRUs by numba, which are for decoding and scoring."""
    if torch.is_autocast_enabled("cpu"):
        return "does not run under autocast"
    validates = not torch.is_grad_enabled()  # weights that are being learned require gradients all the time
    for part in (vectors, *unit.parameters()):
        if part.requires_grad and not validates:
            return "does not learn"
        if part.dtype != torch.float32:
            return "is compiled for float32"
    return ""


def no_triton_match_scores(vectors: Tensor, *_: Any) -> str:
    """Refusal of match scores by Triton."""
    return "" if vectors.dtype == torch.float32 else "is compiled for float32"
