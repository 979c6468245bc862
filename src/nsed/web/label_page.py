"""ASGI application of `nsed label --web`: the question, the answers, the learning curve, and the Matcher in the end."""

import asyncio
from pathlib import Path
from typing import Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict

from nsed import __version__
from nsed.jobs import LabelSession
from nsed.web.api import add_handlers
from nsed.web.app import Protection, page_router
from nsed.web.limits import AllowedHosts, ApiError, Limits


class GivenAnswer(BaseModel):
    """Answer to a question, which it names: that of an old page is none."""

    model_config = ConfigDict(extra="forbid")
    row: int
    answer: Literal["yes", "no", "skip", "undo"]


class AskedQuestion(BaseModel):
    """Question: a pair, by its row."""

    row: int
    source: str
    target: str


class CurvePoint(BaseModel):
    """Point of the learning curve: F1 after so many answers."""

    answers: int
    f1: float
    held_out: bool


class LabelState(BaseModel):
    """State of a session."""

    question: AskedQuestion | None
    answers: int
    matches: int
    training: bool
    learning_curve: list[CurvePoint]
    model: str | None
    """Folder of the Matcher, once it is written."""


class LabelApi:
    """JSON API of a session, one request at a time; training and writing happen on a thread."""

    def __init__(self, session: LabelSession, folder: Path, budget: int | None) -> None:
        self._session, self._folder, self._budget = session, folder, budget
        self._turn, self._written = asyncio.Lock(), False

    async def state(self) -> LabelState:
        """The question, how many answers there are, and the learning curve."""
        async with self._turn:
            return await asyncio.to_thread(self._state)

    async def answer(self, asked: GivenAnswer) -> LabelState:
        """Keep an answer, or skip the question, or take the last answer back."""
        async with self._turn:
            return await asyncio.to_thread(self._answer, asked)

    async def finish(self) -> LabelState:
        """Train on all answers and write the Matcher."""
        async with self._turn:
            return await asyncio.to_thread(self._finish)

    def _state(self) -> LabelState:
        asked = None if self._is_over else self._session.question()
        answers = self._session.answers
        return LabelState(
            question=asked and AskedQuestion(row=asked.row, source=asked.source, target=asked.target),
            answers=len(answers),
            matches=sum(one.label for one in answers),
            training=self._session.is_training,
            learning_curve=[CurvePoint(**one._asdict()) for one in self._session.learning_curve],
            model=str(self._folder) if self._written else None,
        )

    @property
    def _is_over(self) -> bool:
        return self._budget is not None and len(self._session.answers) >= self._budget

    def _answer(self, asked: GivenAnswer) -> LabelState:
        if asked.answer == "undo":
            self._session.undo()
            return self._state()
        current = None if self._is_over else self._session.question()
        if current is None or current.row != asked.row:
            raise ApiError(409, "other_question", "another question is asked by now: load the page again", field="row")
        if asked.answer == "skip":
            self._session.skip()
        else:
            self._session.answer(asked.answer == "yes")
        return self._state()

    def _finish(self) -> LabelState:
        if self._written:
            raise ApiError(409, "written", f"the Matcher is in {self._folder} already")
        self._session.write(self._folder)
        self._written = True
        return self._state()


def label_app(session: LabelSession, folder: Path, limits: Limits, *, budget: int | None = None) -> FastAPI:
    """ASGI application of a session, to those who call this machine localhost only."""
    app = FastAPI(title="nsed label", version=__version__, docs_url=None, redoc_url=None)
    api = LabelApi(session, folder, budget)
    add_handlers(app)
    app.get("/api/question")(api.state)
    app.post("/api/answer")(api.answer)
    app.post("/api/finish")(api.finish)
    app.include_router(page_router("label.html"))
    app.add_middleware(Protection, limits=limits, hosts=AllowedHosts())
    return app
