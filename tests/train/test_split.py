"""Held-out pairs: no source on both sides, the same for the same seed, and models are validated on them alone."""

import json
import warnings

import numpy as np
import pytest

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.errors import ArgumentError, CutOutputWarning
from nsed.evaluate import best_threshold
from nsed.text import Pairs
from nsed.train.checkpoint import hash_of
from nsed.train.split import labelled_split, split, stratified_split, transduction_split, unseen

PAIRS = Pairs([f"s{row // 2}" for row in range(400)], [f"t{row}" for row in range(400)])
"""Two hundred sources with two targets each."""
TINY = {
    "encoder": {"kind": "rnn", "dim": 8, "layers": 1},
    "train": {"steps": 2, "batch_pairs": 32, "validate_every": 2, "warmup": 0, "device": "cpu"},
}


def test_no_source_stands_on_both_sides_and_no_pair_is_lost():
    training, held_out = split(PAIRS, None, seed=0)
    assert set(training.sources).isdisjoint(held_out.sources)
    assert sorted([*training, *held_out]) == sorted(PAIRS)


def test_a_twentieth_of_the_sources_is_held_out_but_at_least_one_and_at_most_two_thousand():
    assert [len(set(part.sources)) for part in split(PAIRS, None, seed=0)] == [190, 10]
    few, many = (Pairs([f"s{n}" for n in range(count)], ["t"] * count) for count in (3, 50_000))
    assert [len(part) for part in split(few, None, seed=0)] == [2, 1]
    assert [len(part) for part in split(many, None, seed=0)] == [48_000, 2000]


def test_a_single_source_is_learned_from_and_validated_with():
    training, held_out = split(Pairs(["s"], ["t"]), None, seed=0)
    assert list(training) == list(held_out) == [("s", "t")]


def test_another_seed_holds_out_other_sources():
    chosen = [set(split(PAIRS, None, seed=seed)[1].sources) for seed in (0, 0, 1)]
    assert chosen[0] == chosen[1] != chosen[2]


def test_given_validation_pairs_are_taken_and_nothing_is_held_out():
    given = Pairs(["x"], ["y"])
    training, held_out = split(PAIRS, given, seed=0)
    assert (training, held_out) == (PAIRS, given)
    with pytest.raises(ArgumentError, match="validation: got no pairs, expected at least one"):
        split(PAIRS, Pairs([], []), seed=0)


def test_validation_sources_that_are_learned_from_do_not_count_unless_all_are():
    known, new = [("s0", "t0"), ("s1", "t9")], [("new", "t")]
    assert list(unseen(Pairs.of(known + new), PAIRS)) == new
    assert list(unseen(Pairs.of(known), PAIRS)) == known
    assert list(transduction_split(Pairs.of(PAIRS), Pairs.of(known + new), seed=0)[1]) == new


def test_pairs_that_do_not_match_are_neither_learned_from_nor_validated_with():
    labelled = Pairs(PAIRS.sources, PAIRS.targets, [row % 2 == 0 for row in range(400)])
    training, held_out = transduction_split(Pairs.of(labelled), Pairs.of(labelled), seed=0)
    assert all(int(target[1:]) % 2 == 0 for part in (training, held_out) for _, target in part)


def test_labelled_pairs_are_split_by_their_sources_too():
    training, held_out = labelled_split(matching_pairs(400, seed=1), None, seed=0)
    assert (len(training), len(held_out)) == (380, 20)
    assert set(training.sources).isdisjoint(held_out.sources)


def few_matches(count, matches):
    """Sources of their own, a few of which match."""
    return Pairs([f"s{n}" for n in range(count)], [f"t{n}" for n in range(count)], [n < matches for n in range(count)])


@pytest.mark.parametrize("seed", range(20))
def test_the_hold_out_of_36_pairs_has_labels_of_both_kinds(seed):
    training, held_out = labelled_split(few_matches(36, 12), None, seed=seed)
    assert sorted(held_out.labels) == [False, True]
    assert (len(training), set(training.labels)) == (34, {False, True})


def test_the_hold_out_has_the_share_of_each_label():
    training, held_out = stratified_split(few_matches(4000, 400), seed=0)
    assert (sum(held_out.labels), len(held_out)) == (20, 200)
    assert sorted([*training, *held_out]) == sorted(few_matches(4000, 400))
    assert len(stratified_split(few_matches(60_000, 30_000), seed=0)[1]) == 2000


def test_matches_that_share_a_source_are_held_out_pair_by_pair_where_nothing_else_is_left():
    pairs = Pairs(["s"] * 4 + ["a", "b"], list("tuvwxy"), [True] * 4 + [False] * 2)
    for part in stratified_split(pairs, seed=0):
        assert set(part.labels) == {False, True}


@pytest.mark.parametrize("label", [0, 1])
def test_a_label_with_a_single_pair_is_named_and_what_to_do(label):
    pairs = few_matches(9, 8 if label == 0 else 1)
    expected = rf"labels: got a single pair with label {label}, expected at least two .* give validation pairs"
    with pytest.raises(ArgumentError, match=expected):
        nsed.Matcher.fit(pairs, config=from_mapping(nsed.MatcherConfig, TINY))


def test_a_matcher_learns_from_36_pairs_without_validation_pairs():
    for seed in range(3):
        config = from_mapping(nsed.MatcherConfig, TINY | {"train": TINY["train"] | {"seed": seed}})
        assert np.isfinite(nsed.Matcher.fit(few_matches(36, 12), config=config).threshold)


WRITERS = [(nsed.Transducer, nsed.TransducerConfig), (nsed.Seq2Seq, nsed.Seq2SeqConfig)]
DECIDERS = [(nsed.Matcher, nsed.MatcherConfig), (nsed.PairClassifier, nsed.StanceConfig)]


@pytest.mark.parametrize(("model", "config"), WRITERS + DECIDERS)
def test_the_record_of_a_training_says_what_was_held_out(model, config, tmp_path):
    pairs = transduction_pairs(200) if (model, config) in WRITERS else matching_pairs(200)
    model.fit(pairs, config=from_mapping(config, TINY), folder=tmp_path)
    parts = split(pairs, None, seed=0) if (model, config) in WRITERS else stratified_split(pairs, seed=0)
    facts, expected = json.loads((tmp_path / "run.json").read_text()), map(hash_of, parts)
    assert facts["pairs"] == {"training": 190, "validation": 10}
    assert facts["sha256"] == dict(zip(("training", "validation"), expected, strict=True))


@pytest.mark.parametrize(("model", "config"), WRITERS)
def test_error_rates_of_a_training_are_those_of_its_validation_pairs(model, config):
    """What the model writes after so few steps is wrong, but it is known: the same steps come to the same weights."""
    pairs, source = transduction_pairs(100), "C" * 11

    def fitted(target):
        return model.fit(pairs, validation=[(source, target)], config=from_mapping(config, TINY))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)
        written = fitted("c").transduce([source], beam=1)[0][0].text
        assert [fitted(target).record["wer"] for target in (written, written + "a")] == [0.0, 1.0]


@pytest.mark.parametrize(("model", "config"), DECIDERS)
def test_f1_and_threshold_of_a_training_are_those_of_its_held_out_pairs(model, config):
    pairs = matching_pairs(400, seed=1)
    fitted, held_out = model.fit(pairs, config=from_mapping(config, TINY)), stratified_split(pairs, seed=0)[1]
    best = best_threshold(fitted.score(held_out), np.asarray(held_out.labels))
    assert (fitted.record["f1"], fitted.threshold) == pytest.approx((best.f1, best.threshold))
