"""Whatever is sent is escaped, or refused with a message; the server stays."""

import json

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
