"""The page of nsed label: questions, answers that are kept, an old page's answer, and who may ask."""

import httpx
import pytest

import nsed
from nsed.jobs import LabelSession, unsupervised
from nsed.web.label_page import label_app
from nsed.web.limits import Limits
from web.conftest import running

PAIRS = [(a + b, a + c) for a in ("gra", "blo", "stu") for b in "xyz" for c in "xyz"]


@pytest.fixture
def session(tmp_path):
    return LabelSession(PAIRS, tmp_path / "answers.tsv", every=1000, assign="all")


@pytest.fixture
def address(session, tmp_path):
    with running(label_app(session, tmp_path / "model", Limits(), budget=6)) as address:
        yield address


def test_answers_are_kept_and_taken_back(address, session):
    state = httpx.get(f"{address}/api/question").json()
    first = state["question"]
    state = httpx.post(f"{address}/api/answer", json={"row": first["row"], "answer": "yes"}).json()
    assert (state["answers"], state["matches"]) == (1, 1)
    assert session.answers[0][:3] == (first["source"], first["target"], True)
    late = httpx.post(f"{address}/api/answer", json={"row": first["row"], "answer": "no"})
    assert late.status_code == 409
    assert "another question" in late.json()["error"]["message"]
    state = httpx.post(f"{address}/api/answer", json={"row": 0, "answer": "undo"}).json()
    assert (state["answers"], state["question"]) == (0, first)
    state = httpx.post(f"{address}/api/answer", json={"row": first["row"], "answer": "skip"}).json()
    assert state["question"] != first


def test_questions_end_with_the_budget_and_one_kind_of_answers_is_no_model(address):
    for _ in range(6):
        row = httpx.get(f"{address}/api/question").json()["question"]["row"]
        state = httpx.post(f"{address}/api/answer", json={"row": row, "answer": "no"}).json()
    assert state["question"] is None
    refused = httpx.post(f"{address}/api/finish")
    assert refused.status_code == 422
    assert "all the same" in refused.json()["error"]["message"]


def test_page_is_there_and_strangers_are_refused(address):
    page = httpx.get(address)
    assert "Do these match?" in page.text
    assert "default-src 'self'" in page.headers["content-security-policy"]
    assert httpx.get(f"{address}/static/label.js").status_code == 200
    assert httpx.get(f"{address}/api/question", headers={"host": "evil.example"}).status_code == 421
    given = {"row": 0, "answer": "yes"}
    elsewhere = httpx.post(f"{address}/api/answer", json=given, headers={"origin": "http://evil.example"})
    assert elsewhere.status_code == 403
    assert httpx.post(f"{address}/api/answer", json={"row": 0, "answer": "maybe"}).status_code == 422
    assert httpx.post(f"{address}/api/answer", content=b"x" * 10**8).status_code == 413


def test_matcher_is_written_once(address, tmp_path, monkeypatch):
    monkeypatch.setattr(unsupervised, "FINAL", {"train__steps": 5})
    monkeypatch.setattr(unsupervised, "QUICK", {"train__steps": 5})
    for _ in range(6):
        asked = httpx.get(f"{address}/api/question").json()["question"]
        given = "yes" if asked["source"] == asked["target"] else "no"
        httpx.post(f"{address}/api/answer", json={"row": asked["row"], "answer": given})
    state = httpx.post(f"{address}/api/finish", timeout=120).json()
    assert state["model"] == str(tmp_path / "model")
    assert nsed.load(tmp_path / "model").threshold is not None
    assert httpx.post(f"{address}/api/finish").status_code == 409
