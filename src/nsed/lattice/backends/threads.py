"""Work on the pairs of a batch in a few threads, as many as torch would use."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import torch

LEAST = 64
"""Pairs below which a second thread is not worth its start."""


def in_threads(work: Callable[[int, int], None], count: int) -> None:
    """Call `work(first, last)` for parts that together are `range(count)`."""
    threads = max(1, min(torch.get_num_threads(), count // LEAST))
    if threads == 1:
        work(0, count)
        return
    bounds = [part * count // threads for part in range(threads + 1)]
    list(_pool(threads).map(work, bounds[:-1], bounds[1:]))


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="nsed")
