"""The JSON API, through a real server."""

from math import exp

import pytest

import nsed
from nsed.explain.rules import rules
from nsed.web.app import make_app

pytestmark = [
    pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning"),
    pytest.mark.filterwarnings("ignore::nsed.errors.CutOutputWarning"),
]
LONG_PAIR = {"source": "a" * 300, "target": "a" * 300}


def test_targets_are_those_of_the_model_in_the_order_asked(ask):
    words = ["flagships", "thought", "colonel"]
    results = ask("transduce", model="g2p-en", sources=words, nbest=2)["results"]
    assert [one["source"] for one in results] == words
    expected = nsed.load("g2p-en").transduce(words, nbest=2)
    shown = [[answer["target"] for answer in one["answers"]] for one in results]
    assert shown == [[one.text for one in best] for best in expected]
    best = results[0]["answers"][0]
    assert best["log_prob"] == pytest.approx(expected[0][0].log_prob, abs=1e-4)
    assert best["probability"] == pytest.approx(exp(best["log_prob"]))
    assert best["script"] is None


def test_scripts_come_on_demand(ask):
    (result,) = ask("transduce", model="g2p-en", sources=["cat"], scripts=True)["results"]
    assert result["answers"][0]["script"]["text"] == "c→K a→AE t→T"
    assert result["answers"][0]["script"]["edits"][0]["kind"] == "substitute"


def test_overrides_answer_under_their_old_names_too_until_2_0(ask, client):
    (result,) = ask("transduce", model="g2p-en", sources=["nsed"], nbest=2)["results"]
    assert [(one["override"], one["exception"]) for one in result["answers"]] == [(True, True), (False, False)]
    assert ask("explain", model="g2p-en", source="read")["exception"]
    assert client.get("/api/models").json()["exceptions"] == 3
    overrides = nsed.Overrides(nsed.Pairs.of([("nsed", "EH N Z EH D")]))
    with pytest.warns(DeprecationWarning, match=r"is now make_app\(overrides=\.\.\.\); the old name goes with 2\.0"):
        make_app([], exceptions=overrides)


def test_overrides_come_first_and_are_marked(ask):
    (result,) = ask("transduce", model="g2p-en", sources=["nsed"], nbest=2)["results"]
    first, second = result["answers"]
    assert (first["target"], first["override"]) == ("EH N Z EH D", True)
    assert not second["override"]
    explained = ask("explain", model="g2p-en", source="read")
    assert (explained["target"], explained["override"]) == ("R IY D", True)
    assert not ask("explain", model="g2p-en", source="thought")["override"]


def test_a_source_may_be_asked_twice_in_two_ways(ask):
    results = ask("transduce", model="g2p-en", sources=["nsed", "NSED", "nsed"])["results"]
    assert [one["answers"][0]["override"] for one in results] == [True] * 3


def test_symbols_that_the_model_never_saw_are_named(ask):
    (result,) = ask("transduce", model="g2p-en", sources=["c☃t"])["results"]
    assert result["unknown"] == ["☃"]


def test_decisions_are_those_of_the_matcher(ask, matcher):
    pairs = [("ABAC", "bac"), ("AB", "cacb")]
    results = ask("match", model="rule-matcher", pairs=as_objects(pairs))["results"]
    assert [one["match"] for one in results] == matcher.match(pairs).tolist()
    assert [one["probability"] for one in results] == pytest.approx(matcher.probability(pairs), abs=1e-5)


def test_alignments(ask):
    (result,) = ask("align", model="spelling", pairs=as_objects([("colour", "color")]))["results"]
    assert result["script"]["text"] == "c o l o -u r"


def test_explanations_have_tables_html_and_pictures(ask):
    asked = {"source": "read", "target": "R IY D", "html": True, "pictures": ["lattice", "alpha"]}
    answer = ask("explain", model="g2p-en", **asked)
    assert len(answer["explanation"]["log_alpha"]) == 5
    assert answer["html"].startswith("<section")
    assert "style=" not in answer["html"]  # the page's policy forbids them
    assert set(answer["pictures"]) == {"lattice", "alpha"}
    assert answer["pictures"]["lattice"].startswith("<svg")


def test_a_matcher_explains_its_decision(ask):
    answer = ask("explain", model="rule-matcher", source="AB", target="b")
    assert set(answer["explanation"]["decision"]) >= {"match", "probability", "threshold"}


def test_rules_of_given_pairs_and_of_known_ones(ask):
    pairs = [("cat", "K AE T"), ("cut", "K AH T")]
    answer = ask("rules", model="g2p-en", pairs=as_objects(pairs), top=3)
    expected = rules(nsed.load("g2p-en"), pairs).ranked(top=3)
    assert [one["rule"] for one in answer["rules"]] == list(map(str, expected))
    assert ask("rules", model="spelling")["pairs"] == 2
    error = ask("rules", model="g2p-en", status=422)["error"]
    assert error["code"] == "not_explainable"
    assert "--rules-data" in error["message"]


