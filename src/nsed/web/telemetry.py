"""Telemetry of a server: Prometheus metrics of all its processes, and a log line per request; never what users sent."""

import json
import logging
import os
import re
import secrets
import sys
import time
import traceback
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path, PurePath
from typing import Any, Literal

import numpy as np
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from nsed import __version__
from nsed.web.api import NOTES, answer
from nsed.web.limits import ApiError
from nsed.web.served_models import ServedModel

VERBS = ("models", "transduce", "match", "align", "explain", "rules")
PROBES = ("/healthz", "/readyz", "/metrics")
ROUTES = ("/", "/static/{name}", *(f"/api/{verb}" for verb in VERBS), *PROBES, "/openapi.json", "connection", "other")
"""Routes that are told apart; `connection` is what was refused before it was a request."""
STATUSES = (200, 400, 401, 403, 404, 405, 408, 413, 415, 421, 422, 431, 499, 500, 503, 504, 0)
"""Statuses that are told apart; 499: the client went away before an answer; 0 is any other."""
GONE = 499
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, float("inf"))
"""Upper bounds of the latency histogram in seconds."""
ROW = np.dtype(
    [
        ("requests", "f8", (len(ROUTES), len(STATUSES))),
        ("latency", "f8", (len(ROUTES), len(BUCKETS))),
        ("seconds", "f8", len(ROUTES)),
        ("strings", "f8", len(ROUTES)),
        *((name, "f8") for name in ("in_flight", "waiting", "ready", "starts", "process")),
    ]
)
"""Metrics of one process."""
Board = Any
"""Shared memory with a row of metrics for each process, each written by its own alone."""


def make_board(workers: int) -> Board:
    """Board for this many processes, to be given to them."""
    return get_context("spawn").RawArray("b", ROW.itemsize * workers)


class Metrics:
    """Prometheus metrics of a process, its row of a board; what is told is about all rows.

    >>> metrics = Metrics()
    >>> metrics.count("/healthz", 200, seconds=0.02)
    >>> [line for line in metrics.to_text().splitlines() if line.startswith("nsed_requests_total")]
    ['nsed_requests_total{route="/healthz",status="200"} 1']
    """

    def __init__(self, board: Board | None = None, slot: int = 0) -> None:
        self.slot = slot
        self._rows = np.zeros(1, ROW) if board is None else np.frombuffer(board, ROW)
        self._row = self._rows[slot]
        for name in ("in_flight", "waiting", "ready"):
            self._row[name] = 0  # counters go on where a process died that had this row
        self._row["starts"] += 1
        self._row["process"] = os.getpid()

    def set_ready(self, ready: bool) -> None:
        """Tell whether this process takes requests."""
        self._row["ready"] = ready

    def set_waiting(self, waiting: int) -> None:
        """Tell how many strings wait."""
        self._row["waiting"] = waiting

    @contextmanager
    def in_flight(self) -> Iterator[None]:
        """Count a request while it is answered."""
        self._row["in_flight"] += 1
        try:
            yield
        finally:
            self._row["in_flight"] -= 1

    def count(self, route: str, status: int, *, seconds: float = 0.0, strings: int = 0) -> None:
        """Count a request, how long it took, and how many strings were answered."""
        row = ROUTES.index(route)
        self._row["requests"][row, STATUSES.index(status if status in STATUSES else 0)] += 1
        self._row["strings"][row] += strings
        self._row["latency"][row, bisect_left(BUCKETS, seconds)] += 1
        self._row["seconds"][row] += seconds

    def to_text(self, models: Iterable[ServedModel] = ()) -> str:
        """Prometheus text format; counters and gauges are sums over all processes, memory stands for each."""
        return "".join(f"{line}\n" for line in (*self._counters(), *self._gauges(models)))

    def _counters(self) -> Iterator[str]:
        total = {name: self._rows[name].sum(axis=0) for name in ("requests", "latency", "seconds", "strings")}
        yield from _head("nsed_requests_total", "counter", "Requests by route and status; 499: the client went away.")
        for row, status in np.argwhere(total["requests"] > 0):
            labels = {"route": ROUTES[row], "status": STATUSES[status] or "other"}
            yield _sample("nsed_requests_total", total["requests"][row, status], labels)
        yield from _head("nsed_request_seconds", "histogram", "Seconds from a request to the end of its answer.")
        for row in np.flatnonzero(total["latency"].sum(axis=1)):
            yield from _histogram(ROUTES[row], total["latency"][row].cumsum(), total["seconds"][row])
        yield from _head("nsed_strings_answered_total", "counter", "Sources, or pairs, that were answered.")
        for row in np.flatnonzero(total["strings"]):
            yield _sample("nsed_strings_answered_total", total["strings"][row], {"route": ROUTES[row]})

    def _gauges(self, models: Iterable[ServedModel]) -> Iterator[str]:
        yield from _head("nsed_requests_in_flight", "gauge", "Requests that are being answered, this one included.")
        yield _sample("nsed_requests_in_flight", self._rows["in_flight"].sum())
        yield from _head("nsed_strings_waiting", "gauge", "Strings that wait for their turn.")
        yield _sample("nsed_strings_waiting", self._rows["waiting"].sum())
        yield from _head("nsed_workers_ready", "gauge", "Processes that take requests.")
        yield _sample("nsed_workers_ready", self._rows["ready"].sum())
        yield from _head("nsed_worker_starts_total", "counter", "Starts of each process; more than one: it died.")
        yield from (_sample("nsed_worker_starts_total", n, {"worker": at}) for at, n in enumerate(self._rows["starts"]))
        yield from _head("nsed_model_loaded", "gauge", "Models that are served.")
        yield from (_sample("nsed_model_loaded", 1, {"model": one.name, "kind": one.kind}) for one in models)
        yield from _head("nsed_build_info", "gauge", "Version of the package.")
        yield _sample("nsed_build_info", 1, {"version": __version__})
        yield from _head("process_resident_memory_bytes", "gauge", "Resident memory of each process; on Linux only.")
        for at, process in enumerate(self._rows["process"]):
            if (size := resident_memory(int(process))) is not None:
                yield _sample("process_resident_memory_bytes", size, {"worker": at})


