"""Sources of several requests, transduced at once: together they take about a third of the time of one by one.

Every source has a ticket of its own, so that a long request does not hold up the short ones, and what nobody waits for
any longer is never begun.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from nsed.web.schemas import Answers
from nsed.web.workers import Workers

BATCH_SOURCES, BATCH_COST = 64, 5_000
"""Sources taken at once at most, and characters times beam: about a second of work, then others get their turn."""


class Ticket(NamedTuple):
    """A source that waits for its answers."""

    source: str
    answers: "asyncio.Future[Answers]"


class Together:
    """The queue of all who ask the same of the same model; `work` answers many sources at once."""

    def __init__(self, workers: Workers, work: Callable[[Sequence[str]], list[Answers]], *, beam: int) -> None:
        self._workers, self._work, self._beam = workers, work, beam
        self._tickets: deque[Ticket] = deque()
        self._serving: asyncio.Task[None] | None = None

    async def answers(self, sources: Sequence[str]) -> list[Answers]:
        """The answers of each source. Raises `ApiError` if too much waits already, or if it takes too long."""
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
        """The first that still wait, as many as can be answered in about a second."""
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
        """One by one: what is wrong with a source is told to the one who asked, and to nobody else."""
        if len(batch) == 1:
            if not batch[0].answers.done():
                batch[0].answers.set_exception(error)
            return
        for ticket in batch:
            await self._answer([ticket])
