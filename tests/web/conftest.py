"""A real server on a free port, with small models that are quick to train."""

import threading
from contextlib import contextmanager

import httpx
import pytest

import nsed
from golden.answers import FOLDERS
from nsed.web.app import make_app
from nsed.web.limits import Limits
from nsed.web.served_models import ServedModel
from nsed.web.server import make_server


@contextmanager
def running(app, limits=None):
    """The address of an application while it runs."""
    server = make_server(app, limits or Limits())
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive(), "the server did not start"
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)


@pytest.fixture(scope="session")
def matcher():
    return nsed.load(FOLDERS / "matcher-similarity")


@pytest.fixture(scope="session")
def served(matcher):
    """What is served: two that write, one that decides, and one whose weights are rules."""
    distance = nsed.LearnableEditDistance.fit([("colour", "color"), ("honour", "honor"), ("grey", "gray")] * 4)
    examples = (("AABC", "abc"), ("BAC", "ca"))
    return [
        ServedModel.read("g2p-en"),
        ServedModel.read("translit-ar-en"),
        ServedModel("rule-matcher", matcher, "strings of the rule language", examples=examples),
        ServedModel("spelling", distance).with_rules(nsed.Pairs.of([("colour", "color"), ("grey", "gray")])),
    ]


@pytest.fixture(scope="session")
def overrides():
    return nsed.Overrides(nsed.Pairs.of([("nsed", "EH N Z EH D"), ("read", "R IY D"), ("read", "R EH D")]))


@pytest.fixture(scope="session")
def address(served, overrides):
    with running(make_app(served, Limits(length=300), overrides, hosts=["nsed.example"])) as address:
        yield address


@pytest.fixture
def client(address):
    with httpx.Client(base_url=address, timeout=60) as client:
        yield client


@pytest.fixture
def ask(client):
    """A question, and its answer, which has the status that was expected."""

    def ask(verb, *, status=200, **body):
        response = client.post(f"/api/{verb}", json=body)
        assert response.status_code == status, response.text
        return response.json()

    return ask
