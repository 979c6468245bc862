"""Mixtures of Matchers: weights from labelled pairs, one score, contributions that add up, a folder like others."""

import copy
import math

import numpy as np
import pytest

import nsed
from nsed.baselines.similarity import Levenshtein
from nsed.capabilities import Capability, can
from nsed.datasets import rule_language
from nsed.errors import ArgumentError, ConfigError, NotExplainableError
from nsed.evaluate import average_precision
from nsed.explain.rules import rules
from nsed.models.matcher_mixture import SLOW, MatcherMixture, _tuning_split
from nsed.models.odds import OddsMatcher
from nsed.text import Pairs


def labelled(count, seed):
    return rule_language.matching_pairs(count, seed=seed)


@pytest.fixture(scope="module")
def members():
    training = labelled(60, 1)
    return [
        OddsMatcher.fit(training, train__steps=30),
        Levenshtein.fit(training, source_case="lower", target_case="lower"),
    ]


@pytest.fixture(scope="module")
def mixture(members):
    return MatcherMixture.of(members, labelled(60, 2))


def test_the_score_is_the_weighted_sum_of_the_members_log_odds(members, mixture):
    pairs = labelled(20, 3)
    each = [
        np.log(one.probability(pairs)) - np.log1p(-np.minimum(one.probability(pairs), 1 - 1e-12)) for one in members
    ]
    assert mixture.score(pairs) == pytest.approx(mixture.weights @ np.clip(each, -30, 30), abs=1e-3)
    assert (mixture.weights >= 0).all()
    assert mixture.weights.sum() == pytest.approx(1)


def test_a_member_that_is_wrong_has_no_weight_and_the_others_keep_their_ranking(members):
    validation = labelled(60, 2)
    wrong = Levenshtein.fit(Pairs(validation.sources, validation.targets, [not one for one in validation.labels]))
    wrong.criterion = wrong.criterion._replace(calibration=wrong.calibration._replace(slope=-5.0))
    mixed = MatcherMixture.of([members[0], wrong], validation)
    assert mixed.weights[1] == 0 < mixed.weights[0]
    scores, labels = mixed.score(validation), np.array(validation.labels)
    assert average_precision(scores, labels) == average_precision(members[0].score(validation), labels)


@pytest.mark.parametrize("slope", [1e6, -1e6])
def test_a_member_that_is_certain_of_everything_does_not_silence_the_others(members, slope):
    certain = copy.copy(members[1])
    certain.criterion = certain.criterion._replace(calibration=certain.calibration._replace(slope=slope))
    mixed = MatcherMixture([members[0], certain])
    assert np.abs(mixed.member_log_odds(labelled(20, 3))).max() == 30


def test_members_that_have_learned_more_keep_threshold_and_calibration_where_there_is_too_little_to_tune_by(members):
    mixed, learned = MatcherMixture(members), copy.copy(members[0])
    learned.criterion = learned.criterion._replace(threshold=7.0)
    now = mixed._with_members([learned, members[1]])
    assert now.members[0].criterion == members[0].criterion
    assert (now.criterion, now.weights.tolist()) == (mixed.criterion, [0.5, 0.5])


def test_contributions_add_up_to_the_mixtures_log_odds(mixture):
    pairs = labelled(10, 4)
    for explanation, probability in zip(mixture.explain_all(pairs), mixture.probability(pairs), strict=True):
        total = math.fsum(part.value for part in explanation.contributions)
        assert total == pytest.approx(explanation.decision.log_odds)
        assert explanation.decision.probability == pytest.approx(probability)


