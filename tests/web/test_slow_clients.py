"""Clients that are slow, many, or both: they lose their connection, and the others are answered as before."""

import asyncio
import json
import re
import resource
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Event, Semaphore

import httpx
import pytest

import nsed
from nsed.web.app import make_app
from nsed.web.limits import Limits
from nsed.web.served_models import ServedModel
from web.conftest import running

HEAD = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
BODY = b"POST /api/transduce HTTP/1.1\r\nHost: localhost\r\nContent-Length: 200000\r\n\r\n{"
HURRIED = Limits(head_timeout=0.4, body_timeout=0.4, connections=5)


@pytest.fixture(scope="module")
def hurried():
    """The port of a server that waits for nobody, and takes five connections."""
    model = ServedModel("spelling", nsed.LearnableEditDistance.fit([("colour", "color")]))
    with running(make_app([model], HURRIED), HURRIED) as address:
        yield int(address.rpartition(":")[2])


def sending(port, data):
    """A connection on which this was sent, and no more."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=10)
    connection.sendall(data)
    return connection


def received(connection):
    """Whatever comes until the server closes."""
    with connection:
        return b"".join(iter(lambda: connection.recv(2**16), b""))


@pytest.mark.parametrize(("data", "code"), [(HEAD, "slow_head"), (BODY, "slow_body")], ids=["head", "body"])
def test_requests_that_never_end_are_given_up(hurried, data, code):
    answer = received(sending(hurried, data))
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == code


def test_a_byte_now_and_then_moves_no_deadline(hurried):
    begin = time.monotonic()
    with sending(hurried, HEAD) as connection, suppress(BrokenPipeError, ConnectionResetError):
        while time.monotonic() < begin + 8:
            connection.sendall(b"a")
            time.sleep(0.1)
    assert time.monotonic() - begin < 5


def test_a_connection_without_a_request_is_closed_without_an_answer(hurried):
    assert received(sending(hurried, b"")) == b""


def test_beyond_the_limit_the_slowest_makes_room(hurried):
    with ExitStack() as held:
        for _ in range(20):
            held.enter_context(sending(hurried, HEAD))
        assert healthy(hurried) < 0.4  # before any of them is too late


def test_where_all_work_more_are_told_to_come_again():
    at_work, done = Semaphore(0), Event()

    async def slow_work(scope, receive, send):
        if scope["type"] == "http":
            at_work.release()
            while not done.is_set():
                await asyncio.sleep(0.01)
            await send({"type": "http.response.start", "status": 204})
            await send({"type": "http.response.body"})

    with running(slow_work, Limits(connections=3)) as address:
        port = int(address.rpartition(":")[2])
        asked = [sending(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n") for _ in range(3)]
        assert all(at_work.acquire(timeout=60) for _ in asked)
        assert received(sending(port, b"")).startswith(b"HTTP/1.1 503 ")
        done.set()
        assert [received(one).split()[1] for one in asked] == [b"204"] * 3


def healthy(port):
    """The seconds until the server says that it is well."""
    begin = time.monotonic()
    answer = received(sending(port, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
    assert answer.startswith(b"HTTP/1.1 200 OK")
    return time.monotonic() - begin


FILES, CLIENTS = 256, 50
"""Open files that the server may have, connections among them, which is what some systems allow; clients of a flood."""


@contextmanager
def serving():
    """The process and the port of `nsed serve`."""
    few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))  # noqa: E731
    command = [sys.executable, "-m", "nsed", "serve", "g2p-en", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=few) as process:  # noqa: PLW1509
        try:
            yield process, int(re.search(r":(\d+)/", process.stderr.readline())[1])
        finally:
            process.kill()


@pytest.mark.slow
def test_600_slow_connections_do_not_lock_the_server_and_it_stops():
    with serving() as (process, port), ExitStack() as held:
        for row in range(600):
            held.enter_context(sending(port, (HEAD, BODY)[row % 2]))
        assert max(healthy(port) for _ in range(3)) < 1
        process.send_signal(signal.SIGINT)  # Ctrl-C
        assert process.wait(10) == 128 + signal.SIGINT
        said = process.stderr.read()  # of a burst, asyncio says that some had to wait until files were free
        assert "Traceback" not in said or "Too many open files" in said


def memory(process):
    """Megabytes in use, as Linux tells."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024


def flood(port, body):
    """Send a request from many clients, all in the middle of it at the same time; the statuses of the answers."""
    lines = ["POST /api/transduce HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Connection: close"]
    head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "", ""]).encode()
    with ExitStack() as held:
        connections = [held.enter_context(sending(port, head + body[:-1])) for _ in range(CLIENTS)]
        for connection in connections:
            connection.sendall(body[-1:])
        return {received(connection).split()[1] for connection in connections}


@pytest.mark.slow
def test_memory_after_a_flood_of_large_bodies_is_what_it_was_before():
    many_sources, many_keys = [f"word {row}" for row in range(18_000)], {f"key {key}": {} for key in range(12_000)}
    with serving() as (process, port):
        httpx.post(f"http://127.0.0.1:{port}/api/transduce", json={"model": "g2p-en", "sources": ["read"]}, timeout=60)
        before = memory(process)
        for body in ({"model": "g2p-en", "sources": many_sources}, many_keys):
            assert flood(port, json.dumps(body).encode()) == {b"422"}
        until = time.monotonic() + 15
        while memory(process) > 1.05 * before and time.monotonic() < until:
            time.sleep(0.5)
        assert memory(process) < 1.05 * before
