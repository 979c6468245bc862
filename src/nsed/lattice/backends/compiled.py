"""How compiled kernels are run: on arrays, some pairs of the batch per thread, as many threads as torch would use.

A kernel's last three arguments are the number of its part of the work and the first and last pair (exclusive) of it.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

LEAST = 64
"""Pairs below which a second thread is not worth its start."""


@cache
def has_numba() -> bool:
    """Whether there is something to compile with."""
    return find_spec("numba") is not None


def array(tensor: Tensor) -> Any:
    """A contiguous array of the same numbers."""
    return tensor.detach().contiguous().numpy()


def parts_of(count: int) -> list[tuple[int, int, int]]:
    """Number, first and last pair (exclusive) of each thread's part."""
    threads = max(1, min(torch.get_num_threads(), count // LEAST))
    return [(part, part * count // threads, (part + 1) * count // threads) for part in range(threads)]


def run_kernel(module: str, name: str, *arguments: Any, pairs: int) -> None:
    """Run a kernel over all pairs. Its module is imported, and it is compiled, when it is first used."""
    kernel, parts = getattr(import_module(module), name), parts_of(pairs)
    if len(parts) == 1:
        kernel(*arguments, *parts[0])
        return
    list(_pool(len(parts)).map(lambda part: kernel(*arguments, *part), parts))


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="nsed")