def test_tables_of_other_symbols_add_to_the_operations_on_the_same_tokens():
    training = labelled(60, 1)
    spaced = Pairs(
        [" ".join(one) for one in training.sources], [" ".join(one) for one in training.targets], training.labels
    )
    lead, other = (
        OddsMatcher.fit(spaced, train__steps=30, source_symbols=kind, target_symbols=kind, place=kind == "tokens")
        for kind in ("tokens", "letters")
    )
    mixed = MatcherMixture([lead, other], [0.75, 0.25])
    found, own, more = (one.explain("A B C", "a b c") for one in (mixed, lead, other))
    assert str(found.script) == str(own.script) == str(more.script)
    for whole, first, second in zip(found.contributions[:3], own.contributions, more.contributions, strict=False):
        assert whole.value == pytest.approx(0.75 * first.value + 0.25 * second.value)
    assert math.fsum(part.value for part in found.contributions) == pytest.approx(found.total)
    constants = 0.75 * own.constant + 0.25 * more.constant
    assert found.constant == pytest.approx(constants)
    assert nsed.Explanation.from_json(found.to_json()).contributions == found.contributions


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_members_that_cut_strings_otherwise_are_not_told_apart_by_operations(members):
    words = OddsMatcher.fit(labelled(60, 1), train__steps=30, source_symbols="tokens", target_symbols="tokens")
    mixed = MatcherMixture([members[0], words])
    found, own = mixed.explain("AB", "ab"), members[0].explain("AB", "ab")
    assert set(found.decision.added) == {0.0}
    assert found.contributions[0].value == pytest.approx(own.contributions[0].value / 2)
    assert "members" in [part.name for part in found.contributions]


def test_edit_distances_that_decide_are_mixed_and_explained():
    pairs, validation = labelled(60, 1), labelled(60, 2)
    both = [nsed.LearnableEditDistance.fit(pairs, validation=validation, iterations=2 + k) for k in range(2)]
    mixed = MatcherMixture(both)
    for made, probability in zip(mixed.explain_all(validation), mixed.probability(validation), strict=True):
        assert math.fsum(part.value for part in made.contributions) == pytest.approx(made.total, abs=1e-6)
        assert made.decision.probability == pytest.approx(probability)


def test_without_operations_a_mixture_says_that_it_cannot_explain(members):
    mixed = MatcherMixture([members[1], members[1]])
    assert can(mixed, Capability.MATCH)
    assert not can(mixed, Capability.ALIGN)
    assert not can(mixed, Capability.EXPLAIN)
    assert not can(mixed, Capability.RULES)
    assert can(MatcherMixture(members), Capability.ALIGN, Capability.LINKS, Capability.EXPLAIN, Capability.RULES)


def test_rules_of_a_mixture_are_those_of_its_first_member_with_lattices(members):
    pairs = labelled(10, 4)
    own, mixed = rules(members[0], pairs), rules(MatcherMixture([members[1], members[0]]), pairs)
    assert mixed.ranked("support") == own.ranked("support")
    with pytest.raises(NotExplainableError):
        list(MatcherMixture([members[1]]).lattices(pairs))


@pytest.mark.parametrize("weights", [[1.0], [1.0, float("nan")], [1.0, -1.0], [0.5, 0.25, 0.25], ["a", "b"], "ab", 3])
def test_weights_are_one_for_each_member(members, weights):
    with pytest.raises(ArgumentError, match=r"weights: got .* expected 2 numbers"):
        MatcherMixture(members, weights)


def test_decisions_of_explanations_are_those_of_match(mixture):
    pairs = labelled(10, 4)
    said = [one.decision.match for one in mixture.explain_all(pairs)]
    assert said == mixture.match(pairs).tolist()


def test_alignments_are_those_of_the_first_member_with_operations(members, mixture):
    pairs = [("AB", "ab"), ("", "")]
    turned = MatcherMixture([members[1], members[0]])
    assert mixture.align_all(pairs) == members[0].align_all(pairs) == turned.align_all(pairs)
    with pytest.raises(NotExplainableError):
        MatcherMixture([members[1]]).align("AB", "ab")


