"""What a server tells of itself: metrics, log lines, ids; and what it never tells, the strings of its users."""

import json
import logging
import re
from contextlib import contextmanager
from copy import copy

import httpx
import pytest

import nsed
from nsed.web.app import make_app
from nsed.web.limits import Limits
from nsed.web.served_models import ServedModel
from nsed.web.telemetry import BUCKETS, ROUTES, LogLines, Metrics, make_board, resident_memory, route_of
from web.conftest import running

pytestmark = pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
SECRET = "geheimnis"
PAIRS = {"model": "spelling", "pairs": [{"source": SECRET, "target": "color"}, {"source": "grey", "target": "gray"}]}


def failing(pairs):
    """Fails with what it was asked, as models may."""
    raise ValueError(f"cannot align {list(pairs)}")


@pytest.fixture(scope="module")
def distance():
    return nsed.LearnableEditDistance.fit([("colour", "color"), ("grey", "gray")] * 4)


@pytest.fixture
def client(distance):
    broken = copy(distance)
    broken.align_all = failing
    with asking(make_app([ServedModel("spelling", distance), ServedModel("broken", broken)])) as client:
        yield client


@contextmanager
def asking(app):
    with running(app) as address, httpx.Client(base_url=address) as client:
        yield client


def samples(text):
    """Values of Prometheus' text format, every line of which must have its form."""
    found, kinds = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE"):
            _, _, name, kind = line.split()
            kinds[name] = kind
        elif not line.startswith("# HELP"):
            name, labels, value = re.fullmatch(r"(\w+)(\{.*\})? ([0-9.e+-]+)", line).groups()
            assert re.sub(r"_(bucket|sum|count)$", "", name) in kinds or name in kinds
            found[name + (labels or "")] = float(value)
    return found


def test_metrics_count_requests_strings_and_latency(client):
    for _ in range(3):
        assert client.post("/api/align", json=PAIRS).status_code == 200
    client.post("/api/align", json={"model": "nothing", "pairs": []})
    client.get(f"/{SECRET}")
    text = client.get("/metrics").text
    found = samples(text)
    assert SECRET not in text
    assert found['nsed_requests_total{route="/api/align",status="200"}'] == 3
    assert found['nsed_requests_total{route="/api/align",status="422"}'] == 1
    assert found['nsed_requests_total{route="other",status="404"}'] == 1
    assert found['nsed_strings_answered_total{route="/api/align"}'] == 6
    counts = [
        value for name, value in found.items() if name.startswith('nsed_request_seconds_bucket{route="/api/align"')
    ]
    assert len(counts) == len(BUCKETS)
    assert counts == sorted(counts)
    assert counts[-1] == found['nsed_request_seconds_count{route="/api/align"}'] == 4
    assert found["nsed_requests_in_flight"] == found["nsed_workers_ready"] == 1
    assert found['nsed_model_loaded{model="spelling",kind="LearnableEditDistance"}'] == 1
    assert found['process_resident_memory_bytes{worker="0"}'] > 2**20


def test_metrics_are_sums_over_processes_and_survive_one_of_them():
    board = make_board(2)
    first, second = Metrics(board, 0), Metrics(board, 1)
    first.count("/api/match", 200, seconds=0.02, strings=5)
    with second.in_flight():
        second.count("/api/match", 200, seconds=0.2, strings=7)
        Metrics(board, 1).count("/api/match", 599)  # after the second died in the middle of a request
        found = samples(first.to_text())
    assert found['nsed_requests_total{route="/api/match",status="200"}'] == 2
    assert found['nsed_requests_total{route="/api/match",status="other"}'] == 1
    assert found['nsed_strings_answered_total{route="/api/match"}'] == 12
    assert found["nsed_requests_in_flight"] == 0
    assert found['nsed_worker_starts_total{worker="1"}'] == 2


