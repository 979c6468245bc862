"""`nsed serve` with several processes: one dies and is replaced, what is in flight is answered, mistakes are told."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from multiprocessing import Pipe

import httpx
import pytest

import nsed
from nsed.errors import ModelFileError
from nsed.web.server import _is_ready, _Worker

KEY = "0123456789-abcdef"
LONG = {"model": "spelling", "pairs": [{"source": "ab" * 100, "target": "ba" * 100}] * 24}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("served")
    nsed.LearnableEditDistance.fit([("colour", "color"), ("grey", "gray")] * 4).save(path / "spelling")
    return path / "spelling"


@contextmanager
def serving(*arguments):
    """The process of `nsed serve`, and a client of it."""
    command = [sys.executable, "-m", "nsed", "serve", *map(str, arguments), "--port", "0", "--log-format", "json"]
    environment = {**os.environ, "NSED_API_KEY": KEY}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        try:
            address = json.loads(process.stderr.readline())["address"]
            with httpx.Client(base_url=address, headers={"X-Api-Key": KEY}, timeout=60) as client:
                yield process, client
        finally:
            process.kill()


def value(client, name):
    """The sum of a metric's samples; of a server that was just killed, -1."""
    try:
        lines = client.get("/metrics").text.splitlines()
    except httpx.TransportError:
        return -1
    return sum(float(line.split()[-1]) for line in lines if re.match(rf"{name}[{{ ]", line))


def workers(process):
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    with open(children, encoding="ascii") as lines:
        return [one for one in map(int, lines.read().split()) if "spawn_main" in command_line(one)]


def command_line(process):
    with open(f"/proc/{process}/cmdline", encoding="ascii") as line:
        return line.read()


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
def test_a_worker_that_dies_is_replaced_and_a_stop_waits_for_what_is_in_flight(folder):
    with serving(folder, "--workers", "2") as (process, client):
        assert value(client, "nsed_workers_ready") == 2
        os.kill(workers(process)[0], signal.SIGKILL)
        until(lambda: value(client, "nsed_worker_starts_total") == 3)
        until(lambda: value(client, "nsed_workers_ready") == 2)
        answers = []
        asking = threading.Thread(target=lambda: answers.append(client.post("/api/align", json=LONG).status_code))
        asking.start()
        with httpx.Client(base_url=client.base_url, headers=client.headers) as other:
            until(lambda: value(other, "nsed_requests_in_flight") == 2 or answers)  # one of them is this question
        process.send_signal(signal.SIGTERM)
        asking.join()
        assert process.wait(20) == -signal.SIGTERM
        assert answers == [200]
        with pytest.raises(httpx.ConnectError):
            httpx.get(client.base_url)
        events = [json.loads(line)["event"] for line in process.stderr]
    assert "worker died" in events
    assert set(events) <= {"worker died", "request"}


def test_what_a_worker_cannot_load_is_told_as_by_one_process():
    (ours, theirs), (signalled, signals) = Pipe(), Pipe(duplex=False)
    theirs.send(ModelFileError("nowhere", "there is no such folder"))
    with pytest.raises(ModelFileError, match="nowhere: there is no such folder"):
        _is_ready(_Worker(None, ours), signalled)
    theirs.send(None)
    assert _is_ready(_Worker(None, ours), signalled)
    signals.send(signal.SIGTERM)  # while the next one loads
    assert not _is_ready(_Worker(None, ours), signalled)
