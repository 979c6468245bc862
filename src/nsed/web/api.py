"""JSON API routes, the addresses of the verbs; HTTP error responses: an `error` with a code and a message."""

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from nsed.errors import ArgumentError, NotExplainableError, NsedError, abbreviate
from nsed.registry import did_you_mean
from nsed.web.limits import ApiError, Limits
from nsed.web.request_batching import RequestBatcher, Workers
from nsed.web.schemas import (
    AlignResponse,
    ErrorBody,
    Example,
    ExplainRequest,
    ExplainResponse,
    MatchResponse,
    ModelCard,
    ModelsResponse,
    PairsRequest,
    RequestPair,
    RulesRequest,
    RulesResponse,
    TransduceRequest,
    TransduceResponse,
    TransduceResult,
)
from nsed.web.served_models import (
    RequestOverrides,
    ServedModel,
    ServedModels,
    Transducing,
    align,
    explain,
    match,
    rules,
    transduce,
)

MESSAGE = 1000
"""Most characters of a message: what it quotes, and what it says of it."""
SENT = 60
"""Most characters that a message quotes of a value in a request."""
NOTES = "nsed.notes"
"""Where the scope of a request says which model is asked about how many strings, for log and metrics."""


def answer(error: ApiError) -> JSONResponse:
    """Error response that says what is wrong; whatever text it quotes can be written, and is short."""
    told = {"code": error.code, "message": _quotable(error.message), "field": error.field and _quotable(error.field)}
    return JSONResponse({"error": told}, status_code=error.status, headers=error.headers)


def from_nsed(error: NsedError) -> ApiError:
    """API error from an `NsedError`: a complaint of a model, for those who asked it."""
    if isinstance(error, ApiError):
        return error
    if isinstance(error, NotExplainableError):
        return ApiError(422, "not_explainable", str(error))
    return ApiError(422, "invalid", str(error), field=error.argument if isinstance(error, ArgumentError) else None)


def add_handlers(app: FastAPI) -> None:
    """Register exception handlers: all failures are answered in the same form."""

    @app.exception_handler(NsedError)
    async def complaint(_: Request, error: NsedError) -> JSONResponse:
        return answer(from_nsed(error))

    @app.exception_handler(RequestValidationError)
    async def misshapen(request: Request, error: RequestValidationError) -> JSONResponse:
        fault = error.errors()[0]
        return answer(_from_validation(fault, _fields(request, fault["loc"])))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        code = HTTPStatus(error.status_code).name.lower()
        response = answer(ApiError(error.status_code, code, str(error.detail)))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    async def failed(_: Request, __: Exception) -> JSONResponse:
        return answer(ApiError(500, "internal", "the server failed; its log says why"))


EXPECTED = {
    "missing": "a value: the field is required",
    "string_type": "a string",
    "list_type": "a list",
    "model_type": "an object with the fields that the address takes, see /openapi.json",
    "model_attributes_type": "an object with the fields that the address takes, see /openapi.json",
    "greater_than_equal": "a number of at least {ge}",
    "less_than_equal": "a number of at most {le}",
    "literal_error": "{expected}",
    "too_long": "at most {max_length} items",
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_parsing_size", "int_from_float", "finite_number"), "a whole number"
    ),
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
}
"""What was expected, by the type of the fault that pydantic found; its own words serve for all others."""


def _from_validation(fault: Mapping[str, Any], known: Iterable[str]) -> ApiError:
    """API error from a validation error, the first fault of a request's shape: its field, what was got and expected."""
    if fault["type"] == "json_invalid":
        return ApiError(400, "bad_json", "the body is no JSON")
    field = ".".join(map(str, fault["loc"][1:])) or None
    if fault["type"] == "extra_forbidden":
        got, expected = "a field that there is not", f"one of: {', '.join(known)}"
        advice = did_you_mean(fault["loc"][-1], known)
    else:
        got = "nothing" if fault["type"] == "missing" else _got(fault["input"])
        known_type, advice = EXPECTED.get(fault["type"]), ""
        expected = known_type.format(**fault.get("ctx", {})) if known_type else str(fault["msg"])
    name = _quotable(field or "the body")
    return ApiError(422, "invalid", str(ArgumentError(name, got=got, expected=expected, advice=advice)), field=field)


def _got(value: object) -> str:
    """What was sent, as JSON has it; of lists and objects no more than that they are."""
    if isinstance(value, list | dict):
        return f"a list of {len(value)}" if isinstance(value, list) else "an object"
    if isinstance(value, bytes):
        return "a body that is not called JSON (send Content-Type: application/json)"
    return abbreviate(json.dumps(value, ensure_ascii=False), SENT)


