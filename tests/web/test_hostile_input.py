"""Whatever is sent is escaped, or refused with a message; the server stays."""

import json
import socket
import sys

import pytest

from support.pages import Page

pytestmark = [
    pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning"),
    pytest.mark.filterwarnings("ignore::nsed.errors.CutOutputWarning"),
]
MARKUP = "<script>alert(1)</script>\"'&"
EMOJI, OVERRIDE, MARKS, CONTROLS = "👩‍👩‍👧‍👦🇦🇹", "\u202egnp.exe\u2066", "e" + "\u0301" * 9, "\x07\x1b[31m"
ODD = [MARKUP, EMOJI, OVERRIDE, MARKS, CONTROLS, "", " ", "\n\t", "\ufffe", "a" * 300]
REFUSED = ["a" * 10_000, "a\0b", "\ud800", "\udc00\ud800", "a" * 301]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("model", ["g2p-en", "translit-ar-en"])
def test_odd_strings_are_answered(ask, model, text):
    (result,) = ask("transduce", model=model, sources=[text], nbest=2, scripts=True)["results"]
    assert result["source"] == text


@pytest.mark.parametrize("text", REFUSED)
@pytest.mark.parametrize("verb", ["transduce", "match", "align", "explain", "rules"])
def test_what_is_no_text_or_too_long_is_refused(client, verb, text):
    model = "rule-matcher" if verb == "match" else "g2p-en"
    questions = {"transduce": {"sources": [text]}, "explain": {"source": text, "target": text}}
    body = {"model": model, **questions.get(verb, {"pairs": [{"source": text, "target": "a"}]})}
    response = client.post(f"/api/{verb}", content=json.dumps(body), headers={"Content-Type": "application/json"})
    assert response.status_code == 422
    assert response.json()["error"]["code"] in ("too_long", "no_text")
    assert len(response.text) < 500  # what was sent is not repeated


@pytest.mark.parametrize("text", [text for text in ODD if 0 < len(text) < 40])
def test_explanations_escape_what_they_draw(ask, text):
    answer = ask("explain", model="rule-matcher", source=text, target=text, html=True)
    page = Page(answer["html"])
    assert page.count("script") == 0
    assert "\u202e" not in answer["html"]
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"no JSON", 400),
        (b"\xff\xfe\x00", 400),
        (b'{"model": "g2p-en", "sources": ["a"]', 400),
        (b'{"\\ud800": 1, "model": "g2p-en", "sources": ["a"]}', 422),
        (b'{"model": "\\ud800", "sources": ["a"]}', 422),
        (b'{"model": "\\u0000", "sources": ["a"]}', 422),
        (b'{"model": NaN, "sources": [Infinity]}', 422),
        (b'{"model": "g2p-en", "sources": ["a"], "nbest": 1e400}', 422),
        (b'{"model": "g2p-en", "sources": ["a"], "beam": 99999999999999999999999999}', 422),
        (b"[" * 100_000, 400),
        (b'{"a":' * 40_000 + b"1" + b"}" * 40_000, 422 if sys.version_info >= (3, 14) else 400),  # it reads any depth
        (b'{"model": "g2p-en", "sources": ["a"], "nbest": ' + b"9" * 5000 + b"}", 400),
        (b'{"model": "g2p-en", "sources": ["a"], "nbest": NaN}', 422),
        (b'{"model": "g2p-en", "sources": ["a"], "nbest": -Infinity}', 422),
        (b'{"model": "g2p-en", "sources": ["a"], "nbest": 1e999999999}', 422),
        (b'{"model": "g2p-en", "sources": ["a"], "scripts": [[]]}', 422),
        (b'{"model": ["g2p-en"], "sources": {"a": 1}}', 422),
        (b'{"model": "g2p-en", "sources": [["a"], 1, null]}', 422),
        (b'{"model": "g2p-en", "sources": ["\xff\xfe"]}', 400),
        (b'{"model": "g2p-en", "sources": ["\xed\xa0\x80"]}', 422),
        (b"null", 422),
        (b"", 422),
        (b" " * 300_000, 413),
    ],
)
def test_bodies_that_are_none(client, body, status):
    response = client.post("/api/transduce", content=body, headers={"Content-Type": "application/json"})
    assert response.status_code == status, response.text
    assert response.json()["error"]["message"]


def test_a_large_body_in_pieces_is_refused_before_it_is_read(client):
    response = client.post("/api/transduce", content=(b" " * 1000 for _ in range(1000)))
    assert response.status_code == 413


@pytest.mark.parametrize("path", ["/static/%00", "/static/..%2fapp.py", "/static/../app.py", "/static/page.py"])
def test_files_of_the_server_are_not_reached(client, path):
    assert client.get(path).status_code == 404