def resident_memory(process: int) -> int | None:
    """Resident memory of a process in bytes; None where the system does not tell, or the process is gone."""
    try:
        pages = Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return None
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _head(name: str, kind: str, told: str) -> tuple[str, str]:
    return f"# HELP {name} {told}", f"# TYPE {name} {kind}"


def _sample(name: str, value: float, labels: Mapping[str, object] | None = None) -> str:
    shown = ",".join(f'{key}="{_escaped(str(one))}"' for key, one in (labels or {}).items())
    return f"{name}{{{shown}}} {value:.15g}" if shown else f"{name} {value:.15g}"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _histogram(route: str, counts: Iterable[float], seconds: float) -> Iterator[str]:
    count = 0.0
    for bound, count in zip(BUCKETS, counts, strict=True):
        most = "+Inf" if bound == float("inf") else f"{bound:g}"
        yield _sample("nsed_request_seconds_bucket", count, {"route": route, "le": most})
    yield _sample("nsed_request_seconds_sum", seconds, {"route": route})
    yield _sample("nsed_request_seconds_count", count, {"route": route})


logger = logging.getLogger("nsed.web")
LogFormat = Literal["json", "text"]


def log(event: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log an event with its fields, values of our own only: nothing that users sent."""
    logger.log(level, event, extra={"fields": fields})


class LogLines(logging.Formatter):
    """Log formatter, a line per event: JSON, or `name=value`. Of an exception its type and places, not its message.

    Messages of exceptions quote what users sent; so may those of other loggers, which are cut to what is fixed in them.
    """

    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        """Line of a record."""
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            **_told(record),
        }
        if record.exc_info and record.exc_info[0]:
            fields |= {"exception": record.exc_info[0].__name__, "where": _places(record.exc_info[1])}
        if self._form == "json":
            return json.dumps(fields)
        time, level, event, *rest = fields.items()
        return " ".join([str(time[1]), str(level[1]), str(event[1]), *(f"{key}={value}" for key, value in rest)])


def _told(record: logging.LogRecord) -> dict[str, object]:
    """Event and fields of our records; of others their first line, with numbers filled in at most."""
    if record.name == logger.name:
        return {"event": record.msg, **getattr(record, "fields", {})}
    fixed = isinstance(record.args, tuple) and all(isinstance(one, int | float) for one in record.args)
    message = record.getMessage() if fixed else str(record.msg)
    return {"event": "message", "logger": record.name, "message": message.partition("\n")[0]}


def _places(error: BaseException | None) -> list[str]:
    """Files, lines and functions that an exception came through."""
    frames = traceback.extract_tb(error.__traceback__ if error else None)
    return [f"{'/'.join(PurePath(one.filename).parts[-2:])}:{one.lineno} {one.name}" for one in frames]


def set_up_log(form: LogFormat | None) -> None:
    """Log to standard error in this form; without one, only what goes wrong, as text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines(form or "text"))
    logging.basicConfig(handlers=[handler], level=logging.WARNING, force=True)
    logger.setLevel(logging.INFO if form else logging.WARNING)


