"""Whether Triton's kernels can run: on a GPU, or interpreted, slowly, where the environment asks for it."""

import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from torch import Tensor


@cache
def has_triton() -> bool:
    """Whether Triton is installed."""
    return find_spec("triton") is not None


def runs_triton(tensor: Tensor) -> bool:
    """Whether kernels can work on such a tensor."""
    return has_triton() and (tensor.is_cuda or os.environ.get("TRITON_INTERPRET") == "1")


@cache
def kernels(module: str) -> ModuleType:
    """A module of kernels, imported when first used: importing nsed does not import Triton."""
    return import_module(module)


def power_of_two(size: int, *, least: int) -> int:
    """The first power of two that is not below: blocks have such sizes."""
    return max(least, 1 << (size - 1).bit_length())