def test_models_say_what_they_can_do(client):
    answer = client.get("/api/models").json()
    able = {one["name"]: one["abilities"] for one in answer["models"]}
    assert able["g2p-en"] == ["transduce", "align", "explain", "rules"]
    assert able["rule-matcher"] == ["match", "align", "explain", "rules"]
    assert answer["limits"]["length"] == 300
    assert answer["overrides"] == 3


def test_health(client):
    answer = client.get("/healthz").json()
    assert answer == {"status": "ok", "version": nsed.__version__, "waiting": 0}


def test_openapi_names_every_address_model_and_limit(client):
    description = client.get("/openapi.json").json()
    paths, records = description["paths"], description["components"]["schemas"]
    asked = records["TransduceRequest"]["properties"]
    assert asked["model"]["enum"] == ["g2p-en", "translit-ar-en", "rule-matcher", "spelling"]
    assert (asked["sources"]["maxItems"], asked["sources"]["items"]["maxLength"]) == (100, 300)
    verbs = ("transduce", "match", "align", "explain", "rules", "models")
    assert set(paths) == {*(f"/api/{verb}" for verb in verbs), "/healthz", "/readyz", "/metrics"}
    assert client.get("/docs").status_code == 404  # it would load scripts from elsewhere


@pytest.mark.parametrize(
    ("verb", "body", "code", "field"),
    [
        ("transduce", {"model": "g2p-em", "sources": ["a"]}, "invalid", "model"),
        ("transduce", {"model": "spelling", "sources": ["a"]}, "invalid", "model"),
        ("transduce", {"model": "g2p-en", "sources": []}, "empty", "sources"),
        ("transduce", {"model": "g2p-en", "sources": ["a"] * 101}, "too_many", "sources"),
        ("transduce", {"model": "g2p-en", "sources": ["a"], "nbest": 21}, "too_large", "nbest"),
        ("transduce", {"model": "g2p-en", "sources": ["a"], "beam": 0}, "invalid", "beam"),
        ("transduce", {"model": "g2p-en", "sources": "cat"}, "invalid", "sources"),
        ("transduce", {"model": "g2p-en", "sources": ["a"], "n_best": 2}, "invalid", "n_best"),
        ("match", {"model": "rule-matcher", "pairs": [{"source": "A"}]}, "invalid", "pairs.0.target"),
        (
            "align",
            {"model": "spelling", "pairs": [LONG_PAIR] * 12},
            "too_large",
            "pairs",
        ),
        ("explain", {"model": "g2p-en", "source": "a" * 41}, "too_long", "source"),
        ("explain", {"model": "spelling", "source": "a"}, "invalid", "model"),
        ("explain", {"model": "g2p-en", "source": "a", "pictures": ["fractal"]}, "invalid", "pictures.0"),
    ],
)
def test_what_is_wrong_is_said_with_its_field(ask, verb, body, code, field):
    error = ask(verb, status=422, **body)["error"]
    assert (error["code"], error["field"]) == (code, field)
    assert error["message"]


@pytest.mark.parametrize(
    ("verb", "body", "message"),
    [
        ("transduce", {"sources": "cat"}, 'sources: got "cat", expected a list'),
        ("transduce", {"sources": [3]}, "sources.0: got 3, expected a string"),
        ("transduce", {"sources": ["a"], "beam": 0}, "beam: got 0, expected a number of at least 1"),
        ("transduce", {"sources": ["a"], "nbest": 1.5}, "nbest: got 1.5, expected a whole number"),
        ("transduce", {"sources": ["a"], "scripts": "maybe"}, 'scripts: got "maybe", expected true or false'),
        ("transduce", {"nbest": 2}, "sources: got nothing, expected a value: the field is required"),
        (
            "transduce",
            {"sources": ["a"], "n_best": 2},
            "n_best: got a field that there is not, expected one of: model, sources, nbest, beam, scripts. "
            "Did you mean 'nbest'?",
        ),
        ("match", {"pairs": [{"source": "A"}]}, "pairs.0.target: got nothing, expected a value: the field is required"),
        ("match", {"pairs": ["A"]}, 'pairs.0: got "A", expected an object with the fields that the address takes'),
        ("explain", {"source": "a", "pictures": ["x"]}, "pictures.0: got \"x\", expected 'alpha', 'posteriors', 'latt"),
        ("explain", {"source": "a", "pictures": ["alpha"] * 5}, "pictures: got a list of 5, expected at most 4 items"),
        ("rules", {"top": 10**6}, "top: got 1000000, expected a number of at most 1000"),
    ],
)
def test_faults_of_a_request_are_not_told_in_the_words_of_pydantic(ask, verb, body, message):
    told = ask(verb, status=422, model="g2p-en", **body)["error"]["message"]
    assert told.startswith(message)
    assert "nput should" not in told


def test_a_name_that_is_nearly_right_is_suggested(ask):
    assert "Did you mean 'g2p-en'?" in ask("transduce", model="g2p-em", sources=["a"], status=422)["error"]["message"]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/api", 404), ("PUT", "/healthz", 405)])
def test_other_addresses_are_refused_in_the_same_form(client, method, path, status):
    response = client.request(method, path)
    assert response.status_code == status
    assert set(response.json()["error"]) == {"code", "message", "field"}


def as_objects(pairs):
    return [{"source": source, "target": target} for source, target in pairs]