def test_browsers_are_told_to_load_nothing_from_elsewhere(client):
    for path in ("/", "/api/models", "/nowhere"):
        headers = client.get(path).headers
        assert headers["Content-Security-Policy"].startswith("default-src 'self'; ")
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_the_page_needs_nothing_from_elsewhere(client):
    page = Page(client.get("/").text)
    attributes = [pair for _, given in page.elements for pair in given.items()]
    addresses = [value for name, value in attributes if name in ("src", "href")]
    assert len(addresses) >= 6
    for address in addresses:
        assert address.startswith(("/", "#"))
        if address.startswith("/"):
            assert client.get(address).status_code == 200
    assert page.count("style") == 0
    assert "style" not in dict(attributes)


def raw(address, request):
    """The status, and the error, of bytes that are sent as they are."""
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=20) as connection:
        connection.sendall(request)
        answer = b"".join(iter(lambda: connection.recv(2**16), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.JSONDecoder().raw_decode(body.decode())[0]["error"] if body else {}


FOREIGN = ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.nip.io", "", "[::2]", "a" * 5000]
OURS = ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8000", "localhost.", "nsed.example"]


@pytest.mark.parametrize("host", FOREIGN)
def test_any_host_header_is_refused_unless_it_names_this_server(client, host):
    response = client.get("/api/models", headers={"Host": host})
    assert (response.status_code, response.json()["error"]["code"]) == (421, "foreign_host")
    assert len(response.text) < 500


@pytest.mark.parametrize("host", OURS)
def test_hosts_that_name_this_server(client, host):
    assert client.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:3000", "http://[", "a" * 5000])
def test_pages_of_other_origins_may_not_ask(client, origin):
    response = client.post("/api/transduce", json={"model": "g2p-en", "sources": ["a"]}, headers={"Origin": origin})
    assert (response.status_code, response.json()["error"]["code"]) == (403, "foreign_origin")
    assert len(response.text) < 500


def test_its_own_page_and_those_of_allowed_hosts_may_ask(client, address):
    for origin in (address, "https://nsed.example", "http://nsed.example:8080"):
        assert client.get("/api/models", headers={"Origin": origin}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("transduce", {"model": "a" * 200_000, "sources": ["a"]}),
        ("transduce", {"model": "g2p-en", "sources": ["a"], "b" * 200_000: 1}),
        ("transduce", {"model": "g2p-en", "sources": ["a"], "nbest": int("9" * 4000)}),
        ("explain", {"model": "g2p-en", "source": "a", "pictures": ["c" * 200_000]}),
        ("rules", {"model": "g2p-en", "by": "d" * 200_000}),
        ("a" * 60_000, {}),
    ],
)
def test_errors_do_not_repeat_200000_characters_of_the_request(client, path, body):
    response = client.post(f"/api/{path}", json=body)
    assert response.status_code in (404, 422)
    assert 0 < len(response.json()["error"]["message"]) < 1200
    assert len(response.text) < 2500


@pytest.mark.parametrize("kind", ["text/plain", "application/octet-stream", "application/x-www-form-urlencoded", ""])
def test_a_body_that_is_not_called_json_is_refused_and_no_failure_of_the_server(client, kind):
    response = client.post("/api/match", content=b'{"model": \xff', headers={"Content-Type": kind})
    assert response.status_code == 422
    assert "send Content-Type: application/json" in response.json()["error"]["message"]


ASK = b"POST /api/transduce HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (ASK + b"\r\n", 422),  # no Content-Length: no body
        (ASK + b"Content-Length: -1\r\n\r\n", 400),
        (ASK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n", 400),
        (ASK + b"Content-Length: 99999999999\r\nExpect: 100-continue\r\n\r\n", 413),
        (ASK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", 400),
        (ASK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", 422),
        (ASK + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n{}", 400),
        (ASK + b"Transfer-Encoding: gzip\r\n\r\n", 400),
        (b"GET /nowhere HTTP/1.0\r\nHost: localhost\r\n\r\n", 404),
        (b"GET /healthz HTTP/1.0\r\n\r\n", 421),
        (b"GET /healthz HTTP/1.1\r\n\r\n", 400),
        (b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: %s\r\n" % (b"b" * 50) * 20_000 + b"\r\n", 431),
        (b"OPTIONS / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
        (b"HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 405),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 421),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 200 + b"\r\n\r\n", 400),  # HTTPS
        (b"GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", 404),
        (b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n", 400),
    ],
    ids=lambda value: (
        repr(value[len(ASK) if value.startswith(ASK) else 0 :][:30]) if isinstance(value, bytes) else None
    ),
)
def test_what_is_hardly_http_is_refused_in_the_form_of_all_errors(address, client, request_, status):
    got, error = raw(address, request_)
    assert got == status
    assert error.get("message") or request_.startswith(b"HEAD")
    assert client.get("/healthz").status_code == 200


def test_pipelined_requests_are_answered_in_turn(address):
    one = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=20) as connection:
        connection.sendall(one * 20 + one.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
        answer = b"".join(iter(lambda: connection.recv(2**16), b""))
    assert answer.count(b"HTTP/1.1 200 OK") == 21