class Telemetry:
    """ASGI middleware that counts, times and logs requests, gives each an id, and answers where all else failed."""

    def __init__(self, app: ASGIApp, metrics: Metrics, waiting: Callable[[], int]) -> None:
        self._app, self._metrics, self._waiting = app, metrics, waiting

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI call, see there."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin, request = time.perf_counter(), _Answering(_request_id(scope), send)
        try:
            with self._metrics.in_flight():
                await self._answer(request, scope, receive)
        finally:
            self._record(scope, request, time.perf_counter() - begin)

    async def _answer(self, request: "_Answering", scope: Scope, receive: Receive) -> None:
        try:
            await self._app(scope, receive, request.send)
        except Exception:
            logger.exception("failure", extra={"fields": {"id": request.id, "route": route_of(scope["path"])}})
            if request.status == GONE:
                await answer(ApiError(500, "internal", "the server failed; its log says why"))(
                    scope, receive, request.send
                )

    def _record(self, scope: Scope, request: "_Answering", seconds: float) -> None:
        notes, route = scope.get(NOTES, {}), route_of(scope["path"])
        strings = notes.get("strings", 0) if request.status == 200 else 0
        self._metrics.count(route, request.status, seconds=seconds, strings=strings)
        self._metrics.set_waiting(self._waiting())
        if route not in PROBES or request.status != 200:
            asked = {"worker": self._metrics.slot, "method": _method(scope), "route": route}
            answered = {"status": request.status, "ms": round(1000 * seconds, 1), **notes}
            logger.info("request", extra={"fields": {"id": request.id, **asked, **answered}})


def record_refusal(metrics: Metrics, status: int) -> None:
    """Count and log what was refused before it was a request: no HTTP, too long or slow a head, no room."""
    metrics.count("connection", status)
    log("refusal", worker=metrics.slot, route="connection", status=status)


class _Answering:
    """Request that is being answered: its id, and the status of its answer, once there is one."""

    def __init__(self, request_id: str, send: Send) -> None:
        self.id, self.status, self._send = request_id, GONE, send

    async def send(self, message: Message) -> None:
        """ASGI send, which learns the status and tells the id."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            MutableHeaders(scope=message)["X-Request-Id"] = self.id
        await self._send(message)


def route_of(path: str) -> str:
    """Route of a path, one of `ROUTES`: paths themselves are what users sent."""
    if path.startswith("/static/"):
        return "/static/{name}"
    return path if path in ROUTES else "other"


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in ("GET", "POST", "HEAD", "OPTIONS", "PUT", "DELETE") else "other"


def _request_id(scope: Scope) -> str:
    """Id of a request: that of a proxy, where it has the form of a UUID or hexadecimal number, or a new one."""
    given = Headers(scope=scope).get("x-request-id", "")
    return given if re.fullmatch(r"[0-9a-fA-F-]{8,36}", given) else secrets.token_hex(8)
