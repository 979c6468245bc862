"""Progress callbacks of long work; garbage collection left alone meanwhile, and memory used again."""

import ctypes
import gc
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import NamedTuple, Protocol, runtime_checkable

OnBatch = Callable[[int], None]
"""Batch callback: told how many pairs or words are done now, for progress bars."""

OnStep = Callable[[int], None]
"""Step callback: told the number of each step of a training that is done."""


class Validation(NamedTuple):
    """Validation result: the state of a training at a validation."""

    step: int
    loss: float
    """Mean loss over the steps since the last validation."""
    metrics: Mapping[str, float]
    improved: bool


OnValidation = Callable[[Validation], None]
"""Validation callback: told of each validation."""


def ignore(_: object) -> None:
    """Null callback: nobody wants to know."""


@runtime_checkable
class Progress(Protocol):
    """Told what begins and how much there is to do; what comes back is told how much of it is done."""

    def __call__(self, what: str, total: int | None) -> AbstractContextManager[OnBatch]:
        """A context in which that work is done; of nobody knows how much, None."""


def silent(what: str, total: int | None) -> AbstractContextManager[OnBatch]:
    """Null progress: nobody wants to know."""
    return nullcontext(ignore)


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """Disable garbage collection: while this lasts, nothing is collected; afterwards as before.

    For making many small objects that all stay, which Python's collector would go through again and again, and for
    capturing CUDA graphs, which the end of an old one would break off.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's `mallopt`."""
ALONE = 2**25
"""Bytes from which on a buffer has pages of its own, the most that glibc allows: among others it leaves gaps."""


def reuse_freed_memory() -> bool:
    """Let malloc keep what is freed, for good and for the whole process; whether that could be done (glibc only).

    Otherwise buffers go back to the system after each batch, and come again page by page, which takes time: the more,
    the smaller batches are. Commands of long jobs do this, libraries do not decide it for others.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(M_TRIM_THRESHOLD, 2**31 - 1) and mallopt(M_MMAP_THRESHOLD, ALONE))


_malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


def return_freed_memory() -> None:
    """Give what is free back to the system; glibc keeps it otherwise, after much work for good."""
    if _malloc_trim is not None:
        _malloc_trim(0)


SECONDS_BETWEEN_RETURNS = 2.0


class SteadyMemory:
    """Memory of long work, called after each part: what is free goes back, so that ten times the work needs no more.

    That is done now and then, not after each part: pages that come again take time.
    """

    def __init__(self, *others: Callable[[], None]) -> None:
        self.others, self._last = others, time.monotonic()

    def __call__(self) -> None:
        """Give back what is free to malloc, and by the `others`, to further pools."""
        if (now := time.monotonic()) - self._last >= SECONDS_BETWEEN_RETURNS:
            self._last = now
            for give_back in (return_freed_memory, *self.others):
                give_back()
