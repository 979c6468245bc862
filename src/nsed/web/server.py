"""HTTP server (uvicorn) that `nsed serve` starts: its connections, how slow they may be, and its worker processes."""

import asyncio
import gc
import logging
import math
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection as PipeEnd
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

import h11
import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

if sys.platform != "win32":
    import resource

from nsed.errors import ArgumentError, NsedError
from nsed.progress import return_freed_memory
from nsed.web.api import answer
from nsed.web.limits import ApiError, Limits, busy
from nsed.web.telemetry import Board, LogFormat, Metrics, log, make_board, record_refusal, set_up_log

BACKLOG = 2048
"""Listen backlog: connections that may wait to be taken, and are then taken at once."""
OTHER_FILES = 64
"""Open files that are no connections."""
HEAD = 2**16
"""Maximum size of a request's head in bytes; pasted pairs stand in the address of the page."""
LINGER = 1.0
"""Seconds in which a client may go on sending what was refused: cut off at once, it would not see the answer."""
PAUSE = 1.0
"""Seconds before a worker process that died is started again."""
KILL = 5.0
"""Seconds that a worker process has to end after its requests did."""
TRIM = 5
"""Seconds between two times that free memory is given back to the system."""


class Connection(H11Protocol):
    """HTTP/1.1 connection with deadlines, one of a limited number."""

    def __init__(
        self,
        limits: Limits,
        metrics: Metrics,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._limits, self._metrics, self._refused, self._dropped = limits, metrics, False, False
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
            self._refuse(busy("there are too many connections"))

    def _drop(self) -> None:
        self._dropped = True
        self.transport.abort()

    def _refuse(self, error: ApiError) -> None:
        """Answer with an error, without the application, and close."""
        if self._is_answered:
            self._drop()
            return
        self._refused = True
        record_refusal(self._metrics, error.status)
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        made = answer(error)
        head = h11.Response(status_code=error.status, headers=[*made.raw_headers, (b"connection", b"close")])
        for event in (head, h11.Data(data=bytes(made.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.write_eof()
        self._deadline = self.loop.call_later(LINGER, self._drop)


MakeApp = Callable[[Metrics], ASGIApp]
"""From the metrics of a process to the application that it serves; with several processes, something to be pickled."""


def run_server(
    make: MakeApp,
    limits: Limits,
    *,
    host: str,
    port: int,
    workers: int = 1,
    log_format: LogFormat | None = None,
    on_start: Callable[[str], None],
) -> None:
    """Serve until someone stops it; `on_start` is told the address once requests are answered.

    SIGTERM, or Ctrl-C, stops it: nothing new is taken, what is in flight is answered. Without a log format only what
    goes wrong is logged. Raises `ArgumentError` where the port is taken, or not ours to take.
    """
    if workers > 1:
        with _listening(host, port) as listening:
            given = _Given(make, limits, make_board(workers), listening, log_format)
            _Supervisor(given, workers).run(partial(on_start, _address(host, listening)))
        return
    metrics = Metrics()
    serve_app(make(metrics), limits, metrics, host=host, port=port, on_start=on_start, log_format=log_format)


def serve_app(
    app: ASGIApp,
    limits: Limits,
    metrics: Metrics | None = None,
    *,
    host: str,
    port: int,
    on_start: Callable[[str], None],
    log_format: LogFormat | None = None,
) -> None:
    """Serve an application in this process until someone stops it, see `run_server`."""
    with _listening(host, port) as listening:
        set_up_log(log_format)
        on_start(_address(host, listening))
        gc.freeze()  # models stay, so that nobody waits while they are searched for garbage
        make_server(app, limits, metrics).run(sockets=[listening])


def _address(host: str, listening: socket.socket) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listening.getsockname()[1]}/"


def make_server(app: ASGIApp, limits: Limits, metrics: Metrics | None = None, *, port: int = 0) -> uvicorn.Server:
    """Server of an application, with limits of connections; those that are refused are counted in the metrics."""
    room = max(2, (_open_files() - OTHER_FILES) // 2)  # a half for those that were taken, one for those that come
    limits = replace(limits, connections=min(limits.connections, room))
    config = uvicorn.Config(
        app,
        port=port,
        http=partial(Connection, limits, metrics or Metrics()),  # type: ignore[arg-type]  # what makes connections
        backlog=min(BACKLOG, room),
        h11_max_incomplete_event_size=HEAD,
        timeout_graceful_shutdown=math.ceil(limits.stop),
        callback_notify=_give_memory_back,
        timeout_notify=TRIM,
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="none",
    )
    return uvicorn.Server(config)


class _Given(NamedTuple):
    """What worker processes are given."""

    make: MakeApp
    limits: Limits
    board: Board
    listening: socket.socket
    log_format: LogFormat | None


class _Worker(NamedTuple):
    """Worker process, and the pipe that it ends with: closed at this end, it stops."""

    process: BaseProcess
    pipe: PipeEnd


class _Supervisor:
    """Supervisor of worker processes, which share a socket: starts them, and again those that die; stops them all.

    Each loads the models for itself (spawn, not fork: compiled kernels have threads, which no fork survives).
    """

    def __init__(self, given: _Given, workers: int) -> None:
        self._given, self._count, self._context = given, workers, get_context("spawn")
        self._workers: list[_Worker] = []

    def run(self, on_start: Callable[[], None]) -> None:
        """Run until a signal comes, with which it then ends. Raises what a worker could not start for."""
        set_up_log(self._given.log_format)
        patience = 0.0  # nothing is in flight before all are ready
        with _signals() as signalled:
            try:
                self._workers += map(self._start, range(self._count))
                if all(_is_ready(worker, signalled) for worker in self._workers):
                    patience = self._given.limits.stop + KILL
                    on_start()
                    self._watch(signalled)
            finally:
                self._stop(patience)
        signal.raise_signal(signalled.recv())

    def _start(self, slot: int) -> _Worker:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_work, args=(self._given, slot, theirs), name=f"nsed-worker-{slot}")
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _watch(self, signalled: PipeEnd) -> None:
        """Start again what dies, until there is a signal."""
        while not signalled.poll():
            ended = wait([signalled, *(one.process.sentinel for one in self._workers)])
            for slot, worker in enumerate(self._workers):
                if worker.process.sentinel in ended:
                    log("worker died", level=logging.ERROR, worker=slot, exit_code=worker.process.exitcode)
                    time.sleep(PAUSE)
                    worker.pipe.close()
                    self._workers[slot] = self._start(slot)

    def _stop(self, patience: float) -> None:
        """Tell all to stop, wait as long as requests in flight may take, and kill what is left."""
        until = time.monotonic() + patience
        for worker in self._workers:
            worker.pipe.close()
        for worker in self._workers:
            worker.process.join(max(0.0, until - time.monotonic()))
            worker.process.kill()
            worker.process.join()


def _is_ready(worker: _Worker, signalled: PipeEnd) -> bool:
    """Wait until a worker is ready; not, if there is a signal before. Raises what it could not start for."""
    if signalled in wait([worker.pipe, signalled]):
        return False
    try:
        error = worker.pipe.recv()
    except EOFError:
        worker.process.join()
        ended = f"a worker process ended with exit code {worker.process.exitcode} before it was ready"
        raise NsedError(f"{ended}: is there memory for so many?") from None
    if error is not None:
        raise error
    return True


@contextmanager
def _signals() -> Iterator[PipeEnd]:
    """Pipe on which the numbers of signals arrive that would end this process."""
    receiving, sending = Pipe(duplex=False)
    ending = signal.SIGINT, signal.SIGTERM
    before = [signal.signal(one, lambda number, _: sending.send(number)) for one in ending]
    try:
        yield receiving
    finally:
        for number, handler in zip(ending, before, strict=True):
            signal.signal(number, handler)


def _work(given: _Given, slot: int, pipe: PipeEnd) -> None:
    """Worker process: serve until the pipe is closed, which it is too when the supervisor dies."""
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # Ctrl-C is the supervisor's
    set_up_log(given.log_format)
    metrics = Metrics(given.board, slot)
    try:
        server = make_server(given.make(metrics), given.limits, metrics)
    except NsedError as error:
        pipe.send(error)
        return
    pipe.send(None)
    threading.Thread(target=_stop_with, args=(pipe, server), daemon=True).start()
    gc.freeze()
    server.run(sockets=[given.listening])


def _stop_with(pipe: PipeEnd, server: uvicorn.Server) -> None:
    pipe.poll(None)  # nothing is ever sent: it is closed
    server.should_exit = True


async def _give_memory_back() -> None:
    gc.collect()
    return_freed_memory()


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
        expected, advice = "an address to listen on", "Try --port 0."
        raise ArgumentError("--host, --port", got=got, expected=expected, advice=advice) from None
