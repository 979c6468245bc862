"""Held-out pairs: no source on both sides, the same for the same seed, and models are validated on them alone."""

import json
import time
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.errors import ArgumentError, CutOutputWarning
from nsed.evaluate import best_threshold
from nsed.text import Pairs
from nsed.train.checkpoint import hash_of
from nsed.train.split import UnionFind, components, labelled_split, split, stratified_split, transduction_split, unseen

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


def searched(links, size):
    """Number of each record's component, by breadth-first search from the lowest record that has none."""
    near = {record: set() for record in range(size)}
    for one, other in links:
        near[one].add(other)
        near[other].add(one)
    found, count = {}, 0
    for record in range(size):
        reached = {record} if record not in found else set()
        count += record not in found
        while reached:
            found |= dict.fromkeys(reached, count)
            reached = {other for one in reached for other in near[one]} - set(found)
    return [found[record] for record in range(size)]


def united(size, batches):
    found = UnionFind(size)
    for batch in batches:
        found.link(*np.array(batch, dtype=np.int64).reshape(-1, 2).T)
    return found


@st.composite
def streams(draw):
    """Links of some records, in some order and direction, those with themselves too, and where batches end."""
    size = draw(st.integers(1, 40))
    record = st.integers(0, size - 1)
    links = draw(st.lists(st.tuples(record, record), max_size=60))
    cuts = sorted(draw(st.lists(st.integers(0, len(links)), max_size=8)))  # a cut twice is an empty batch
    batches = [links[start:end] for start, end in zip([0, *cuts], [*cuts, len(links)], strict=True)]
    return size, links, batches, draw(st.permutations(links)), draw(st.lists(st.booleans(), min_size=60, max_size=60))


@given(streams())
def test_components_are_those_of_a_search_whatever_order_direction_and_batches_links_have(stream):
    size, links, batches, shuffled, turned = stream
    expected = searched(links, size)
    other_way = [link[::-1] if turn else link for link, turn in zip(shuffled, turned, strict=False)]
    for some in (batches, [links], [[link] for link in shuffled], [other_way, other_way]):
        assert united(size, some).numbers().tolist() == expected
    firsts = components(*np.array(links, dtype=np.int64).reshape(-1, 2).T, size)
    assert firsts.tolist() == [expected.index(number) for number in expected]
    assert firsts.dtype == np.int64


def test_numbers_may_be_asked_for_between_batches():
    found = united(6, [[(4, 5)]])
    assert found.numbers().tolist() == [1, 2, 3, 4, 5, 5]
    found.link(np.array([5]), np.array([1]))
    assert found.numbers().tolist() == [1, 2, 3, 4, 2, 2]
    assert found.find(np.array([5, 0])).tolist() == [1, 0]


def long_links(kind, count):
    stream, row = np.random.default_rng(0), np.arange(count)
    if kind == "chain":
        return row, row + 1
    if kind == "chain, last link first":
        return row[::-1] + 1, row[::-1]
    if kind == "chain of shuffled records":
        order = stream.permutation(count + 1)
        return order[:-1], order[1:]
    return (row * 0, row + 1) if kind == "star" else (row * 0 + count, stream.permutation(count))


@pytest.mark.parametrize("batch", [1000, 10**6])
@pytest.mark.parametrize(
    "kind", ["chain", "chain, last link first", "chain of shuffled records", "star", "star of the last"]
)
def test_a_million_links_of_a_chain_or_a_star_are_not_quadratic(kind, batch):
    count = 10**6
    left, right = long_links(kind, count)
    start, found = time.process_time(), UnionFind(count + 1)
    for first in range(0, count, batch):
        found.link(left[first : first + batch], right[first : first + batch])
    assert found.numbers().max() == 1
    assert found.above.nbytes == 4 * (count + 1)
    assert time.process_time() - start < 20  # 0.1 to 0.4 s; quadratic, it would be hours