def test_every_route_of_the_application_is_counted_under_its_own_name(client):
    assert set(client.get("/openapi.json").json()["paths"]) <= set(ROUTES)
    assert route_of("/static/page.js") == "/static/{name}"
    assert route_of("/api/align/../../etc") == "other"


def test_labels_are_escaped(distance):
    text = Metrics().to_text([ServedModel('a"b\\c\nd', distance)])
    assert r'nsed_model_loaded{model="a\"b\\c\nd",kind="LearnableEditDistance"} 1' in text.splitlines()


def test_memory_of_a_process_that_is_gone():
    assert resident_memory(2**22 + 1) is None


def test_log_has_a_line_per_request_without_what_was_sent(client, caplog):
    caplog.set_level(logging.INFO, logger="nsed.web")
    response = client.post("/api/align", json=PAIRS)
    client.get(f"/{SECRET}", headers={"X-Request-Id": SECRET})
    client.request(SECRET.upper(), "/healthz")
    client.get("/healthz")  # which orchestrators do all the time
    lines = [json.loads(LogLines("json").format(record)) for record in caplog.records if record.name == "nsed.web"]
    assert [(one["method"], one["route"], one["status"]) for one in lines] == [
        ("POST", "/api/align", 200),
        ("GET", "other", 404),
        ("other", "/healthz", 405),
    ]
    assert (lines[0]["model"], lines[0]["strings"], lines[0]["id"]) == ("spelling", 2, response.headers["X-Request-Id"])
    assert 0 < lines[0]["ms"] < 60_000
    assert SECRET not in json.dumps(lines).lower()
    text = LogLines("text").format(caplog.records[-1])
    assert re.fullmatch(r"\S+ info request id=\w+ worker=0 method=other route=/healthz status=405 ms=[0-9.]+", text)


def test_an_id_of_a_proxy_is_kept(client):
    given = "6f1c0d8e-53a1-4f6b-9d2a-0a7d5f0e9c11"
    assert client.get("/healthz", headers={"X-Request-Id": given}).headers["X-Request-Id"] == given


def test_failures_are_logged_by_type_and_place_and_answered(client, caplog):
    response = client.post("/api/align", json={**PAIRS, "model": "broken"})
    assert (response.status_code, response.json()["error"]["code"]) == (500, "internal")
    (failure,) = [record for record in caplog.records if record.msg == "failure"]
    line = json.loads(LogLines("json").format(failure))
    assert (line["level"], line["exception"], line["route"]) == ("error", "ValueError", "/api/align")
    assert line["id"] == response.headers["X-Request-Id"]
    assert line["where"][-1].startswith("web/test_telemetry.py:")
    assert SECRET not in json.dumps(line)
    assert samples(client.get("/metrics").text)['nsed_requests_total{route="/api/align",status="500"}'] == 1


@pytest.mark.parametrize(
    ("message", "arguments", "told"),
    [
        ("Cancel %s running task(s)", (3,), "Cancel 3 running task(s)"),
        ("Bad value %s", (SECRET,), "Bad value %s"),
        (f"Task exception was never retrieved\n{SECRET}", (), "Task exception was never retrieved"),
    ],
)
def test_other_loggers_tell_what_is_fixed_in_their_messages(message, arguments, told):
    record = logging.LogRecord("asyncio", logging.ERROR, "", 0, message, arguments, None)
    line = json.loads(LogLines("json").format(record))
    assert (line["logger"], line["message"]) == ("asyncio", told)


def test_readiness_is_no_longer_given_where_too_much_waits(distance):
    app = make_app([ServedModel("spelling", distance)], Limits(waiting=0))
    with asking(app) as client:
        assert client.get("/healthz").status_code == 200
        response = client.get("/readyz")
    assert (response.status_code, response.json()["error"]["code"]) == (503, "busy")
    assert response.headers["Retry-After"] == "2"


def test_readiness(client):
    assert client.get("/readyz").json() == {"status": "ok", "version": nsed.__version__, "waiting": 0}