def test_a_folder_keeps_weights_members_and_decisions(mixture, tmp_path):
    mixture.save(tmp_path / "mixed")
    again = nsed.load(tmp_path / "mixed")
    pairs = labelled(20, 5)
    assert isinstance(again, MatcherMixture)
    assert (again.score(pairs) == mixture.score(pairs)).all()
    assert (again.match(pairs) == mixture.match(pairs)).all()


def test_load_mixes_matchers_alike_and_refuses_other_kinds(members, tmp_path):
    for number, one in enumerate(members):
        one.save(tmp_path / str(number))
    mixed = nsed.load([tmp_path / "0", tmp_path / "1"])
    assert mixed.weights.tolist() == [0.5, 0.5]
    with pytest.raises(ArgumentError, match="members"):
        nsed.load([tmp_path / "0", "g2p-en"])


@pytest.mark.parametrize("labels", [None, [True] * 3, [False] * 3])
def test_weights_need_pairs_of_both_kinds(members, labels):
    with pytest.raises(ArgumentError, match="validation"):
        MatcherMixture.of(members, Pairs(["a", "b", "c"], ["a", "b", "c"], labels))


@pytest.fixture(scope="module")
def tables():
    """A mixture whose members can learn more, of three kinds."""
    training, validation = labelled(60, 1), labelled(60, 2)
    network = nsed.Matcher.fit(training, encoder__dim=8, encoder__layers=1, train__steps=4, train__validate_every=2)
    members = [OddsMatcher.fit(training, train__steps=30), network, nsed.LearnableEditDistance.fit(training)]
    return MatcherMixture.of(members, validation)


def test_a_few_pairs_change_the_members_and_neither_weights_nor_decisions(tables):
    steps, few = [], labelled(30, 5)
    more = nsed.Matcher.fit(few, start=tables, on_step=steps.append)
    assert isinstance(more, MatcherMixture)
    assert (more.weights.tolist(), more.criterion) == (tables.weights.tolist(), tables.criterion)
    assert [one.kind for one in more.members] == ["odds", "matcher", "edit-distance"]
    for before, now in zip(tables.members, more.members, strict=True):
        assert (before.score(few) != now.score(few)).any()
    assert steps == sorted(steps)
    assert steps[-1] == tables.steps
    with pytest.raises(ArgumentError, match="start: got 'names', expected a trained model"):
        MatcherMixture.fit(few, start="names")
    with pytest.raises(ArgumentError, match=r"config.model: got 'odds', expected one of matcher-mixture"):
        MatcherMixture.fit(few, start=tables, config={"model": "odds"})


def test_from_enough_validation_pairs_weights_and_threshold_are_learned_anew(members):
    mixture = MatcherMixture([members[0]] * 2, [1.0, 0.0])
    more = MatcherMixture.fit(labelled(30, 5), start=mixture, validation=labelled(240, 6), train__steps=5)
    assert more.criterion.share is not None
    assert more.weights.sum() == pytest.approx(1)
    assert more.threshold != mixture.threshold


def test_of_many_pairs_some_are_held_out_to_tune_by():
    pairs = labelled(1200, 7)
    training, apart = _tuning_split(pairs, None)
    matches = sum(apart.labels)
    assert min(matches, len(apart) - matches) >= 100
    assert len(training) + len(apart) == len(pairs)
    assert _tuning_split(labelled(100, 7), None)[1] is None


def test_a_mixture_learns_more_where_all_its_members_do(members, tables):
    assert can(tables, Capability.FINE_TUNE)
    assert tables.fine_tuning_settings == tables.config
    assert can(nsed.load("cognates"), Capability.FINE_TUNE)
    mixed = MatcherMixture(members)
    assert not can(mixed, Capability.FINE_TUNE)
    with pytest.raises(ArgumentError, match="cannot learn more"):
        nsed.Matcher.fit(labelled(30, 5), start=mixed)


