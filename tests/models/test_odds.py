"""The Matcher in odds form: where it begins, what training adds, and that its answers hang together."""

import copy
import json
import math
import random
import time
import warnings
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import torch
import yaml

import nsed
from nsed.baselines.similarity import Levenshtein
from nsed.capabilities import Capability, can
from nsed.config import from_mapping
from nsed.datasets.rule_language import matching_pairs
from nsed.errors import (
    ArgumentError,
    ConfigError,
    DataError,
    ModelFileError,
    NotExplainableError,
    NsedError,
    TooLongError,
    UnknownSymbolWarning,
)
from nsed.evaluate import average_precision, matching_score
from nsed.evaluate.calibration import expected_calibration_error
from nsed.models.edit_distance import LearnableEditDistance
from nsed.models.odds import OddsMatcher
from nsed.models.odds_training import MOST_JUDGED, HeldOutScores, OddsConfig, _rows_judged, cross_validated_scores
from nsed.networks.odds import PLACES, places_of
from nsed.networks.odds_scores import pair_odds
from nsed.text import EncodedPairs, Tokenizers
from nsed.text.batch import DistinctPairs
from nsed.text.readers.delimited import read_symbol_features
from nsed.train.saved_model import DESCRIPTION
from nsed.train.split import folds_of
from nsed.train.trainer import Trainer
from support.commands import run, with_settings

QUICK = {"train__steps": 20, "train__validate_every": 10, "train__device": "cpu"}
HARD = [("", ""), ("", "ab"), ("CAB", ""), ("ABCABC", "bcabc"), ("A", "c"), ("BAAC", "ac")]


def test_minutes_are_for_em_training_and_tuning_together(monkeypatch):
    pairs, steps, run = alike(400, seed=3), [], Trainer.run

    def counted(self, **given):
        run(self, **given)
        steps.append(self.step)

    monkeypatch.setattr(Trainer, "run", counted)
    free = OddsMatcher.fit(pairs, **QUICK)
    assert steps == [20] * 6  # the model, and those of five folds
    steps.clear()
    ample = OddsMatcher.fit(pairs, train__minutes=600, **QUICK)
    assert steps == [20] * 6
    assert ample.criterion == free.criterion
    steps.clear()
    hurried = OddsMatcher.fit(pairs, train__minutes=1e-4, **QUICK)
    assert steps == [1]
    assert average_precision(hurried.score(pairs), np.array(pairs.labels, bool)) > 0.9
    assert hurried.match(pairs).mean() == pytest.approx(0.5, abs=0.1)


def test_folds_of_which_not_all_would_begin_within_the_minutes_are_left_out(monkeypatch):
    """Each of five folds took its EM and an update at least, long after the minutes were over."""
    begun = []

    def hurried(task, pairs, *given, **options):
        begin = task.begun
        task.begun = lambda seen: begun.append(time.sleep(0.3)) or begin(seen)
        scores = cross_validated_scores(task, pairs, *given, deadline=time.monotonic() + 1.2)
        assert scores.tolist() == pair_odds(task.network, DistinctPairs.of(pairs), task.device).scores.tolist()
        return scores

    monkeypatch.setattr("nsed.models.odds_training.cross_validated_scores", hurried)
    OddsMatcher.fit(alike(60, seed=3), **QUICK)
    assert len(begun) == 1


def test_a_model_can_be_used_while_it_learns(tmp_path):
    seen = []

    def look(step):
        if step == 11:  # after the first validation
            early = nsed.load(tmp_path)
            seen.append(
                (early.record["unfinished"], early.match([("abcdefg", "abcdefg"), ("abcdefg", "hhhh")]).tolist())
            )

    model = OddsMatcher.fit(alike(400, seed=3), folder=tmp_path, on_step=look, **QUICK)
    assert seen == [(True, [True, False])]
    assert "unfinished" not in model.record
    assert "unfinished" not in nsed.load(tmp_path).record


@pytest.fixture(scope="module")
def model():
    return OddsMatcher.fit(matching_pairs(300, seed=1), **QUICK)


def alike(count, seed):
    """Labelled words of one alphabet: with a letter changed, or of somebody else."""
    chosen = random.Random(seed)
    words = ["".join(chosen.choices("abcdefgh", k=chosen.randint(4, 9))) for _ in range(count)]
    near = [word[:2] + chosen.choice("abcdefgh") + word[3:] for word in words]
    targets = [near[row] if row % 2 else near[row - 1] for row in range(count)]
    return nsed.Pairs(words, targets, [row % 2 for row in range(count)])


@pytest.fixture(scope="module")
def symmetric():
    return OddsMatcher.fit(alike(400, seed=0), shared_alphabet=True, **QUICK)


def test_untrained_odds_look_at_no_labels():
    pairs = matching_pairs(30, seed=1)
    plain, turned = replace(pairs, labels=None), replace(pairs, labels=[not one for one in pairs.labels])
    scores = [OddsMatcher.untrained(given).score(plain).tolist() for given in (plain, pairs, turned)]
    assert scores[0] == scores[1] == scores[2]


