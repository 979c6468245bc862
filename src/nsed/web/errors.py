"""HTTP error responses: always an `error` with a code and a message."""

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from nsed.errors import ArgumentError, NotExplainableError, NsedError, abbreviate
from nsed.registry import did_you_mean
from nsed.web.limits import ApiError
from nsed.web.schemas import AskedPair

MESSAGE = 1000
"""Most characters of a message: what it quotes, and what it says of it."""
SENT = 60
"""Most characters that a message quotes of a value in a request."""


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
    return abbreviate(json.dumps(value, ensure_ascii=False), SENT)


def _fields(request: Request, place: tuple[str | int, ...]) -> list[str]:
    """Field names that an address takes, or a pair in its list."""
    if len(place) > 2:
        return list(AskedPair.model_fields)
    endpoint = getattr(request.scope.get("route"), "endpoint", None)
    asked = getattr(endpoint, "__annotations__", {}).get("asked")
    return list(asked.model_fields) if asked else []


def _quotable(text: str) -> str:
    """Short, surrogate-free text: halves of characters, which no encoding can write, by their numbers."""
    return abbreviate(text, MESSAGE).encode("utf-8", "backslashreplace").decode("utf-8")
