"""HTTP server (uvicorn) that `nsed serve` starts: how many connections there are, and how slow they may be."""

import asyncio
import ctypes
import gc
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

if sys.platform != "win32":
    import resource

from nsed.errors import ArgumentError
from nsed.models.transduction import Overrides
from nsed.web.api import answer
from nsed.web.app import make_app
from nsed.web.limits import ApiError, Limits, is_address
from nsed.web.served_models import ServedModel

BACKLOG = 2048
"""Listen backlog: connections that may wait to be taken, and are then taken at once."""
OTHER_FILES = 64
"""Open files that are no connections."""
HEAD = 2**16
"""Maximum size of a request's head in bytes; pasted pairs stand in the address of the page."""
LINGER = 1.0
"""Seconds in which a client may go on sending what was refused: cut off at once, it would not see the answer."""
STOP = 5
"""Seconds in which running requests may end after the server is stopped."""
TRIM = 5
"""Seconds between two times that free memory is given back to the system."""


class Connection(H11Protocol):
    """HTTP/1.1 connection with deadlines, one of a limited number."""

    def __init__(
        self,
        limits: Limits,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits, self._refused, self._dropped = limits, False, False
        self._awaited: tuple[object, ...] = ()
        self._since = self.loop.time()
        self._deadline: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """Take the connection, which costs another one its place if there are too many."""
        super().connection_made(transport)
        self._watch()
        if len(self.connections) > self._limits.connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the request was refused."""
        if not self._refused:
            super().data_received(data)

    def handle_events(self) -> None:
        """Take whatever is complete; the next part has its own deadline."""
        super().handle_events()
        self._watch()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        super().connection_lost(exc)
        for timer in (self._deadline, self._stalled):
            if timer is not None:
                timer.cancel()

    def shutdown(self) -> None:
        """End, after the answer to what was asked; what was not asked in full is not waited for."""
        if self._is_reading:
            self._drop()
        else:
            super().shutdown()

    def pause_writing(self) -> None:
        """Give up a client that does not read its answer."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self._limits.body_timeout, self._drop)

    def resume_writing(self) -> None:
        """Go on, the client reads."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the form of all errors."""
        if len(self.conn.trailing_data[0]) > HEAD:
            self._refuse(ApiError(431, "long_head", f"the head of the request is larger than {HEAD} bytes"))
        else:
            self._refuse(ApiError(400, "bad_http", "the request is no HTTP/1.1"))

    def _watch(self) -> None:
        """Set the deadline of what is awaited, when that is something new; a byte now and then moves nothing."""
        awaited = self.cycle, self.conn.their_state, self._is_answered
        if awaited == self._awaited or self._refused:
            return
        self._awaited, self._since = awaited, self.loop.time()
        if self._deadline is not None:
            self._deadline.cancel()
        if self.conn.their_state is h11.IDLE:
            self._deadline = self.loop.call_later(self._limits.head_timeout, self._head_is_late)
        elif self._is_reading and self._is_answered:
            self._deadline = self.loop.call_later(LINGER, self._drop)

    @property
    def _is_reading(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    @property
    def _is_answered(self) -> bool:
        return self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE)

    @property
    def _is_useless(self) -> bool:
        """Whether nothing was asked, or nothing more will be answered."""
        return self._is_reading or self._refused or self.transport.is_closing()

    def _head_is_late(self) -> None:
        if not self.conn.trailing_data[0]:
            self.transport.close()  # nothing was asked
            return
        message = f"the head of the request did not come within {self._limits.head_timeout:g} seconds"
        self._refuse(ApiError(408, "slow_head", message))

    def _make_room(self) -> None:
        """Drop the connection that has waited longest for a whole request, or refuse this one if all others work."""
        there = [one for one in self.connections if isinstance(one, Connection) and not one._dropped]
        useless = [one for one in there if one is not self and one._is_useless]
        if len(there) <= self._limits.connections:
            return
        if useless:
            min(useless, key=lambda one: one._since)._drop()
        else:
            self._refuse(ApiError(503, "busy", "there are too many connections: try again soon", retry_after=2))

    def _drop(self) -> None:
        self._dropped = True
        self.transport.abort()

    def _refuse(self, error: ApiError) -> None:
        """Answer with an error, without the application, and close."""
        if self._is_answered:
            self._drop()
            return
        self._refused = True
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        made = answer(error)
        head = h11.Response(status_code=error.status, headers=[*made.raw_headers, (b"connection", b"close")])
        for event in (head, h11.Data(data=bytes(made.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.write_eof()
        self._deadline = self.loop.call_later(LINGER, self._drop)


def run_server(
    models: Iterable[ServedModel],
    limits: Limits,
    exceptions: Overrides,
    *,
    hosts: Iterable[str] = (),
    host: str,
    port: int,
    on_start: Callable[[str], None],
) -> None:
    """Serve until someone stops it; `on_start` is told the address. Only what goes wrong is logged.

    Raises `ArgumentError` where the port is taken, or not ours to take.
    """
    own_name = [] if host in ("", "localhost") or is_address(host) else [host]
    app = make_app(models, limits, exceptions, hosts=[*own_name, *hosts])
    serve_app(app, limits, host=host, port=port, on_start=on_start)


def serve_app(app: ASGIApp, limits: Limits, *, host: str, port: int, on_start: Callable[[str], None]) -> None:
    """Serve an application until someone stops it, see `run_server`."""
    with _listening(host, port) as listening:
        name = f"[{host}]" if ":" in host else host
        on_start(f"http://{name}:{listening.getsockname()[1]}/")
        server = make_server(app, limits)
        server.config.callback_notify, server.config.timeout_notify = _give_memory_back, TRIM
        gc.freeze()  # models stay, so that nobody waits while they are searched for garbage
        server.run(sockets=[listening])


def make_server(app: ASGIApp, limits: Limits, *, port: int = 0) -> uvicorn.Server:
    """Server of an application, with limits of connections."""
    room = max(2, (_open_files() - OTHER_FILES) // 2)  # a half for those that were taken, one for those that come
    limits = replace(limits, connections=min(limits.connections, room))
    config = uvicorn.Config(
        app,
        port=port,
        http=partial(Connection, limits),  # type: ignore[arg-type]  # what makes connections; a class is one way
        backlog=min(BACKLOG, room),
        h11_max_incomplete_event_size=HEAD,
        timeout_graceful_shutdown=STOP,
        log_level="warning",
        server_header=False,
        ws="none",
    )
    return uvicorn.Server(config)


_trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None


async def _give_memory_back() -> None:
    """Return what is free to the system; glibc keeps it otherwise, after many large requests for good."""
    gc.collect()
    if _trim is not None:
        _trim(0)


def _open_files() -> int:
    """Files, connections among them, that this process may have open; more are not even refused, they wait."""
    if sys.platform == "win32":  # which counts otherwise
        return 2**14
    most: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return most if most > 0 else 2**14


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except OSError as error:
        got = f"{host}, port {port}: {error.strerror}"
        raise ArgumentError(
            "--host, --port", got=got, expected="an address to listen on", advice="Try --port 0."
        ) from None
