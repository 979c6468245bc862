"""ASGI application: the page, the API, and the middleware that surrounds them."""

import asyncio
import re
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, FastAPI, Response
from fastapi.responses import PlainTextResponse
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nsed import __version__
from nsed.explain.render.html import STYLE
from nsed.models.transduction import Overrides
from nsed.web.api import FAILURES, Api, add_handlers, answer
from nsed.web.limits import AllowedHosts, ApiError, ApiKeys, Limits
from nsed.web.request_batching import Workers
from nsed.web.schemas import Health
from nsed.web.served_models import NO_OVERRIDES, RequestOverrides, ServedModel, ServedModels
from nsed.web.telemetry import Metrics, Telemetry

TYPES = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def page_router(name: str = "page.html") -> APIRouter:
    """Static files router: a page at `/`, its files below `/static`."""
    contents, router = _contents(), APIRouter(include_in_schema=False)

    @router.get("/")
    async def page() -> Response:
        return _file(contents, name)

    @router.get("/static/{name}")
    async def file(name: str) -> Response:
        return _file(contents, name)

    return router


def _contents() -> Mapping[str, str]:
    """Static file contents by name, and the style of explanations."""
    folder = files("nsed.web") / "static"
    written = {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.is_file()}
    return {**written, "explain.css": STYLE}


def _file(contents: Mapping[str, str], name: str) -> Response:
    if name not in contents:
        raise HTTPException(404, "there is no such file")
    return Response(contents[name], media_type=TYPES[name.rpartition(".")[2]])


REQUESTS = ("TransduceRequest", "PairsRequest", "ExplainRequest", "RulesRequest")


def tell_limits(schema: dict[str, Any], names: Iterable[str], limits: Limits) -> None:
    """Document limits in the OpenAPI schema: which models there are, and how long and how many strings may be."""
    records, served = schema["components"]["schemas"], list(names)
    for name in (*REQUESTS, "RequestPair"):
        for field, told in records[name]["properties"].items():
            for part in _alternatives(told):
                _limit(part, field, limits)
    for name in REQUESTS:
        records[name]["properties"]["model"]["enum"] = served


