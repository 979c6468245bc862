"""Around every request: bodies that are too large are refused, and browsers are told to load nothing from elsewhere."""

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nsed.web.errors import answer
from nsed.web.problems import ApiError

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}


class Protection:
    """An application with another one inside."""

    def __init__(self, app: ASGIApp, largest: int) -> None:
        self._app, self._largest = app, largest

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = await self._read(receive)
        inner = self._app if body is not None else answer(self._too_large())
        await inner(scope, _again(body or b"", receive), _with_headers(send))

    async def _read(self, receive: Receive) -> bytes | None:
        """The body, as far as it may be long; None if it is longer, or if the client went away."""
        parts, size, more = [], 0, True
        while more:
            message = await receive()
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > self._largest or message["type"] == "http.disconnect":
                return None
            more = message.get("more_body", False)
        return b"".join(parts)

    def _too_large(self) -> ApiError:
        return ApiError(413, "too_large", f"the body is larger than {self._largest} bytes, the most that is taken")


def _again(body: bytes, receive: Receive) -> Receive:
    """What was read can be read again, once."""
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
