"""The kernels for GPUs, compiled by Triton, and how they are launched: on a GPU, or interpreted.

They are interpreted, slowly, where the environment asks. Imported by `dispatch.py` alone, when one is first used.
"""

from contextlib import nullcontext
from typing import Any

import torch


def launch(kernel: Any, grid: tuple[int, ...], *arguments: Any, **constants: Any) -> None:
    """Run a kernel on the device of its first argument. It is compiled when it is first used."""
    there = arguments[0].device
    with torch.cuda.device(there) if there.type == "cuda" else nullcontext():
        kernel[grid](*arguments, **constants)


def power_of_two(size: int, *, least: int) -> int:
    """Next power of two, the first that is not below: blocks have such sizes."""
    return max(least, 1 << (size - 1).bit_length())
