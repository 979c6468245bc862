"""Whether Triton's kernels can run: on a GPU, or interpreted, slowly, where the environment asks for it."""

import os
from contextlib import nullcontext
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

MOST_NUMBERS = 2**31
"""Numbers of a table, at most: kernels count places in 32 bits."""


@cache
def has_triton() -> bool:
    """Whether Triton is installed."""
    return find_spec("triton") is not None


def runs_triton(tensor: Tensor) -> bool:
    """Whether kernels can work on such a tensor."""
    return has_triton() and (tensor.is_cuda or os.environ.get("TRITON_INTERPRET") == "1")


def launch(module: str, name: str, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Run a kernel on the device of its first argument.

    Its module is imported when it is first used: importing nsed does not import Triton.
    """
    there = arguments[0].device
    with torch.cuda.device(there) if there.type == "cuda" else nullcontext():
        getattr(import_module(module), name)[grid](*arguments, **constants)


def power_of_two(size: int, *, least: int) -> int:
    """The first power of two that is not below: blocks have such sizes."""
    return max(least, 1 << (size - 1).bit_length())