def _fields(request: Request, place: tuple[str | int, ...]) -> list[str]:
    """Field names that an address takes, or a pair in its list."""
    if len(place) > 2:
        return list(RequestPair.model_fields)
    endpoint = getattr(request.scope.get("route"), "endpoint", None)
    asked = getattr(endpoint, "__annotations__", {}).get("asked")
    return list(asked.model_fields) if asked else []


def _quotable(text: str) -> str:
    """Short, surrogate-free text: halves of characters, which no encoding can write, by their numbers."""
    return abbreviate(text, MESSAGE).encode("utf-8", "backslashreplace").decode("utf-8")


FAILURES: dict[int | str, dict[str, Any]] = {
    400: {"model": ErrorBody, "description": "The body is no JSON."},
    401: {"model": ErrorBody, "description": "The server wants an API key, and this is none of its keys."},
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
        self, served_models: ServedModels, limits: Limits, overrides: RequestOverrides, workers: Workers
    ) -> None:
        self._served_models, self._limits, self._overrides, self._workers = (
            served_models,
            limits,
            overrides,
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
        return ModelsResponse(models=shown, limits=self._limits.told(), overrides=len(self._overrides))

    async def transduce(self, asked: TransduceRequest, request: Request) -> TransduceResponse:
        """The most probable targets of each source; what the file of overrides says comes first, and is marked."""
        served = self._served_models.able(asked.model, "transduce")
        self._limits.check_count("sources", asked.sources)
        self._limits.check_texts("sources", asked.sources)
        self._limits.check_width(asked.nbest, asked.beam)
        _note(request, served, len(asked.sources))
        found = await self._queue(served, asked).answers(asked.sources)
        return TransduceResponse(model=served.name, results=found)

    async def match(self, asked: PairsRequest, request: Request) -> MatchResponse:
        """Whether the strings of each pair belong together, with calibrated probabilities."""
        served, pairs = self._served_models.able(asked.model, "match"), self._pairs(asked.pairs)
        _note(request, served, len(pairs))
        found = await self._workers.run(partial(match, served, pairs))
        return MatchResponse(model=served.name, results=found)

    async def align(self, asked: PairsRequest, request: Request) -> AlignResponse:
        """The most probable edit operations of each pair."""
        served, pairs = self._served_models.able(asked.model, "align"), self._pairs(asked.pairs)
        _note(request, served, len(pairs))
        found = await self._workers.run(partial(align, served, pairs))
        return AlignResponse(model=served.name, results=found)

    async def explain(self, asked: ExplainRequest, request: Request) -> ExplainResponse:
        """The best scripts, the tables of the lattice and what each operation adds to the score, drawn on demand."""
        served = self._served_models.able(asked.model, "explain")
        self._limits.check_texts("source", [asked.source])
        self._limits.check_texts("target", [asked.target or ""])
        _note(request, served, 1)
        known = self._overrides.of(served, [asked.source])
        return await self._workers.run(partial(explain, served, asked, known, self._limits))

    async def rules(self, asked: RulesRequest, request: Request) -> RulesResponse:
        """What becomes of which symbol, how often, and where: in the pairs given, or in those the server knows."""
        served = self._served_models.able(asked.model, "rules")
        pairs = None if asked.pairs is None else self._pairs(asked.pairs)
        _note(request, served, len(pairs or ()))
        return await self._workers.run(partial(rules, served, pairs, by=asked.by, top=asked.top))

    def _queue(self, served: ServedModel, asked: TransduceRequest) -> RequestBatcher:
        key = served.name, asked.nbest, asked.beam, asked.scripts
        if key not in self._queues:
            beam = max(asked.nbest, asked.beam or getattr(served.model, "beam", 1))
            self._queues[key] = RequestBatcher(self._workers, self._transducing(served, asked), beam=beam)
        return self._queues[key]

    def _transducing(self, served: ServedModel, asked: TransduceRequest) -> Transducing:
        def work(sources: Sequence[str]) -> list[TransduceResult]:
            known = self._overrides.of(served, sources)
            return transduce(served, sources, known, nbest=asked.nbest, beam=asked.beam, scripts=asked.scripts)

        return work

    def _pairs(self, asked: Sequence[RequestPair]) -> list[tuple[str, str]]:
        self._limits.check_count("pairs", asked)
        self._limits.check_texts("pairs", [text for pair in asked for text in (pair.source, pair.target)])
        pairs = [(pair.source, pair.target) for pair in asked]
        self._limits.check_cells("pairs", pairs)
        return pairs


def _note(request: Request, served: ServedModel, strings: int) -> None:
    """Note for log and metrics, of a request that is worth an answer."""
    request.scope[NOTES] = {"model": served.name, "strings": strings}


def _card(served: ServedModel) -> ModelCard:
    examples = [Example(source=source, target=target) for source, target in served.examples]
    return ModelCard(
        name=served.name, title=served.title, kind=served.kind, abilities=served.abilities, examples=examples
    )
