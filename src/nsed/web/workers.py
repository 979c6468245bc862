"""Work that takes its turn: few threads, a queue with an end, and nobody waits for ever."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from nsed.web.limits import Limits
from nsed.web.problems import ApiError

T = TypeVar("T")


class Workers:
    """Threads that compute, and how much waits for them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="nsed")
        self.waiting = 0

    async def run(self, work: Callable[[], T]) -> T:
        """The result of some work. Raises `ApiError` if too much waits already, or if it takes too long."""
        with self.counted(1):
            return await self.in_time(self.thread(work))

    async def thread(self, work: Callable[[], T]) -> T:
        """The result of some work, which is never begun if nobody waits for it any longer."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def in_time(self, result: Awaitable[T]) -> T:
        """A result. Raises `ApiError` if it takes too long."""
        try:
            return await asyncio.wait_for(result, self._limits.timeout)
        except TimeoutError:
            message = f"no answer within {self._limits.timeout:g} seconds: ask for less at once, or later"
            raise ApiError(504, "timeout", message) from None

    @contextmanager
    def counted(self, items: int) -> Iterator[None]:
        """While these wait. Raises `ApiError` if too many do already."""
        if self.waiting + items > self._limits.waiting:
            raise ApiError(503, "busy", "too much waits for its turn already: try again soon", retry_after=2)
        self.waiting += items
        try:
            yield
        finally:
            self.waiting -= items

    def close(self) -> None:
        """Let the threads go."""
        self._threads.shutdown(wait=False, cancel_futures=True)
