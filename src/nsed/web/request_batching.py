"""Request batching and backpressure: work takes its turn, and sources of several requests are transduced at once."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple, TypeVar

from nsed.web.limits import ApiError, Limits, busy
from nsed.web.schemas import TransduceResult

T = TypeVar("T")


class Workers:
    """Worker thread pool, and how much waits for it (backpressure)."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(limits.threads, thread_name_prefix="nsed")
        self.waiting = 0

    async def run(self, work: Callable[[], T]) -> T:
        """Run some work within the limits. Raises `ApiError` if too much waits already, or if it takes too long."""
        with self.counted(1):
            return await self.in_time(self.thread(work))

    async def thread(self, work: Callable[[], T]) -> T:
        """Run some work in a worker thread; it is never begun if nobody waits for it any longer."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    async def in_time(self, result: Awaitable[T]) -> T:
        """Timeout: a result. Raises `ApiError` if it takes too long."""
        try:
            return await asyncio.wait_for(result, self._limits.timeout)
        except TimeoutError:
            message = f"no answer within {self._limits.timeout:g} seconds: ask for less at once, or later"
            raise ApiError(504, "timeout", message) from None

    def check_room(self) -> None:
        """Readiness: raise `ApiError` if not even one more may wait."""
        with self.counted(1):
            pass

    @contextmanager
    def counted(self, items: int) -> Iterator[None]:
        """Backpressure: count these while they wait. Raises `ApiError` if too many do already."""
        if self.waiting + items > self._limits.waiting:
            raise busy("too much waits for its turn already")
        self.waiting += items
        try:
            yield
        finally:
            self.waiting -= items

    def close(self) -> None:
        """Shut down the worker threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)


BATCH_SOURCES, BATCH_COST = 64, 5_000
"""Batch limits: sources taken at once, and characters times beam: about a second of work, then others get a turn."""


class Ticket(NamedTuple):
    """Queued request: a source that waits for its answers."""

    source: str
    answers: "asyncio.Future[TransduceResult]"


class RequestBatcher:
    """Request batcher: the queue of all who ask the same of the same model; `work` answers many sources at once."""

    def __init__(self, workers: Workers, work: Callable[[Sequence[str]], list[TransduceResult]], *, beam: int) -> None:
        self._workers, self._work, self._beam = workers, work, beam
        self._tickets: deque[Ticket] = deque()
        self._serving: asyncio.Task[None] | None = None

    async def answers(self, sources: Sequence[str]) -> list[TransduceResult]:
        """Batched answers of each source. Raises `ApiError` if too much waits already, or if it takes too long."""
        loop = asyncio.get_running_loop()
        with self._workers.counted(len(sources)):
            tickets = [Ticket(source, loop.create_future()) for source in sources]
            self._tickets += tickets
            if self._serving is None or self._serving.done():
                self._serving = loop.create_task(self._serve())
            return await self._workers.in_time(asyncio.gather(*(ticket.answers for ticket in tickets)))

    async def _serve(self) -> None:
        while batch := self._next():
            await self._answer(batch)

    def _next(self) -> list[Ticket]:
        """Next batch: the first that still wait, as many as can be answered in about a second."""
        batch: list[Ticket] = []
        room = BATCH_COST
        while self._tickets and len(batch) < BATCH_SOURCES:
            ticket = self._tickets[0]
            room -= 0 if ticket.answers.done() else self._beam * (1 + len(ticket.source))
            if batch and room < 0:
                break
            self._tickets.popleft()
            if not ticket.answers.done():
                batch.append(ticket)
        return batch

    async def _answer(self, batch: Sequence[Ticket]) -> None:
        try:
            found = await self._workers.thread(partial(self._work, [ticket.source for ticket in batch]))
        except Exception as error:
            await self._answer_failed(batch, error)
            return
        for ticket, answers in zip(batch, found, strict=True):
            if not ticket.answers.done():
                ticket.answers.set_result(answers)

    async def _answer_failed(self, batch: Sequence[Ticket], error: Exception) -> None:
        """Error isolation, one by one: what is wrong with a source is told to the one who asked, and to nobody else."""
        if len(batch) == 1:
            if not batch[0].answers.done():
                batch[0].answers.set_exception(error)
            return
        for ticket in batch:
            await self._answer([ticket])