@pytest.mark.parametrize("alphabets", [("ABC", "abc"), ("abc", "abc")], ids=["apart", "the same"])
def test_untrained_odds_are_the_relative_scores_of_the_edit_distance(alphabets):
    chosen = random.Random(0)
    pairs = [tuple("".join(chosen.choices(side, k=chosen.randint(0, 6))) for side in alphabets) for _ in range(200)]
    edit_distance = LearnableEditDistance.fit(pairs, relative=True, iterations=8)
    untrained = OddsMatcher.of_edit_distance(edit_distance)
    others = [*pairs, ("", ""), ("?", "!"), ("?!", "")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownSymbolWarning)
        assert untrained.score(others) == pytest.approx(edit_distance.score(others), abs=1e-5)


@pytest.mark.slow
def test_training_begins_with_what_em_knows():
    pairs, others = matching_pairs(100, seed=3), matching_pairs(300, seed=4)
    edit_distance = LearnableEditDistance.fit(pairs.positives(), relative=True)
    still = OddsMatcher.fit(pairs, train__learning_rate=0, **QUICK)
    labels = np.array(others.labels, dtype=bool)
    by_em, by_odds = (average_precision(one.score(others), labels) for one in (edit_distance, still))
    assert by_odds > by_em - 0.05


@pytest.mark.slow
def test_pseudo_counts_make_identical_symbols_evidence_for_a_match_whatever_few_pairs_say():
    pairs = nsed.Pairs(["ab", "cd", "ef", "gh"], ["ab", "cd", "xy", "zw"], [1, 1, 0, 0])
    made = OddsMatcher.fit(pairs, validation=pairs, shared_alphabet=True, train__learning_rate=0, **QUICK)
    odds = {(one.source, one.target): one.log_odds for one in made.operations()}
    assert min(odds[letter, letter] for letter in "abcdefgh") > 1
    assert odds["e", "x"] < 0


@pytest.mark.slow
def test_a_new_symbol_is_known_by_its_kin_and_identical_to_itself(symmetric):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownSymbolWarning)
        known, same, kin, other = symmetric.score(
            [("abcd", "abcd"), ("abzd", "abzd"), ("abéd", "abed"), ("abzd", "abwd")]
        )
        assert same == pytest.approx(known, abs=2.5)
        assert same > other + 2
        assert kin > other
        assert str(symmetric.align("abzd", "abzd")) == "a b z d"


@pytest.mark.slow
def test_both_sides_of_one_alphabet_are_found_to_be_so_and_languages_are_used():
    pairs, apart = alike(60, seed=0), matching_pairs(60)
    assert OddsMatcher.fit(pairs, **QUICK).config.shared_alphabet is True
    assert OddsMatcher.fit(apart, **QUICK).config.shared_alphabet is False
    assert OddsMatcher.fit(pairs, shared_alphabet=False, **QUICK).config.shared_alphabet is False
    known = nsed.Pairs(pairs.sources, pairs.targets, pairs.labels, ["x"] * 60, ["y"] * 60)
    made = OddsMatcher.fit(known, **QUICK)
    assert made.config.languages is True
    assert made.languages.symbols == ("x", "y")


@pytest.mark.slow
def test_few_labelled_pairs_are_no_worse_used_than_by_levenshtein():
    pairs, others = alike(200, seed=5), alike(600, seed=6)
    labels = np.array(others.labels, dtype=bool)
    models = [Levenshtein.fit(pairs), OddsMatcher.fit(pairs, train__device="cpu")]
    levenshtein, odds = (matching_score(one.score(others), labels, one.threshold).f1 for one in models)
    assert odds >= levenshtein - 0.005  # one of 600 pairs either way


def test_places_of_short_strings_are_those_nearer_to_an_end():
    names = [
        [PLACES[number] for number in row] for row in places_of(torch.zeros(6, 6).long(), torch.arange(1, 7)).tolist()
    ]
    assert names[0][:1] == ["initial"]
    assert names[1][:2] == ["initial", "last"]
    assert names[2][:3] == ["initial", "second", "last"]
    assert names[3][:4] == ["initial", "second", "last but one", "last"]
    assert names[5] == ["initial", "second", "medial", "medial", "last but one", "last"]


@pytest.mark.slow
def test_padding_batches_and_order_change_nothing(model):
    pairs = [*matching_pairs(60, seed=5), *HARD]
    together = model.score(pairs)
    assert together == pytest.approx([model.score([pair])[0] for pair in pairs], abs=1e-10)
    order = random.Random(1).sample(range(len(pairs)), len(pairs))
    assert model.score([pairs[row] for row in order]) == pytest.approx(together[order], abs=1e-10)


def test_empty_strings_have_log_odds(model):
    assert np.isfinite(model.score(HARD)).all()
    assert len(model.score([])) == 0
    assert model.align("", "").edits == ()


def test_unknown_symbols_are_read_with_a_warning(symmetric):
    with pytest.warns(UnknownSymbolWarning, match="Ω"):
        with_unknown = symmetric.score([("abΩc", "abΩc")])
    assert np.isfinite(with_unknown).all()


def test_a_saved_model_answers_bit_for_bit_alike(model, symmetric, tmp_path):
    for one, pairs in ((model, HARD), (symmetric, [("abc", "abd"), ("gh", "")])):
        one.save(tmp_path / "model")
        again = nsed.load(tmp_path / "model")
        assert isinstance(again, nsed.OddsMatcher)
        assert (again.score(pairs) == one.score(pairs)).all()
        assert (again.probability(pairs) == one.probability(pairs)).all()
        assert (again.criterion, again.config) == (one.criterion, one.config)


