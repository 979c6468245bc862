"""HTTP error responses: always an `error` with a code and a message."""

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from nsed.errors import ArgumentError, NotExplainableError, NsedError, abbreviate
from nsed.web.limits import ApiError

MESSAGE = 1000
"""Most characters of a message: what it quotes, and what it says of it."""


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
    async def misshapen(_: Request, error: RequestValidationError) -> JSONResponse:
        return answer(_from_validation(error.errors()[0]))

    @app.exception_handler(HTTPException)
    async def refused(_: Request, error: HTTPException) -> JSONResponse:
        code = HTTPStatus(error.status_code).name.lower()
        response = answer(ApiError(error.status_code, code, str(error.detail)))
        response.headers.update(error.headers or {})
        return response

    @app.exception_handler(Exception)
    async def failed(_: Request, __: Exception) -> JSONResponse:
        return answer(ApiError(500, "internal", "the server failed; its log says why"))


def _from_validation(fault: Mapping[str, object]) -> ApiError:
    """API error from a validation error: the first fault of a request's shape; what was sent is not repeated."""
    if fault["type"] == "json_invalid":
        return ApiError(400, "bad_json", "the body is no JSON")
    place = fault["loc"]
    assert isinstance(place, tuple)
    field = ".".join(map(str, place[1:])) or None
    return ApiError(422, "invalid", str(fault["msg"]), field=field)


def _quotable(text: str) -> str:
    """Short, surrogate-free text: halves of characters, which no encoding can write, by their numbers."""
    return abbreviate(text, MESSAGE).encode("utf-8", "backslashreplace").decode("utf-8")