def _alternatives(told: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Schema alternatives: what a field may be; of an optional one, the other."""
    yield from told.get("anyOf", [told])


def _limit(part: dict[str, Any], field: str, limits: Limits) -> None:
    if field in ("source", "target") and part["type"] == "string":
        part["maxLength"] = limits.length
    if field in ("sources", "pairs") and part["type"] == "array":
        part |= {"minItems": 1, "maxItems": limits.items}
    if field == "sources":
        part["items"]["maxLength"] = limits.length
    if field in ("nbest", "beam") and part["type"] == "integer":
        part["maximum"] = getattr(limits, field)


def _tell_keys(schema: dict[str, Any]) -> None:
    """Document in the OpenAPI schema that a key is needed."""
    schema["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    schema["security"] = [{"key": []}]


HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


OPEN = ("/", "/healthz", "/readyz")
"""Paths that need no API key, beside `/static/`: the page, which asks for it, and what orchestrators look at."""


class Protection:
    """ASGI middleware that checks hosts and keys, limits the body and adds headers: an application around another."""

    def __init__(self, app: ASGIApp, limits: Limits, hosts: AllowedHosts, keys: ApiKeys | None = None) -> None:
        self._app, self._limits, self._hosts, self._keys = app, limits, hosts, keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI call, see there."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check_head(scope)
            body = await self._in_time(self._read(receive))
        except ApiError as error:
            await answer(error)(scope, receive, _with_headers(send))
            return
        if body is not None:
            await self._app(scope, _again(body, receive), _with_headers(send))

    def _check_head(self, scope: Scope) -> None:
        headers, address = Headers(scope=scope), (scope.get("server") or ("",))[0]
        self._hosts.check(headers.get("host", ""), headers.get("origin"), address=address)
        if self._keys is not None and scope["path"] not in OPEN and not scope["path"].startswith("/static/"):
            self._keys.check(headers)
        declared = re.fullmatch(r"\d{1,18}", headers.get("content-length", ""), flags=re.ASCII)
        self._check_size(int(declared[0]) if declared else 0)

    async def _in_time(self, body: Coroutine[Any, Any, bytes | None]) -> bytes | None:
        seconds = self._limits.body_timeout
        try:
            return await asyncio.wait_for(body, seconds)
        except TimeoutError:
            raise ApiError(408, "slow_body", f"the body did not come within {seconds:g} seconds") from None

    async def _read(self, receive: Receive) -> bytes | None:
        """Request body; None if the client went away. Raises `ApiError` if it is too long."""
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            self._check_size(size)
            more = message.get("more_body", False)
        return b"".join(parts)

    def _check_size(self, size: int) -> None:
        if size > self._limits.body:
            message = f"the body is larger than {self._limits.body} bytes, the most that is taken"
            raise ApiError(413, "too_large", message)


def _again(body: bytes, receive: Receive) -> Receive:
    """Replayed request body: what was read can be read again, once."""
    unread = True

    async def read() -> Message:
        nonlocal unread
        if unread:
            unread = False
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return read


def _with_headers(send: Send) -> Send:
    async def write(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(HEADERS)
        await send(message)

    return write


def make_app(
    models: Iterable[ServedModel],
    limits: Limits | None = None,
    overrides: Overrides = NO_OVERRIDES,
    *,
    hosts: Iterable[str] = (),
    keys: ApiKeys | None = None,
    metrics: Metrics | None = None,
    exceptions: Overrides | None = None,
) -> FastAPI:
    """ASGI application that serves these models, to those who call this machine localhost or one of the hosts.

    With keys, whoever asks needs one of them. Metrics are those of this application alone, unless they are given.
    `exceptions` is the old name of `overrides`. Raises `DataError` where the overrides contradict themselves, and
    `ArgumentError` where two models have one name.
    """
    limits, served_models, metrics = limits or Limits(), ServedModels(models), metrics or Metrics()
    overrides = overrides if exceptions is None else _under_old_name(exceptions)
    request_overrides, workers = RequestOverrides(overrides, served_models), Workers(limits)
    app = FastAPI(
        title="Neural String Edit Distance",
        version=__version__,
        description="Strings into other strings, with the edit operations.",
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        lifespan=_running(workers, metrics),
    )
    add_handlers(app)
    app.include_router(Api(served_models, limits, request_overrides, workers).router())
    app.include_router(page_router())
    app.include_router(_probes(served_models, workers, metrics))
    tell_limits(app.openapi(), [one.name for one in served_models], limits)
    if keys is not None:
        _tell_keys(app.openapi())
    app.add_middleware(Protection, limits=limits, hosts=AllowedHosts(hosts), keys=keys)
    app.add_middleware(Telemetry, metrics=metrics, waiting=lambda: workers.waiting)
    return app


def _under_old_name(overrides: Overrides) -> Overrides:
    message = "make_app(exceptions=...) is now make_app(overrides=...); the old name goes with 2.0"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return overrides


def _running(workers: Workers, metrics: Metrics) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        metrics.set_ready(True)
        yield
        metrics.set_ready(False)
        workers.close()

    return lifespan


def _probes(models: ServedModels, workers: Workers, metrics: Metrics) -> APIRouter:
    """Router of what orchestrators and monitors ask for."""
    router = APIRouter(tags=["health"])

    @router.get("/healthz")
    async def healthz() -> Health:
        """Liveness: whether the server is there, and how much waits for it."""
        return Health(version=__version__, waiting=workers.waiting)

    @router.get("/readyz", responses={503: FAILURES[503]})
    async def readyz() -> Health:
        """Readiness: whether a request would be taken; the models are loaded, and not too much waits for them."""
        workers.check_room()
        return Health(version=__version__, waiting=workers.waiting)

    @router.get("/metrics", response_class=PlainTextResponse)
    async def prometheus() -> Response:
        """Prometheus metrics of all processes of this server."""
        return Response(metrics.to_text(models), media_type="text/plain; version=0.0.4; charset=utf-8")

    return router