def test_a_shared_alphabet_makes_scores_symmetric(symmetric):
    pairs = alike(50, seed=2)
    assert symmetric.score(pairs) == pytest.approx(symmetric.score(pairs.targets, pairs.sources), abs=1e-9)
    odds = symmetric.network.odds()
    assert torch.equal(odds.substitute, odds.substitute.T)
    assert torch.equal(odds.delete, odds.insert)


def test_identical_long_words_match_almost_surely_and_strangers_almost_never(symmetric):
    assert symmetric.probability([(word, word) for word in ("abcdefgh", "hgfedcba", "aabbcc")]).min() > 0.99
    assert symmetric.probability([("abcdabcd", "efghhgfe")])[0] < 0.01


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_a_pair_has_the_same_answers_alone_and_among_many_with_thousands_of_new_symbols(monkeypatch, symmetric):
    new = [chr(0x4E00 + number) for number in range(60)]
    pairs = [("abc" + one, "abd" + one) for one in new]
    expected = symmetric.score(pairs[:3])
    alone = [symmetric.explain(*pair) for pair in pairs[:3]]
    for most in (2**24, 1000):
        monkeypatch.setattr("nsed.models.odds.MOST_EXTENDED", most)
        assert symmetric.score(pairs)[:3] == pytest.approx(expected, abs=1e-9)
        among = symmetric.summarize_all(pairs)[:3]
        assert [one.decision.log_odds for one in among] == pytest.approx([one.total for one in alone], abs=1e-9)
        assert [str(one.script) for one in among] == [str(one.script) for one in alone]
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        symmetric.score(pairs)
    assert len(told) <= 2  # one for each side
    monkeypatch.setattr("nsed.models.odds.MOST_EXTENDED", 1)  # then new symbols are not known by their kin
    assert symmetric.score(pairs)[:3].max() < expected.min() - 1


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_words_in_letters_never_seen_are_no_match_unless_they_are_the_same_or_akin(symmetric):
    pairs = [("WXYZ", "QRST"), ("wxyz", "wxyz"), ("ABCDE", "abcde"), ("ABCDE", "fghfg")]
    assert symmetric.match(pairs).tolist() == [False, True, True, False]
    probable = symmetric.probability(pairs)
    assert probable[[0, 3]].max() < 0.3
    assert probable[[1, 2]].min() > 0.9


def test_the_offset_is_the_same_for_every_pair_and_what_differs_has_a_name():
    made = OddsMatcher.fit(alike(300, seed=1), shared_alphabet=True, coherence=True, **QUICK)
    made.criterion = made.criterion._replace(calibration=made.calibration._replace(bend=0.0))
    found = [made.explain(*pair) for pair in [("abc", "abc"), ("abcdefg", "h"), ("ab", "ba")]]
    names = [[part.name for part in one.contributions if part.edit is None] for one in found]
    assert names[0] == ["ambiguity", "lengths", "identity", "coherence", "threshold"]
    assert names[1] == names[2] == ["ambiguity", "lengths", "coherence", "threshold"]
    assert found[0].constant == pytest.approx(found[1].constant) == found[2].constant
    assert nsed.Explanation.from_json(found[0].to_json()).contributions == found[0].contributions
    made.criterion = made.criterion._replace(calibration=made.calibration._replace(form="beta", bend=0.5))
    for pair in [("abc", "abc"), ("abcdefg", "h")]:
        bent = made.explain(*pair)
        assert math.fsum(one.value for one in bent.contributions) == pytest.approx(bent.total, abs=1e-9)
        steepness = made.calibration.slope * made.calibration.steepness(made.score([pair]))[0]
        assert bent.constant - made.calibration.intercept == pytest.approx(steepness * made.network.odds().bias.item())


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_a_match_that_only_one_fold_has_does_not_end_the_training():
    others = ["efgh"[row % 4 :] + "ab" for row in range(60)]
    few = nsed.Pairs(["abcd", *others], ["abce", *["dcba"] * 60], [1, *[0] * 60])
    found = OddsMatcher.fit(few, validation=alike(220, seed=2), **QUICK)
    assert found.match([("abcdef", "abcdef")]).all()


def test_weights_are_chosen_by_pairs_of_both_kinds_though_one_is_rare():
    labels = np.zeros(40_000, bool)
    labels[::4000] = True
    rows = _rows_judged(labels, 0)
    assert len(rows) == len(set(rows.tolist())) == MOST_JUDGED
    assert labels[rows].sum() == 10
    often = np.arange(40_000) % 2 == 0
    assert (_rows_judged(often, 0) == np.sort(np.random.default_rng(0).permutation(40_000)[:MOST_JUDGED])).all()


@pytest.mark.parametrize("pair", HARD)
def test_contributions_add_up_to_the_log_odds_with_ambiguity_and_bias_alone(model, pair):
    explanation = model.explain(*pair)
    parts = explanation.contributions
    assert math.fsum(part.value for part in parts) == pytest.approx(explanation.total, abs=1e-9)
    assert {part.name for part in parts if part.edit is None} - {"lengths"} == {"ambiguity", "threshold"}
    calibration, score = model.calibration, model.score([pair])[0]
    assert explanation.total == pytest.approx(calibration.slope * calibration.evidence(score) + calibration.intercept)
    assert explanation.decision.probability == pytest.approx(model.probability([pair])[0])
    assert explanation.decision.match == model.match([pair])[0]
    assert explanation.to_text()


