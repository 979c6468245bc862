"""API keys: who has one is answered, who has none is told what to send, and the page asks for it."""

import httpx
import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app as command
from nsed.errors import ArgumentError
from nsed.web.app import make_app
from nsed.web.limits import ApiKeys
from nsed.web.served_models import ServedModel
from web.conftest import running

KEY, NEXT = "0123456789-abcdef", "next-0123456789-abcdef"


@pytest.fixture(scope="module")
def client():
    model = ServedModel("spelling", nsed.LearnableEditDistance.fit([("colour", "color")]))
    with running(make_app([model], keys=ApiKeys([KEY, NEXT]))) as address, httpx.Client(base_url=address) as client:
        yield client


@pytest.mark.parametrize(
    "headers",
    [{"Authorization": f"Bearer {KEY}"}, {"Authorization": f"bearer  {NEXT}"}, {"X-Api-Key": NEXT}],
    ids=["bearer", "lower case", "header of its own"],
)
@pytest.mark.parametrize("path", ["/api/models", "/metrics", "/openapi.json"])
def test_with_any_of_the_keys_one_is_answered(client, path, headers):
    assert client.get(path, headers=headers).status_code == 200


@pytest.mark.parametrize(
    ("headers", "told"),
    [
        ({}, "this server wants an API key: send Authorization: Bearer KEY, or X-Api-Key: KEY"),
        ({"Authorization": f"Basic {KEY}"}, "this server wants an API key"),
        ({"Authorization": "Bearer"}, "this server wants an API key"),
        ({"X-Api-Key": KEY[:-1]}, "the API key is none of this server"),
        ({"X-Api-Key": f"{KEY}0"}, "the API key is none of this server"),
        ({"Authorization": "Bearer wrong", "X-Api-Key": KEY}, "the API key is none of this server"),
        ({b"X-Api-Key": b"\xff\xfe"}, "the API key is none of this server"),
    ],
)
@pytest.mark.parametrize(
    "path", ["/api/models", "/api/transduce", "/metrics", "/openapi.json", "/nowhere", "//api/models"]
)
def test_without_a_key_nothing_is_told(client, path, headers, told):
    response = client.get(path, headers=headers)
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="nsed"'
    assert response.json()["error"]["code"] == "no_key"
    assert response.json()["error"]["message"].startswith(told)


@pytest.mark.parametrize("path", ["/", "/static/page.js", "/healthz", "/readyz"])
def test_the_page_that_asks_for_a_key_and_probes_need_none(client, path):
    assert client.get(path).status_code == 200


def test_the_description_says_that_a_key_is_needed(client):
    description = client.get("/openapi.json", headers={"X-Api-Key": KEY}).json()
    assert description["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}


def test_keys_of_a_file_and_of_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "keys"
    path.write_text(f"# old\n{KEY}\n\n  {NEXT}  \n", encoding="utf-8")
    monkeypatch.setenv("NSED_API_KEY", "0123456789-of-the-environment")
    for key in (KEY, NEXT):
        ApiKeys.given(path).check({"x-api-key": key})
    ApiKeys.given(None).check({"x-api-key": "0123456789-of-the-environment"})
    monkeypatch.delenv("NSED_API_KEY")
    assert ApiKeys.given(None) is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "keys: No such file or directory, expected a file with a key per line"),
        (b"", "got a key of 0 characters, expected at least 16 characters of ASCII without spaces"),
        (b"short\n", "got a key of 5 characters"),
        ("ключ-".encode() * 5, "got a key of 25 characters"),
        (b"\xff\xfe", "no UTF-8"),
    ],
)
def test_keys_that_are_none_are_told_before_anything_is_served(tmp_path, content, told):
    if content is not None:
        (tmp_path / "keys").write_bytes(content)
    result = CliRunner().invoke(command, ["serve", "g2p-en", "--api-key-file", str(tmp_path / "keys")])
    assert isinstance(result.exception, ArgumentError)
    assert told in str(result.exception)
    assert "--api-key-file" in str(result.exception)


def test_an_empty_key_of_the_environment_is_no_open_door(monkeypatch):
    monkeypatch.setenv("NSED_API_KEY", "")
    with pytest.raises(ArgumentError, match="NSED_API_KEY: got a key of 0 characters"):
        ApiKeys.given(None)
