"""The server's application, asked without a socket: any method, address, headers and body."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import nsed
from fuzz.model_folders import GOLDEN
from fuzz.targets import Execute
from nsed.web.app import HEADERS, make_app
from nsed.web.limits import Limits
from nsed.web.served_models import ServedModel

LIMITS = Limits(items=4, length=24, cells=400, explained=8, nbest=3, beam=3, body=3000)
"""Less than usual, so that what is accepted takes little time."""
VERBS = ("transduce", "match", "align", "explain", "rules")


def web_api(folder: Path) -> Execute:
    """Requests: a byte for the address, the rest is the body, or for the last ones the path and headers too."""
    served = [
        ServedModel("exact", nsed.load(GOLDEN / "transducer-exact"), "writes"),
        ServedModel("matcher", nsed.load(GOLDEN / "matcher-unigram"), "decides", examples=(("AABC", "abc"),)),
        ServedModel.read(GOLDEN / "edit-distance"),
    ]
    for one in served:
        one.warm_up()
    settled = nsed.Overrides(nsed.Pairs.of([("A", "a"), ("B", "b"), ("B", "")]))
    app, loop = make_app(served, LIMITS, settled), asyncio.new_event_loop()

    def execute(content: bytes) -> None:
        head, body = content[:1] or b"\0", content[1:]
        if head[0] % 8 < len(VERBS):
            scope = _scope("POST", f"/api/{VERBS[head[0] % 8]}", [(b"content-type", b"application/json")])
        else:
            line, _, body = body.partition(b"\n")
            scope = _scope(*_request_line(line))
        loop.run_until_complete(_ask(app, scope, body))

    return execute


def _request_line(line: bytes) -> tuple[str, str, list[tuple[bytes, bytes]]]:
    """Method, path and headers of a line, `GET /path|name: value|...`, of the characters that servers let through."""
    first, *others = line.split(b"|")
    method, _, path = re.sub(rb"[^!-~ ]", b"", first).decode("ascii").partition(" ")
    parts = [re.sub(rb"[\0-\x1f\x7f]", b"", other).partition(b":") for other in others]
    headers = [(re.sub(rb"[^!#$%&'*+.^_`|~0-9a-zA-Z-]", b"", name).lower(), value.strip()) for name, _, value in parts]
    return method.upper() or "GET", path.replace(" ", "") or "/", headers


def _scope(method: str, path: str, headers: list[tuple[bytes, bytes]]) -> dict[str, Any]:
    there, _, query = path.partition("?")
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": unquote(there),
        "raw_path": there.encode("ascii"),
        "query_string": query.encode("ascii"),
        "root_path": "",
        "headers": [(b"host", b"localhost"), *headers],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
    }


async def _ask(app: Any, scope: dict[str, Any], body: bytes) -> None:
    """Ask, and check the answer: no failure of the server, JSON as the standard has it, errors that say something."""
    sent: list[dict[str, Any]] = []
    parts = [body[: len(body) // 2], body[len(body) // 2 :]]

    async def receive() -> dict[str, Any]:
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, answer = sent[0], b"".join(message.get("body", b"") for message in sent[1:])
    headers = {name.lower(): value for name, value in start["headers"]}
    assert start["status"] < 500, answer[:500]
    assert all(name.lower().encode() in headers for name in HEADERS), headers
    if headers.get(b"content-type") == b"application/json" and scope["method"] != "HEAD":
        told = json.loads(answer, parse_constant=_no_json)
        if start["status"] >= 400:
            assert told["error"]["code"], told
            assert 0 < len(told["error"]["message"]) <= 1200, told


def _no_json(name: str) -> None:
    raise AssertionError(f"{name} is no JSON")