def test_summaries_decide_as_the_model_does(model):
    pairs = matching_pairs(40, seed=6)
    summaries = model.summarize_all(pairs)
    assert [one.decision.match for one in summaries] == model.match(pairs).tolist()
    assert [one.probability for one in summaries] == pytest.approx(model.probability(pairs).tolist())
    assert [str(one.script) for one in summaries] == [str(script) for script in model.align_all(pairs)]


def test_it_says_what_it_can_and_lists_its_log_odds(model):
    assert set(Capability) - model.capabilities == {Capability.TRANSDUCE, Capability.SAMPLE, Capability.COSTS}
    assert len(model.operations()) == 3 + 3 + 9
    assert {(one.source, one.target) for one in model.operations()[:3]} == {("A", "a"), ("B", "b"), ("C", "c")}
    assert len(model.links([("CAB", "cab")])[0]) == 3
    with pytest.raises(NotExplainableError, match="give pairs"):
        model.own_rules()


@pytest.mark.slow
@pytest.mark.parametrize(("place", "length"), [(False, False), (True, False), (False, True)])
def test_factors_can_be_left_out(place, length, tmp_path):
    pairs = matching_pairs(100, seed=4)
    made = OddsMatcher.fit(pairs, place=place, length=length, **QUICK)
    names = set(made.network.state_dict())
    assert ("place.factor" in names, "length" in names) == (place, length)
    made.save(tmp_path)
    assert (nsed.load(tmp_path).score(pairs) == made.score(pairs)).all()


@pytest.mark.slow
def test_coherence_features_and_identity_are_saved_and_their_scores_hang_together(tmp_path):
    pairs = alike(300, seed=1)
    made = OddsMatcher.fit(pairs, shared_alphabet=True, coherence=True, **QUICK)
    assert (made.config.features, made.config.identity, made.config.coherence) == (True, True, True)
    assert made.config.train.steps == QUICK["train__steps"]
    assert "coherence" in made.network.no_table()
    assert made.score(pairs) == pytest.approx([made.score([pair])[0] for pair in pairs], abs=1e-9)
    assert made.score(pairs) == pytest.approx(made.score(pairs.targets, pairs.sources), abs=1e-9)
    explanation = made.explain("abcde", "abcdf")
    assert math.fsum(part.value for part in explanation.contributions) == pytest.approx(explanation.total, abs=1e-9)
    assert made.config.table_scripts is True
    batch, shown = next(made.lattices(pairs))
    context, table = (made.network(batch, in_context=one)[0] for one in (True, False))
    assert not torch.allclose(context.log_prob, table.log_prob)
    assert torch.equal(shown.log_prob, table.log_prob)
    made.save(tmp_path)
    assert (nsed.load(tmp_path).score(pairs) == made.score(pairs)).all()


def test_a_model_from_before_features_identity_and_coherence_is_read_without_them():
    config = from_mapping(OddsConfig, {"model": "odds", "shared_alphabet": False, "languages": False})
    tokenizers = Tokenizers.learned(config, nsed.Pairs(["ab"], ["ab"]))
    names = set(OddsMatcher._network(config, tokenizers, None).state_dict())
    assert not [name for name in names if name.startswith(("features", "identity", "coherence"))]


def noise(count, seed):
    chosen = random.Random(seed)
    words = ["".join(chosen.choices("abcdefgh", k=6)) for _ in range(2 * count)]
    return nsed.Pairs(words[::2], words[1::2], [chosen.random() < 0.5 for _ in range(count)])


def test_the_validation_metric_is_that_of_validation_pairs_even_where_weights_are_chosen_by_more():
    pairs, few = noise(300, seed=1), noise(60, seed=2)
    made = OddsMatcher.fit(pairs, validation=few, train__steps=60)
    found = average_precision(made.score(few), np.array(few.labels))
    assert made.record["average_precision"] == pytest.approx(found)
    assert made.record["average_precision_with_training_pairs"] > found + 0.05


@pytest.mark.slow
def test_cross_validated_scores_of_noise_are_noise(monkeypatch):
    judged = []

    def watched(task, pairs, *given, **options):
        scores = cross_validated_scores(task, pairs, *given, **options)
        ranks = scores.argsort().argsort() / len(scores)
        judged.append(ranks[pairs.labels].mean() - ranks[~pairs.labels].mean())
        return scores

    monkeypatch.setattr("nsed.models.odds_training.cross_validated_scores", watched)
    for seed in range(3):
        OddsMatcher.fit(noise(400, seed=seed), train__steps=60)
    assert abs(np.mean(judged)) < 0.05  # .12 where models of folds have seen the pairs that they judge


