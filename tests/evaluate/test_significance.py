"""Intervals that hold what they promise, and tests that are not fooled."""

from itertools import product

import numpy as np
import pytest

from nsed.errors import ArgumentError
from nsed.evaluate import (
    bootstrap_interval,
    difference_interval,
    f1_interval,
    group_totals,
    matching_score,
    mean_interval,
    paired_statistic_test,
    paired_test,
    totals_interval,
)
from nsed.evaluate.significance import share_estimate, wilson_interval


def rate(rows):
    return rows[:, 0].sum() / rows[:, 1].sum()


def test_intervals_cover_the_truth_as_often_as_they_say():
    random = np.random.default_rng(0)
    samples = random.random((300, 200)) < 0.3
    intervals = [mean_interval(sample, level=0.9, resamples=300) for sample in samples]
    assert np.mean([low <= 0.3 <= high for low, high in intervals]) == pytest.approx(0.9, abs=0.05)


def test_the_interval_of_a_mean_is_that_of_the_normal_distribution():
    values = np.random.default_rng(1).normal(size=20_000)
    error = values.std() / np.sqrt(len(values))
    expected = (values.mean() - 1.96 * error, values.mean() + 1.96 * error)
    assert mean_interval(values, resamples=4000) == pytest.approx(expected, abs=0.1 * error)


def test_fast_intervals_are_those_of_any_statistic():
    rows = np.random.default_rng(2).integers(1, 9, size=(50, 2))
    assert mean_interval(rows[:, 0]) == pytest.approx(bootstrap_interval(rows[:, 0], np.mean))
    assert totals_interval(rows, lambda total: total[0] / total[1]) == pytest.approx(bootstrap_interval(rows, rate))
    zeros = np.column_stack([np.zeros(50), rows[:, 1]])
    assert difference_interval(rows, zeros, statistic=rate) == pytest.approx(bootstrap_interval(rows, rate))


def test_the_same_seed_gives_the_same_interval():
    values = np.random.default_rng(3).random(100)
    assert mean_interval(values, seed=1) == mean_interval(values, seed=1) != mean_interval(values, seed=2)
    narrow, wide = mean_interval(values, level=0.5), mean_interval(values, level=0.99)
    assert wide.low < narrow.low < narrow.high < wide.high


def test_the_interval_of_f1_is_that_of_scored_pairs():
    random = np.random.default_rng(4)
    labels = random.random(200) < 0.4
    scores = random.normal(size=200) + labels
    pairs = np.column_stack([scores, labels])
    slow = bootstrap_interval(pairs, lambda rows: matching_score(rows[:, 0], rows[:, 1] > 0, 0.5).f1)
    assert f1_interval(scores, labels, 0.5) == pytest.approx(slow)
    assert slow.low < matching_score(scores, labels, 0.5).f1 < slow.high
    assert f1_interval(np.array([0.0]), np.array([False]), 0.5) == (0, 0)


def test_identical_systems_do_not_differ():
    rows = np.random.default_rng(5).integers(1, 9, size=(40, 2))
    assert paired_test(rows[:, 0], rows[:, 0]) == (0, 1)
    assert paired_statistic_test(rows, rows, statistic=rate) == (0, 1)


def test_clearly_different_systems_differ():
    random = np.random.default_rng(6)
    wrong = random.random(2000) < 0.3
    worse = wrong | (random.random(2000) < 0.05)
    of_means = paired_test(wrong, worse, resamples=9999)
    of_statistics = paired_statistic_test(wrong, worse, statistic=np.mean, resamples=9999)
    for found in (of_means, of_statistics):
        assert found.difference == pytest.approx(wrong.mean() - worse.mean())
        assert found.p_value == 1e-4


def test_p_values_are_those_of_all_signs():
    differences = np.array([0.5, -0.1, 0.3, 0.0, 0.3, 0.2, -0.1])
    signs = np.array(list(product([-1, 1], repeat=7)))
    exact = np.mean(np.abs(signs @ differences) >= abs(differences.sum()) - 1e-9)
    assert paired_test(differences, np.zeros(7), resamples=50_000).p_value == pytest.approx(exact, abs=0.01)
    found = paired_statistic_test(differences, np.zeros(7), statistic=np.mean, resamples=5000)
    assert found.p_value == pytest.approx(exact, abs=0.02)


def test_systems_that_differ_by_chance_are_called_so_as_often_as_promised():
    random = np.random.default_rng(7)
    pairs = random.normal(size=(400, 2, 30))
    found = [paired_test(one, other, resamples=199).p_value for one, other in pairs]
    assert np.mean(np.array(found) <= 0.1) == pytest.approx(0.1, abs=0.04)


def test_many_items_are_taken_in_slices(monkeypatch):
    monkeypatch.setattr("nsed.evaluate.significance._AT_ONCE", 100)
    random = np.random.default_rng(8)
    first, second = random.random((2, 30))
    sliced = paired_test(first, second, resamples=1000)
    monkeypatch.undo()
    assert sliced.p_value == pytest.approx(paired_test(first, second, resamples=1000).p_value, abs=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mean_interval(np.array([])), "rows: got none, expected at least one item"),
        (lambda: mean_interval(np.ones(3), resamples=0), "resamples: got 0, expected at least 1"),
        (lambda: mean_interval(np.ones(3), level=95.0), "level: got 95.0, expected a share between 0 and 1"),
        (lambda: mean_interval(np.ones((3, 2))), r"values: got \(3, 2\), expected one value per item"),
        (lambda: bootstrap_interval(np.array([]), np.mean), "rows: got none, expected at least one item"),
        (lambda: paired_test(np.ones(3), np.ones(2)), r"second: got \(2,\), expected \(3,\), the items of the first"),
        (lambda: paired_test(np.ones((3, 2)), np.ones((3, 2))), r"first: got \(3, 2\), expected one value per item"),
        (lambda: paired_test(np.array([]), np.array([])), "rows: got none, expected at least one item"),
        (
            lambda: paired_statistic_test(np.ones(3), np.ones(2), statistic=np.mean),
            r"second: got \(2,\), expected \(3,\), the items of the first",
        ),
        (
            lambda: difference_interval(np.ones(3), np.ones(2), statistic=np.mean),
            r"second: got \(2,\), expected \(3,\), the items of the first",
        ),
    ],
)
def test_what_cannot_be_resampled_is_refused(call, message):
    with pytest.raises(ArgumentError, match=message):
        call()


