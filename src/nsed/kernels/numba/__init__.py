"""The kernels for CPUs, compiled by numba (extra `cpu`), and how they are launched: some pairs after others.

They run on arrays, by a thread pool of torch's size. A kernel's last three arguments are the number of its part of the
work and the first and last pair (exclusive) of it. Of long work there are more parts than threads: who is done takes
the next one. A thread may well be slow to start or to go on, since torch's own threads keep a core busy for some
milliseconds after each operation, waiting for the next. Imported by `dispatch.py` alone, when one is first used.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

Kernel = Callable[..., None]

LEAST, PER_THREAD = 64, 4
"""Work partition: pairs of a part at least, and parts per thread at most."""
LEAST_CELLS = 2**16
"""Minimum part for kernels that spend a few nanoseconds on a cell: a second thread would need longer to wake up."""


def array(tensor: Tensor) -> Any:
    """Contiguous array of the same numbers."""
    return tensor.detach().contiguous().numpy()


def parts_of(count: int, *, least: int = LEAST, per_thread: int = PER_THREAD) -> list[tuple[int, int, int]]:
    """Work partition: number, first and last pair (exclusive) of each part."""
    threads = torch.get_num_threads()
    parts = max(1, min(threads * per_thread, count // least)) if threads > 1 else 1
    if parts == 1:
        return [(0, 0, count)]
    return [(part, part * count // parts, (part + 1) * count // parts) for part in range(parts)]


def run_kernel(kernel: Kernel, *arguments: Any, pairs: int) -> None:
    """Run a kernel over all pairs. It is compiled when it is first used."""
    if pairs < 2 * LEAST:
        kernel(*arguments, 0, 0, pairs)
    else:
        run_parts(kernel, arguments, parts_of(pairs))


def run_light_kernel(kernel: Kernel, *arguments: Any, pairs: int, cells: int) -> None:
    """Run a kernel that does little in each of a pair's cells, but that in all pairs at once."""
    least = max(LEAST, LEAST_CELLS // max(cells, 1))
    if pairs < 2 * least:
        kernel(*arguments, 0, 0, pairs)
    else:
        run_parts(kernel, arguments, parts_of(pairs, least=least, per_thread=1))


def run_parts(kernel: Kernel, arguments: tuple[Any, ...], parts: list[tuple[int, int, int]]) -> None:
    """Run each part of the work once, by whichever thread is free."""
    left = iter(parts)

    def work() -> None:
        for part in left:
            kernel(*arguments, *part)

    helpers = min(torch.get_num_threads(), len(parts)) - 1
    others = [_pool(helpers).submit(work) for _ in range(helpers)]
    work()
    for other in others:
        if not other.cancel():  # one that has not begun yet is not needed any more
            other.result()


@lru_cache(maxsize=4)
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="nsed")