@pytest.mark.slow
def test_folds_share_no_string_and_have_both_labels():
    words = [f"{letter}{number}" for letter in "abcdefghij" for number in range(4)]
    rows = [(one, other) for one in words for other in words if one[0] == other[0] and one != other]
    labels = [int(one[1]) % 2 == int(other[1]) % 2 for one, other in rows]
    made = OddsMatcher.fit(nsed.Pairs(*zip(*rows, strict=True), labels), shared_alphabet=True, **QUICK)
    pairs = made.encoded(nsed.Pairs(*zip(*rows, strict=True), labels))
    folds = folds_of(pairs, 5, shared=True, seed=0)
    of_group = {(one[0], fold) for (one, _), fold in zip(rows, folds.tolist(), strict=True)}
    assert len(of_group) == 10
    assert {(fold, label) for fold, label in zip(folds.tolist(), labels, strict=True)} == {
        (fold, label) for fold in range(5) for label in (False, True)
    }


def test_folds_keep_concepts_together_that_single_words_connect():
    words = [f"{concept}{number}" for concept in range(9) for number in range(8)]
    rows = [(one, other) for one in words for other in words if one[:-1] == other[:-1] and one < other]
    rows += [(f"{concept}0", f"{concept + 1}0") for concept in range(8)]
    pairs = nsed.Pairs(*zip(*rows, strict=True), [number % 2 == 0 for number in range(len(rows))])
    tokenizers = Tokenizers.learned(OddsConfig(), pairs).shared()
    encoded = EncodedPairs(*tokenizers.encode(pairs), labels=np.array(pairs.labels))
    folds = folds_of(encoded, 3, shared=True, seed=0)[:-8]
    assert len({(one[:-1], fold) for (one, _), fold in zip(rows[:-8], folds.tolist(), strict=True)}) == 9
    assert set(folds.tolist()) == {0, 1, 2}


def test_scores_of_a_fold_are_put_on_the_scale_of_the_model(symmetric):
    pairs, device = alike(50, seed=8), symmetric.device
    known, scores = HeldOutScores(symmetric.encoded(pairs), symmetric.score(pairs)), np.array([-2.0, 0.0, 3.0])
    assert known.on_scale(scores, symmetric.network, device) == pytest.approx(scores)
    other = copy.deepcopy(symmetric.network)
    with torch.no_grad():
        other.bias += 1.5
    assert known.on_scale(scores, other, device) == pytest.approx(scores - 1.5, abs=1e-5)


@pytest.mark.slow
def test_segments_of_several_phones_are_read_as_phones_with_the_reason():
    words = ["h a n t", "t a n", "n aː t", "t au n", "h an t a"] * 6
    pairs = nsed.Pairs(words, [*words[15:], *words[1:16]], [1] * 15 + [0] * 15)
    made = OddsMatcher.fit(pairs, validation=pairs, **QUICK)
    assert made.config.source_symbols == "phones"
    assert "phones in" in made.config.symbols_note


SEGMENTED = ["h a n t", "t a n", "n aː t", "t au n", "h an t a"] * 6


@pytest.mark.parametrize("words", [["gray", "gala", "lay", "ray", "yard", "drag"] * 5, SEGMENTED])
def test_the_command_line_trains_few_pairs_with_the_settings_of_python_and_not_with_those_of_coherence(words, tmp_path):
    pairs = nsed.Pairs(words, [*words[15:], *words[1:16]], [1] * 15 + [0] * 15)
    data = written(pairs, tmp_path / "pairs.tsv")
    run("train", data, tmp_path / "m", "--model", "odds", *with_settings("train.steps=2"))
    assert nsed.load(tmp_path / "m").config == OddsMatcher.fit(pairs, train__steps=2).config
    planned = yaml.safe_load(run("train", data, "--model", "odds", "--print-config"))
    assert (planned["coherence"], planned["train"]["steps"]) == (False, 200)
    coherent = run("train", data, "--model", "odds", "--print-config", *with_settings("coherence=true"))
    assert yaml.safe_load(coherent)["train"]["steps"] == 500


def test_a_matcher_learns_on_from_what_matcher_fit_returns(symmetric):
    more = nsed.Pairs(["xabc", "xade", "abcd", "bcda"], ["xabc", "xada", "hgfe", "aaaa"], [1, 1, 0, 0])
    made = nsed.Matcher.fit(more, start=symmetric, train__steps=2)
    assert isinstance(made, OddsMatcher)
    assert "x" in made.tokenizers.source.vocabulary.symbols


@pytest.mark.slow
def test_a_model_that_learns_more_begins_with_what_it_knows_and_stays_near_it(symmetric):
    more = nsed.Pairs(["xabc", "xade", "abcd", "bcda"], ["xabc", "xada", "hgfe", "aaaa"], [1, 1, 0, 0])
    others = [("abcdef", "abxdef"), ("gh", "hg"), ("xxab", "xxab"), ("", "ab")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownSymbolWarning)
        before = symmetric.score(others)
    still = OddsMatcher.fit(more, start=symmetric, train__learning_rate=0)
    assert "x" in still.tokenizers.source.vocabulary.symbols
    assert still.score(others) == pytest.approx(before, abs=1e-4)
    learned = OddsMatcher.fit(more, start=symmetric)
    assert learned.score(others) != pytest.approx(before, abs=1e-4)
    assert np.corrcoef(learned.score(others), before)[0, 1] > 0.9


