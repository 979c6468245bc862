"""What the server does, without the web."""

import pytest

import nsed
from nsed.baselines.majority import Majority
from nsed.errors import NotExplainableError
from nsed.explain.rules import rules
from nsed.models.pair_model import Criterion
from nsed.web import served_models as service
from nsed.web.limits import ApiError, Limits
from nsed.web.schemas import ExplainRequest
from nsed.web.served_models import NO_OVERRIDES, ServedModel, ServedModels

pytestmark = pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")


def excepted(*pairs):
    return nsed.Overrides(nsed.Pairs.of(pairs))


@pytest.fixture(scope="module")
def g2p():
    return ServedModel.read("g2p-en")


def test_an_override_that_the_model_cannot_write_has_no_probability(g2p):
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


def test_overrides_hold_for_the_case_and_form_that_the_model_reads(g2p):
    (found,) = service.transduce(g2p, ["Cat"], excepted(("cat", "K AE T S")))
    assert [(one.target, one.exception) for one in found.answers] == [("K AE T S", True)]


def test_abilities_follow_from_the_kind_of_model(served, g2p):
    majority = ServedModel("majority", Majority.fit([("a", "b"), ("c", "b")]))
    able = {one.name: one.abilities for one in ServedModels([*served, majority])}
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


def test_as_much_as_the_limits_say_is_taken_and_no_more():
    limits = Limits(items=3, length=5, cells=18, nbest=4, beam=2, explained=2)
    limits.check_count("sources", ["a"] * 3)
    limits.check_texts("sources", ["abcde"])
    limits.check_cells("pairs", [("ab", "ab"), ("ab", "ab")])
    limits.check_width(4, 2)
    limits.check_drawn("source", ["a", "b"])
    for beyond in (
        lambda: limits.check_count("sources", ["a"] * 4),
        lambda: limits.check_texts("sources", ["abcdef"]),
        lambda: limits.check_cells("pairs", [("ab", "ab"), ("ab", "ab"), ("", "")]),
        lambda: limits.check_width(5, 2),
        lambda: limits.check_width(4, 3),
        lambda: limits.check_drawn("source", ["a", "b", "c"]),
    ):
        with pytest.raises(ApiError, match="at most"):
            beyond()


def test_decisions_are_those_of_the_threshold_not_of_the_probability(matcher):
    """At a threshold that no score reaches, nothing matches, however probable."""
    strict = nsed.Matcher(
        matcher.network, matcher.tokenizers, matcher.config, criterion=Criterion(1.0, matcher.calibration)
    )
    pairs = [("CC", "cc"), ("AB", "ab")]
    assert max(strict.probability(pairs)) > 0.5
    assert [one.match for one in service.match(ServedModel("strict", strict), pairs)] == [False, False]


def test_beam_ranking_and_number_of_scripts_are_obeyed(g2p, monkeypatch):
    asked, transduce = {}, type(g2p.model).transduce

    def spy(self, sources, **options):
        asked.update(options)
        return transduce(self, sources, **options)

    monkeypatch.setattr(type(g2p.model), "transduce", spy)
    service.transduce(g2p, ["cat"], NO_OVERRIDES, nbest=2, beam=7)
    assert (asked["nbest"], asked["beam"]) == (2, 7)
    request = ExplainRequest(model="g2p-en", source="cat", target="K AE T", scripts=5)
    assert len(service.explain(g2p, request, NO_OVERRIDES, Limits()).explanation["scripts"]) == 5
    pairs = [("cat", "K AE T"), ("city", "S IH T IY"), ("cut", "K AH T"), ("ceil", "S IY L")] * 3
    table = rules(g2p.model, pairs)
    for by in ("support", "surprise"):
        shown = service.rules(g2p, pairs, by=by, top=5).rules
        assert [one["rule"] for one in shown] == [str(rule) for rule in table.ranked(by, top=5)]
    assert table.ranked("support", top=5) != table.ranked("surprise", top=5)


def test_a_letter_with_a_new_mark_is_read_as_the_letter_and_shown_as_it_was_asked(g2p):
    (found,) = service.transduce(g2p, ["café"], NO_OVERRIDES, scripts=True)
    (plain,) = service.transduce(g2p, ["cafe"], NO_OVERRIDES, scripts=True)
    assert (found.unknown, found.answers[0].target) == (["é"], plain.answers[0].target)
    assert found.answers[0].script.text == plain.answers[0].script.text.replace("e", "é")