def test_summaries_of_many_pairs_have_the_decisions_of_the_mixture(mixture, tables):
    pairs = labelled(10, 4)
    for mixed in (mixture, tables, MatcherMixture([tables.members[2]])):
        made = mixed.summarize_all(pairs)
        for one, full in zip(made, mixed.explain_all(pairs), strict=True):
            assert str(one.script) == str(full.script)
            assert one.decision[:7] == pytest.approx(full.decision[:7], abs=1e-6)
        assert [one.decision.match for one in made] == mixed.match(pairs).tolist()
    assert mixture.summarize_all([]) == []


def test_what_an_edit_distance_says_itself_is_not_said_by_other_members(tables):
    pairs = labelled(10, 4)
    for made in MatcherMixture([tables.members[2]]).explain_all(pairs):
        rest = {part.name: part.value for part in made.contributions if part.edit is None}
        assert rest["members"] == pytest.approx(0, abs=1e-6)
        assert abs(rest["chance"]) > 1
        assert math.fsum(part.value for part in made.contributions) == pytest.approx(made.total)


def test_from_a_few_pairs_every_member_keeps_its_threshold_and_calibration(tables):
    more = nsed.Matcher.fit(labelled(30, 5), start=tables)
    assert [one.criterion for one in more.members] == [one.criterion for one in tables.members]


def test_settings_of_training_go_to_the_members_that_have_them(tables):
    """`train__steps=5` was no key of an edit distance, which was said when the others had learned."""
    steps, few = [], labelled(30, 5)
    more = nsed.Matcher.fit(few, start=tables, train__steps=2, train__validate_every=1, on_step=steps.append)
    assert [one.config.train.steps for one in more.members[:2]] == [2, 2]
    assert more.members[2].config == tables.members[2].config


@pytest.mark.parametrize(
    ("given", "rate"),
    [
        ({}, SLOW),
        ({"train": {"steps": 2}}, SLOW),
        ({"train__learning_rate": 0.02}, 0.02),
        ({"train": {"steps": 2, "learning_rate": 0.02}}, 0.02),
        ({"train": nsed.TrainConfig(steps=2, learning_rate=0.02)}, 0.02),
    ],
)
def test_the_rate_of_learning_more_from_few_pairs_is_the_one_that_is_given(tables, given, rate):
    more = nsed.Matcher.fit(labelled(30, 5), start=tables, **{"train__steps": 2, **given})
    assert [one.config.train.learning_rate for one in more.members if isinstance(one, OddsMatcher)] == [rate]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"iteratoins": 5}, r"settings of member 1 of 3, odds: .*\n.*iteratoins: no such key; .* 'iterations'"),
        ({"train__stepz": 5}, r"member 1 of 3, odds: .*\n.*train.stepz: no such key; .* 'train__steps'"),
        ({"train__steps": -1}, r"member 1 of 3, odds: .*\n.*train.steps: got -1"),
        ({"encoder_dim": 5}, r"member 2 of 3, matcher: .*\n.*encoder_dim: no such key; .* 'encoder__dim'"),
        ({"encoder__dim": 5}, r"member 2 of 3, matcher: .*\n.*encoder.dim: got 5, expected 8, as the model to start"),
        ({"tolerance": -1.0}, r"member 3 of 3, edit-distance: .*\n.*tolerance: got -1"),
    ],
)
def test_settings_that_no_member_can_have_are_told_before_any_of_them_learns(settings, message, tables):
    steps = []
    with pytest.raises(ConfigError, match=message):
        nsed.Matcher.fit(labelled(30, 5), start=tables, on_step=steps.append, **settings)
    assert steps == []


def test_a_symbol_that_an_edit_distance_cannot_learn_is_told_before_other_members_learn(tables):
    steps, few = [], labelled(30, 5)
    pairs = Pairs([*few.sources, "ACZ"], [*few.targets, "ac"], [*few.labels, True])
    with pytest.raises(ArgumentError, match=r"source symbols of the pairs: got Z, .*: its table cannot grow"):
        nsed.Matcher.fit(pairs, start=tables, on_step=steps.append)
    assert steps == []
