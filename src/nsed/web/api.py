"""JSON API routes: the addresses of the verbs."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from fastapi import APIRouter

from nsed.web import service
from nsed.web.limits import Limits
from nsed.web.request_batching import RequestBatcher, Workers
from nsed.web.schemas import (
    AlignResponse,
    Answers,
    AskedPair,
    ErrorBody,
    Example,
    ExplainRequest,
    ExplainResponse,
    MatchResponse,
    ModelCard,
    ModelsResponse,
    PairsRequest,
    RulesRequest,
    RulesResponse,
    TransduceRequest,
    TransduceResponse,
)
from nsed.web.served_models import RequestOverrides, ServedModel, ServedModels

FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "The body is no JSON."},
    403: {"model": ErrorBody, "description": "A page of another origin asks."},
    408: {"model": ErrorBody, "description": "The body came too slowly."},
    413: {"model": ErrorBody, "description": "The body is too large."},
    421: {"model": ErrorBody, "description": "The Host header is no name of this server."},
    422: {"model": ErrorBody, "description": "The request asks for something that there is not, or for too much."},
    503: {"model": ErrorBody, "description": "Too many wait already; Retry-After says when to try again."},
    504: {"model": ErrorBody, "description": "It took too long."},
}


class Api:
    """JSON API: the verbs, checked against the limits and done in turn."""

    def __init__(
        self, served_models: ServedModels, limits: Limits, corrections: RequestOverrides, workers: Workers
    ) -> None:
        self._served_models, self._limits, self._corrections, self._workers = (
            served_models,
            limits,
            corrections,
            workers,
        )
        self._queues: dict[tuple[str, int, int | None, bool], RequestBatcher] = {}

    def router(self) -> APIRouter:
        """FastAPI router: all verbs at their addresses."""
        router = APIRouter(prefix="/api", responses=FAILURES, tags=["api"])
        router.get("/models", summary="Models and limits")(self.models)
        router.post("/transduce", summary="The most probable targets of sources")(self.transduce)
        router.post("/match", summary="Whether pairs match")(self.match)
        router.post("/align", summary="The edit scripts of pairs")(self.align)
        router.post("/explain", summary="Why a pair got its score")(self.explain)
        router.post("/rules", summary="What a model learned")(self.rules)
        return router

    async def models(self) -> ModelsResponse:
        """The models that are served, what each can do, and what a request may ask for."""
        shown = [_card(one) for one in self._served_models]
        return ModelsResponse(models=shown, limits=self._limits.told(), exceptions=len(self._corrections))

    async def transduce(self, asked: TransduceRequest) -> TransduceResponse:
        """The most probable targets of each source; what the file of exceptions says comes first, and is marked."""
        served = self._served_models.able(asked.model, "transduce")
        self._limits.check_count("sources", asked.sources)
        self._limits.check_texts("sources", asked.sources)
        self._limits.check_width(asked.nbest, asked.beam)
        found = await self._queue(served, asked).answers(asked.sources)
        return TransduceResponse(model=served.name, results=found)

    async def match(self, asked: PairsRequest) -> MatchResponse:
        """Whether the strings of each pair belong together, with calibrated probabilities."""
        served, pairs = self._served_models.able(asked.model, "match"), self._pairs(asked.pairs)
        found = await self._workers.run(partial(service.match, served, pairs))
        return MatchResponse(model=served.name, results=found)

    async def align(self, asked: PairsRequest) -> AlignResponse:
        """The most probable edit operations of each pair."""
        served, pairs = self._served_models.able(asked.model, "align"), self._pairs(asked.pairs)
        found = await self._workers.run(partial(service.align, served, pairs))
        return AlignResponse(model=served.name, results=found)

    async def explain(self, asked: ExplainRequest) -> ExplainResponse:
        """The best scripts, the tables of the lattice and what each operation adds to the score, drawn on demand."""
        served = self._served_models.able(asked.model, "explain")
        self._limits.check_texts("source", [asked.source])
        self._limits.check_texts("target", [asked.target or ""])
        known = self._corrections.of(served, [asked.source])
        return await self._workers.run(partial(service.explain, served, asked, known, self._limits))

    async def rules(self, asked: RulesRequest) -> RulesResponse:
        """What becomes of which symbol, how often, and where: in the pairs given, or in those the server knows."""
        served = self._served_models.able(asked.model, "rules")
        pairs = None if asked.pairs is None else self._pairs(asked.pairs)
        return await self._workers.run(partial(service.rules, served, pairs, by=asked.by, top=asked.top))

    def _queue(self, served: ServedModel, asked: TransduceRequest) -> RequestBatcher:
        key = served.name, asked.nbest, asked.beam, asked.scripts
        if key not in self._queues:
            beam = max(asked.nbest, asked.beam or getattr(served.model, "beam", 1))
            self._queues[key] = RequestBatcher(self._workers, self._transducing(served, asked), beam=beam)
        return self._queues[key]

    def _transducing(self, served: ServedModel, asked: TransduceRequest) -> service.Transducing:
        def work(sources: Sequence[str]) -> list[Answers]:
            known = self._corrections.of(served, sources)
            return service.transduce(served, sources, known, nbest=asked.nbest, beam=asked.beam, scripts=asked.scripts)

        return work

    def _pairs(self, asked: Sequence[AskedPair]) -> list[tuple[str, str]]:
        self._limits.check_count("pairs", asked)
        self._limits.check_texts("pairs", [text for pair in asked for text in (pair.source, pair.target)])
        pairs = [(pair.source, pair.target) for pair in asked]
        self._limits.check_cells("pairs", pairs)
        return pairs


def _card(served: ServedModel) -> ModelCard:
    examples = [Example(source=source, target=target) for source, target in served.examples]
    return ModelCard(
        name=served.name, title=served.title, kind=served.kind, abilities=served.abilities, examples=examples
    )