def test_few_pairs_of_another_kind_are_learned_from_the_command_line_by_a_model_that_knows_others(symmetric, tmp_path):
    symmetric.save(tmp_path / "known")
    few = alike(40, seed=5)
    (tmp_path / "few.tsv").write_text("".join(f"{s}\t{t}\t{n}\n" for (s, t), n in zip(few, few.labels, strict=True)))
    run("train", tmp_path / "few.tsv", tmp_path / "more", "--from", tmp_path / "known", *with_settings("train.steps=5"))
    more = nsed.load(tmp_path / "more")
    test = alike(300, seed=6)
    assert can(more, Capability.FINE_TUNE)
    assert matching_score(more.score(test), np.array(test.labels, dtype=bool), more.threshold).f1 > 0.9


@pytest.mark.slow
def test_languages_move_the_bias():
    pairs = matching_pairs(200, seed=4)
    sides = {"source_languages": ["x", "y"] * 100, "target_languages": ["x", "z"] * 100}
    known = nsed.Pairs(pairs.sources, pairs.targets, pairs.labels, **sides)
    made = OddsMatcher.fit(known, languages=True, **QUICK)
    assert not np.allclose(made.score(known), made.score(pairs))
    assert np.isfinite(made.score(pairs)).all()


def test_pairs_without_labels_of_both_kinds_are_refused_with_what_to_do():
    pairs = [("A", "a"), ("B", "b"), ("C", "c")]
    with pytest.raises(ArgumentError, match=r"no labels.*labels 1 and 0.*edit-distance"):
        OddsMatcher.fit(pairs)
    with pytest.raises(ArgumentError, match=r"only labels 1.*labels 1 and 0"):
        OddsMatcher.fit(pairs, [1, 1, 1])


@pytest.mark.slow
def test_few_pairs_have_threshold_and_calibration_from_models_that_have_not_seen_them():
    pairs, held_out = matching_pairs(200, seed=1), matching_pairs(600, seed=2)
    made = OddsMatcher.fit(pairs, **QUICK)
    labels = np.array(held_out.labels, dtype=bool)
    assert (made.match(held_out) == labels).mean() > 0.85
    assert expected_calibration_error(made.probability(held_out), labels) < 0.08


def test_an_unnamed_training_setting_keeps_the_default_of_odds():
    made = OddsMatcher.fit(matching_pairs(60), train__steps=1, train__device="cpu")
    assert (made.config.train.learning_rate, made.config.train.steps) == (0.03, 1)


def written(pairs, path):
    path.write_text("".join(f"{s}\t{t}\t{int(label)}\n" for (s, t), label in zip(pairs, pairs.labels, strict=True)))
    return path


@pytest.mark.slow
def test_the_command_line_trains_matches_and_explains_it(tmp_path):
    data = written(matching_pairs(100, seed=1), tmp_path / "pairs.tsv")
    settings = with_settings("train.steps=10", "train.validate_every=5", "train.device=cpu")
    run("train", data, tmp_path / "m", "--model", "odds", *settings)
    made = nsed.load(tmp_path / "m")
    assert (made.kind, made.record["steps"]) == ("odds", 10)
    assert "probability" in run("match", tmp_path / "m", data)


def test_a_pair_with_too_large_a_table_is_named_by_its_row_before_any_work(tmp_path):
    pairs = nsed.Pairs(["A", "B", "A" * 3000, "C"] * 2, ["a", "b", "a" * 3000, "c"] * 2, [1, 0, 1, 0] * 2)
    with pytest.raises(TooLongError, match=r"3,000 x 3,000 symbols in row 3"):
        OddsMatcher.fit(pairs, validation=matching_pairs(20))


def test_verbs_keep_no_gradient(model):
    model.network.requires_grad_(True)
    try:
        assert isinstance(model.score(HARD), np.ndarray)
        assert not next(iter(model.lattices(nsed.Pairs.of(HARD))))[1].log_prob.requires_grad
        assert model.explain("CAB", "cab").decision.match
    finally:
        model.network.requires_grad_(False)


def shuffled(pairs, seed=0):
    """The pairs with many strings again and some new, as columns of Arrow."""
    chosen = np.random.default_rng(seed)
    columns = [[*side, "", "?", "é!"] for side in (pairs.sources, pairs.targets)]
    return [pa.array(side).take(pa.array(chosen.integers(len(side), size=2000))) for side in columns]


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, {"place": False, "length": False}, {"shared_alphabet": True}], ids=str)
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_scores_by_the_kernel_of_tables_are_those_of_the_lattices(settings, monkeypatch):
    made = OddsMatcher.fit(alike(200, seed=5), **{"shared_alphabet": False, **settings}, **QUICK)
    columns, seen = shuffled(alike(100, seed=6)), []
    by_kernel = made.score(*columns, on_batch=seen.append)
    assert sum(seen) == len(by_kernel) == 2000
    with nsed.use_backend("torch"):
        np.testing.assert_allclose(made.score(*columns), by_kernel, rtol=1e-9, atol=1e-9)
    monkeypatch.setattr(type(made.network), "no_table", lambda _: "a term that fits into no table")
    np.testing.assert_allclose(made.score(*columns), by_kernel, rtol=1e-9, atol=1e-9)
    assert made.scoring_kernel().kernel == "lattice"
    assert made.scoring_kernel().reason.endswith("table_scores: a term that fits into no table")


