"""What the server does, without the web."""

import pytest

import nsed
from nsed.baselines.majority import Majority
from nsed.errors import NotExplainableError
from nsed.web import service
from nsed.web.limits import Limits
from nsed.web.schemas import ExplainRequest
from nsed.web.served_models import NO_OVERRIDES, Gallery, ServedModel

pytestmark = pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")


def excepted(*pairs):
    return nsed.Overrides(nsed.Pairs.of(pairs))


@pytest.fixture(scope="module")
def g2p():
    return ServedModel.read("g2p-en")


def test_an_exception_that_the_model_cannot_write_has_no_probability(g2p):
    (found,) = service.transduce(g2p, ["cat"], excepted(("cat", "MEOW")), nbest=2, scripts=True)
    first, second = found.answers
    assert (first.target, first.log_prob, first.probability, first.script) == ("MEOW", None, 0.0, None)
    assert second.script.text == "c→K a→AE t→T"


def test_what_a_model_cannot_write_it_cannot_explain():
    config = nsed.EditDistanceConfig(smoothing=0.0)
    strict = ServedModel(
        "strict", nsed.LearnableEditDistance.fit([("colour", "color"), ("grey", "gray")], config=config)
    )
    with pytest.raises(NotExplainableError, match="no operations of probability above zero"):
        service.explain(strict, ExplainRequest(model="strict", source="c", target="g"), NO_OVERRIDES, Limits())


def test_exceptions_hold_for_the_case_and_form_that_the_model_reads(g2p):
    (found,) = service.transduce(g2p, ["Cat"], excepted(("cat", "K AE T S")))
    assert [(one.target, one.exception) for one in found.answers] == [("K AE T S", True)]


def test_abilities_follow_from_the_kind_of_model(served, g2p):
    majority = ServedModel("majority", Majority.fit([("a", "b"), ("c", "b")]))
    able = {one.name: one.abilities for one in Gallery([*served, majority])}
    assert able["spelling"] == ["align", "explain", "rules"]
    assert "transduce" in able["majority"]
    (found,) = service.transduce(majority, ["x"], NO_OVERRIDES, scripts=True)
    assert (found.answers[0].target, found.answers[0].script) == ("b", None)


def test_every_model_warms_up(served):
    for one in served:
        one.warm_up()


def test_rules_come_with_examples_as_people_read_them(g2p):
    answer = service.rules(g2p, [("cat", "K AE T")], top=1)
    assert answer.rules[0]["rule"] == "a→AE"
    assert answer.rules[0]["examples"] == [{"source": "cat", "target": "K AE T"}]
