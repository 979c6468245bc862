"""Mixed load, bad requests and clients that go away included: seconds of what `benchmarks.soak` does for an hour."""

import asyncio
import logging
import os

import pytest
from benchmarks.soak import Load, Requests, is_clean, quarters, report, send_requests

from nsed.web.telemetry import LogLines

pytestmark = [
    pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning"),
    pytest.mark.filterwarnings("ignore::nsed.errors.CutOutputWarning"),
]
MODELS = ("g2p-en", "rule-matcher")


@pytest.mark.slow
def test_a_short_soak_without_errors_and_with_a_clean_log(address, client, caplog):
    caplog.set_level(logging.INFO, logger="nsed.web")
    host, port = address.removeprefix("http://").split(":")
    requests = Requests(transducer=MODELS[0], matcher=MODELS[1])
    load = asyncio.run(send_requests((host, int(port)), requests, [os.getpid()], seconds=4, rate=12))
    assert load.faults == []
    assert set(load.asked) >= {"transduce", "match", "explain", "bad", "gone"}
    client.get("/healthz")
    lines = [
        LogLines("json").format(record) for record in caplog.records if record.name.startswith(("nsed", "uvicorn"))
    ]
    assert [line for line in lines if not is_clean(line, MODELS)] == []
    assert len(lines) > 20


@pytest.mark.parametrize(("last", "flat"), [(100, True), (101, True), (103, False), (97, False)])
def test_memory_is_flat_where_the_last_quarter_is_within_2_percent_of_the_second(last, flat):
    sizes = [150] * 25 + [100] * 50 + [last] * 25
    memory = [(float(second), size * 2**20) for second, size in enumerate(sizes)]
    assert quarters(memory) == [150, 100, 100, last]

    class Log:
        lines, bad = 0, ()

    found = report(Load(memory=memory, resident=memory), Log, seconds=100, rate=1, workers=1)["memory_mb"]
    assert (found["flat"], found["growth_percent"]) == (flat, last - 100)


def test_lines_with_what_was_sent_are_not_clean():
    assert is_clean('{"event": "request", "route": "/api/match", "model": "g2p-en"}', MODELS)
    for line in ("no JSON", '{"route": "/geheimnis"}', '{"route": "/", "source": "a"}', '{"route": "/", "model": "b"}'):
        assert not is_clean(line, MODELS)