@pytest.mark.slow
def test_languages_are_in_the_bias_of_scores_by_the_kernel(monkeypatch):
    words = alike(200, seed=7)
    languages = [["de", "en", "cs"][row % 3] for row in range(200)], [["en", "cs"][row % 2] for row in range(200)]
    pairs = nsed.Pairs(words.sources, words.targets, words.labels, *languages)
    made = OddsMatcher.fit(pairs, **QUICK)
    assert made.languages is not None
    by_kernel = made.score(pairs)
    monkeypatch.setattr(type(made.network), "no_table", lambda _: "no")
    np.testing.assert_allclose(made.score(pairs), by_kernel, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_an_interrupted_training_goes_on_to_the_same_weights(tmp_path):
    def interrupt(validation):
        if validation.step == 20:
            raise KeyboardInterrupt

    pairs, settings = matching_pairs(200, seed=1), {"train__steps": 40, "train__validate_every": 10}
    whole = OddsMatcher.fit(pairs, train__device="cpu", **settings)
    with pytest.raises(KeyboardInterrupt):
        OddsMatcher.fit(pairs, folder=tmp_path, on_validation=interrupt, train__device="cpu", **settings)
    resumed = OddsMatcher.fit(pairs, folder=tmp_path, train__device="cpu", **settings)
    assert (resumed.score(pairs) == whole.score(pairs)).all()


@pytest.mark.slow
def test_rule_language_is_told_apart_at_least_as_well_as_by_the_edit_distance():
    pairs, held_out = matching_pairs(2000, seed=1), matching_pairs(1000, seed=2)
    labels = np.array(held_out.labels, dtype=bool)
    models = [LearnableEditDistance.fit(pairs), OddsMatcher.fit(pairs, train__device="cpu")]
    scores = [one.score(held_out) for one in models]
    edit_distance, odds = (
        matching_score(score, labels, one.threshold).f1 for score, one in zip(scores, models, strict=True)
    )
    assert odds > edit_distance + 0.02
    assert average_precision(scores[1], labels) > average_precision(scores[0], labels) + 0.02


BITS = {letter: [number >> bit & 1 for bit in range(3)] for number, letter in enumerate("abcdefgh")}


def features(path, others=(("z", "b"),)):
    """A table of features: of eight letters three bits, and of others those of one of these."""
    rows = [*BITS.items(), *((new, BITS[known]) for new, known in others)]
    lines = [f"{symbol}\ta letter\t" + "\t".join("-+"[bit] for bit in bits) for symbol, bits in rows]
    path.write_text("symbol\tname\tone\ttwo\tthree\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def featured(tmp_path_factory):
    path = features(tmp_path_factory.mktemp("features") / "table.tsv")
    made = OddsMatcher.fit(alike(400, seed=0), shared_alphabet=True, symbol_features=str(path), **QUICK)
    path.unlink()
    return made


NEW = [("azcd", "azce"), ("azcd", "abce"), ("abce", "zacd"), ("zzh", "bg"), ("zac", "z\u0301ad")]
OLD = [tuple(text.translate(str.maketrans("z", "b", "\u0301")) for text in pair) for pair in NEW]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_a_new_symbol_scores_as_a_known_one_with_the_same_features(featured, symmetric):
    assert featured.score(NEW) == pytest.approx(featured.score(OLD), abs=0.1)
    assert (abs(symmetric.score(NEW[1:]) - symmetric.score(OLD[1:])) > 1).all()
    assert featured.score([("awcd", "abce")])[0] < featured.score([("azcd", "abce")])[0] - 1
    assert str(featured.align("dza", "dba")) == "d z→b a"


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_with_features_a_symmetric_table_stays_symmetric(featured):
    odds = featured.network.odds()
    assert torch.equal(odds.substitute, odds.substitute.T)
    pairs = [*NEW, *alike(50, seed=2)]
    turned = [(target, source) for source, target in pairs]
    assert featured.score(pairs) == pytest.approx(featured.score(turned), abs=1e-9)


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_features_are_saved_with_the_model_which_needs_no_table_any_more(featured, tmp_path):
    pairs = [*NEW, *OLD]
    featured.save(tmp_path / "model")
    assert (nsed.load(tmp_path / "model").score(pairs) == featured.score(pairs)).all()
    assert featured.contents().tensors["symbol_features"].dtype == torch.float16  # 0 and 1 are the same in it
    featured.save(tmp_path / "half", half=True)
    assert nsed.load(tmp_path / "half").score(pairs) == pytest.approx(featured.score(pairs), abs=0.05)
    described = json.loads((tmp_path / "model" / DESCRIPTION).read_text(encoding="utf-8"))
    described["vocabularies"]["symbol_features"].pop()
    (tmp_path / "model" / DESCRIPTION).write_text(json.dumps(described), encoding="utf-8")
    with pytest.raises(
        ModelFileError, match=r"symbol_features: got a tensor of shape \(9, 3\), expected a row per symbol"
    ):
        nsed.load(tmp_path / "model")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_a_model_that_learns_more_keeps_its_features_and_begins_with_what_they_say(featured, tmp_path):
    more = nsed.Pairs(["zabc", "zade", "abcd", "bcda"], ["zabc", "zada", "hgfe", "aaaa"], [1, 1, 0, 0])
    still = OddsMatcher.fit(more, start=featured, train__learning_rate=0)
    assert "z" in still.tokenizers.source.vocabulary.symbols
    assert still.score(NEW[:-1]) == pytest.approx(featured.score(NEW[:-1]), abs=1e-4)
    assert still.symbol_features is featured.symbol_features
    with pytest.raises(ConfigError, match=r"symbol_features: got 'other.tsv', expected '.*table.tsv', as the model"):
        OddsMatcher.fit(more, start=featured, symbol_features="other.tsv")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_rare_symbols_learn_with_those_that_have_like_features(tmp_path):
    words = alike(200, seed=3)
    rare = nsed.Pairs([*words.sources, "azd"], [*words.targets, "abd"], [*words.labels, 1])
    settings = {"shared_alphabet": True, "train__learning_rate": 0, **QUICK}
    made = OddsMatcher.fit(rare, symbol_features=str(features(tmp_path / "t.tsv")), **settings)
    plain = OddsMatcher.fit(rare, **settings)
    for one, other in (("z", "z"), ("z", "b"), ("z", "c")):
        known, told, guessed = (
            {(each.source, each.target): each.log_odds for each in model.operations()}[pair]
            for model, pair in ((made, ("b", other.replace("z", "b"))), (made, (one, other)), (plain, (one, other)))
        )
        assert abs(told - known) <= abs(guessed - known) + 0.05


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_features_are_given_on_the_command_line(tmp_path):
    data, table = written(alike(100, seed=1), tmp_path / "pairs.tsv"), features(tmp_path / "table.tsv")
    settings = with_settings(f"symbol_features={table}", "shared_alphabet=true", "train.steps=5", "train.device=cpu")
    run("train", data, tmp_path / "m", "--model", "odds", *settings)
    table.unlink()
    made = nsed.load(tmp_path / "m")
    assert made.score(NEW) == pytest.approx(made.score(OLD), abs=0.1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"t\.tsv: cannot be read: No such file"),
        ("", r"t\.tsv: the file is empty; expected lines with a symbol and its features"),
        ("symbol\tone\n", r"t\.tsv:1: there is a header but no symbol below it"),
        ("a\tx\nb\ty\n", r"t\.tsv:2: no column has numbers; expected a symbol in the first column and numbers, or \+"),
        ("a\t1\nb\t0\na\t1\n", r"t\.tsv:3: the symbol 'a' is there twice"),
        ("é\t1\ne\u0301\t0\n", r"t\.tsv:2: the symbol 'é' is there twice"),
        ("a\t1\n\t0\n", r"t\.tsv:2: there is no symbol in the first column"),
        ("a\t1\nb\tnan\n", r"t\.tsv:2: feature 1 of 'b' is 'nan', expected a finite number, \+ or -: write 0"),
        ("a\t1\nb\t1e999\n", r"t\.tsv:2: feature 1 of 'b' is '1e999', expected a finite number"),
        ("a\t1\nb\t\n", r"t\.tsv:2: feature 1 of 'b' is '', expected a finite number"),
        ("a\t1\nb\t1\t2\n", r"t\.tsv:2: expected 2 columns separated by a tab, found 3"),
        ("a\t1\nb\t1\n", r"t\.tsv: all symbols have the same features"),
        (
            "п\t1\nб\t0\n",
            r"symbol_features: got .*t\.tsv, whose symbols begin п б, expected features of .*begin a b c d e",
        ),
    ],
    ids=str,
)
def test_a_table_of_features_that_will_not_do_says_why(content, message, tmp_path):
    if content is not None:
        (tmp_path / "t.tsv").write_text(content, encoding="utf-8")
    with pytest.raises((ArgumentError, DataError), match=message.replace("'é'", "'e\u0301'")):
        OddsMatcher.fit(alike(40, seed=0), symbol_features=str(tmp_path / "t.tsv"), **QUICK)