def test_pairs_of_one_concept_are_not_as_much_evidence_as_pairs_of_many():
    """Twenty concepts of fifty pairs that are all right or all wrong: the interval is that of twenty items."""
    right = np.random.default_rng(4).random(20) < 0.5
    rows, concepts = np.stack([np.repeat(right, 50), np.ones(1000)], axis=1), np.repeat(np.arange(20), 50).tolist()
    (low, high), alone = totals_interval(group_totals(rows, concepts), share), totals_interval(rows, share)
    assert high - low == pytest.approx(np.subtract(*mean_interval(right)[::-1]), abs=0.02)
    assert high - low > 5 * (alone.high - alone.low)
    with pytest.raises(ArgumentError, match="groups: got 1 rows, expected 2, one for each row"):
        group_totals(np.zeros((2, 2)), ["hand"])


def share(totals):
    return totals[0] / totals[1]


def test_wilsons_interval_covers_the_truth_as_often_as_it_says_where_errors_are_few():
    random, truth, items = np.random.default_rng(0), 0.02, 60
    counts = random.binomial(items, truth, size=2000)
    intervals = {int(count): wilson_interval(count / items, items) for count in set(counts.tolist())}
    assert np.mean([intervals[count].low <= truth <= intervals[count].high for count in counts.tolist()]) > 0.92
    with pytest.raises(ArgumentError, match=r"share: got 1\.5 of 3 items, expected a share from 0 to 1"):
        wilson_interval(1.5, 3)


def test_totals_of_counts_are_counts():
    assert group_totals(np.array([[1, 4], [0, 3]]), ["hand", "hand"]).dtype == np.array([1]).dtype


def test_totals_of_booleans_are_counted_and_small_integers_do_not_overflow():
    totals = group_totals(np.array([True, True, False]), ["a", "a", "b"])
    assert (totals.dtype, totals.tolist()) == (np.int64, [2, 0])
    assert group_totals(np.array([100, 100], dtype=np.int8), "aa").tolist() == [200]
    assert group_totals(np.zeros((0, 2)), []).shape == (0, 2)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_difference_of_nan_has_no_smallest_p_value_but_is_refused(wrong):
    message = f"{{}}: got {wrong} for 1 of .*, expected finite numbers. Leave out, of both systems, the items"
    for name, systems in (("first", ([wrong, 1, 2], [1, 2, 3])), ("second", ([1, 2, 3], [1, wrong, 2]))):
        with pytest.raises(ArgumentError, match=message.format(name)):
            paired_test(*map(np.array, systems))
    rows = np.array([[1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ArgumentError, match=r"statistic: got .* expected finite numbers"):
        paired_statistic_test(rows, rows[::-1], statistic=lambda some: wrong if some[0, 1] else 1.0)


def test_wilsons_interval_of_none_and_of_all_ends_there():
    none, every = wilson_interval(0.0, 7), wilson_interval(1.0, 7)
    assert (none.low, every.high) == (0.0, 1.0)
    assert (none.high, every.low) == pytest.approx((1 - every.low, 1 - none.high))
    assert wilson_interval(0.9999, 7).high < 1


def test_what_is_not_said_is_as_documented():
    random = np.random.default_rng(9)
    first, second = random.random((2, 40))
    assert mean_interval(first) == mean_interval(first, level=0.95, resamples=1000, seed=0)
    assert mean_interval(first, level=0.95, resamples=999) != mean_interval(first)
    assert paired_test(first, second) == paired_test(first, second, resamples=10_000, seed=0)
    rows = np.column_stack([first, second])
    settings = {"level": 0.95, "resamples": 1000, "seed": 0}
    assert totals_interval(rows, share) == totals_interval(rows, share, **settings)
    assert bootstrap_interval(first, np.mean) == bootstrap_interval(first, np.mean, **settings)
    apart = {"statistic": np.mean}
    assert difference_interval(first, second, **apart) == difference_interval(first, second, **apart, **settings)
    found = paired_statistic_test(first, second, **apart)
    assert found == paired_statistic_test(first, second, **apart, resamples=1000, seed=0)


def test_differences_of_one_count_as_any_other_and_slices_make_no_more_of_them(monkeypatch):
    assert paired_test(np.ones(4), np.zeros(4)).p_value == pytest.approx(2 / 16, abs=0.02)
    monkeypatch.setattr("nsed.evaluate.significance._AT_ONCE", 100)
    assert paired_test(np.ones(40), np.zeros(40), resamples=999).p_value == 1e-3


def test_the_share_of_ten_items_is_resampled_and_that_of_fewer_is_not():
    hits = np.array([1.0, 0.0] * 5)
    bootstrapped = totals_interval(np.column_stack([hits, np.ones(10)]), share)
    assert share_estimate(hits, np.ones(10)).interval == bootstrapped
    assert share_estimate(hits[:8], np.ones(8)).interval == wilson_interval(0.5, 8)


def test_full_confidence_is_refused():
    with pytest.raises(ArgumentError, match=r"level: got 1\.0, expected a share between 0 and 1"):
        mean_interval(np.arange(9.0), level=1.0)
