"""Work on the pairs of a batch in a few threads, as many as torch would use."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import torch

LEAST = 64
"""Pairs below which a second thread is not worth its start."""


def parts_of(count: int) -> list[tuple[int, int, int]]:
    """Number, first and last pair (exclusive) of each thread's part."""
    threads = max(1, min(torch.get_num_threads(), count // LEAST))
    return [(part, part * count // threads, (part + 1) * count // threads) for part in range(threads)]


def in_threads(work: Callable[[int, int, int], None], count: int) -> None:
    """Call `work(part, first, last)` for all parts."""
    parts = parts_of(count)
    if len(parts) == 1:
        work(*parts[0])
        return
    list(_pool(len(parts)).map(work, *zip(*parts, strict=True)))


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="nsed")