def test_features_are_numbers_or_signs_with_or_without_a_header_in_tsv_or_csv(tmp_path):
    (tmp_path / "t.csv").write_text('"a",+,0.5,"x, y"\n"b",-,-1,z\n', encoding="utf-8")
    (tmp_path / "t.tsv").write_text("ipa\tv\tw\tnote\n\na\t+\t0.5\tx\nb\t\u2212\t-1\ty\n", encoding="utf-8")
    for name in ("t.csv", "t.tsv"):
        assert read_symbol_features(tmp_path / name) == {"a": [1.0, 0.5], "b": [-1.0, -1.0]}


def test_the_table_of_panphon_is_read_if_that_is_installed_and_g_is_that_of_the_ipa(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("nsed.text.readers.delimited.find_spec", lambda _: None)
        with pytest.raises(
            NsedError, match=r"symbol_features: the package panphon is not installed: pip install panphon"
        ):
            OddsMatcher.fit(alike(40, seed=0), symbol_features="panphon", **QUICK)
    package = tmp_path / "panphon"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise ImportError('of this only the table is needed')")
    (package / "data" / "ipa_all.csv").write_text("ipa,voi,cont\nk,-,-\n\u0261,+,-\nx,-,+\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    found = read_symbol_features("panphon")
    assert found == {"k": [-1, -1], "\u0261": [1, -1], "x": [-1, 1], "g": [1, -1]}
