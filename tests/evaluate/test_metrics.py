"""Metrics against plain definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsed.errors import ArgumentError
from nsed.evaluate import best_threshold, fit_calibration, length_groups, matching_score, script_of, transduction_score
from nsed.evaluate.matching import best_f1, threshold_at_precision, threshold_curve


def plain_f1(scores, labels, threshold):
    called = [score >= threshold for score in scores]
    true = sum(c and label for c, label in zip(called, labels, strict=True))
    false = sum(c and not label for c, label in zip(called, labels, strict=True))
    missed = sum(label and not c for c, label in zip(called, labels, strict=True))
    return 2 * true / max(2 * true + false + missed, 1e-12)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0]), st.booleans()), min_size=1, max_size=12))
def test_best_threshold_is_the_best_of_all(pairs):
    scores, labels = np.array([s for s, _ in pairs]), np.array([label for _, label in pairs])
    found = best_threshold(scores, labels)
    every = [*scores, scores.max() + 1]
    assert found.f1 == pytest.approx(max(plain_f1(scores, labels, t) for t in every), abs=1e-9)
    assert found.f1 == pytest.approx(plain_f1(scores, labels, found.threshold), abs=1e-9)


def test_thresholds_by_precision_and_by_f1_are_those_of_the_plain_definition():
    random = np.random.default_rng(0)
    labels = random.random(60) < 0.4
    scores = np.round(random.normal(size=60) + labels, 1)
    curve = threshold_curve(scores, labels)
    assert [point.threshold for point in curve] == sorted(set(scores.tolist()), reverse=True)
    for point in curve:
        assert point.f1 == pytest.approx(plain_f1(scores, labels, point.threshold))
    assert best_f1(curve).f1 == pytest.approx(best_threshold(scores, labels).f1)
    enough = [t for t in set(scores.tolist()) if labels[scores >= t].mean() >= 0.75]
    assert threshold_at_precision(curve, 0.75).threshold == min(enough)


def test_matches_without_a_score_count_in_recall():
    scores, labels = np.array([0.9, 0.6, 0.2]), np.array([True, False, True])
    all_scored, some_lost = threshold_curve(scores, labels), threshold_curve(scores, labels, positives=4)
    assert [point.recall for point in all_scored] == [0.5, 0.5, 1.0]
    assert [point.recall for point in some_lost] == [0.25, 0.25, 0.5]
    assert [point.f1 for point in some_lost] == pytest.approx([2 / 5, 2 / 6, 4 / 7])
    assert [point.precision for point in some_lost] == [point.precision for point in all_scored]


@pytest.mark.parametrize(
    ("precision", "message"),
    [
        (0.0, r"precision: got 0\.0, expected a share above 0, at most 1"),
        (1.5, r"precision: got 1\.5, expected a share above 0, at most 1"),
        (0.9, r"precision: got 0\.9, expected at most 0\.5000, the highest precision of any threshold"),
    ],
)
def test_a_precision_that_no_threshold_has_is_refused(precision, message):
    curve = threshold_curve(np.array([0.9, 0.5]), np.array([False, True]))
    assert threshold_at_precision(curve, 0.5).threshold == 0.5
    with pytest.raises(ArgumentError, match=message):
        threshold_at_precision(curve, precision)


@pytest.mark.parametrize("choose", [best_f1, lambda curve: threshold_at_precision(curve, 0.5)])
def test_a_curve_without_a_point_is_no_error_of_max(choose):
    with pytest.raises(ArgumentError, match="curve: got no point, expected one or more, as threshold_curve makes them"):
        choose([])


def test_minus_infinity_is_a_score():
    found = best_threshold(np.array([-1.0, -np.inf]), np.array([True, False]))
    assert found.f1 == 1.0
    assert matching_score(np.array([-1.0, -np.inf]), np.array([True, False]), found.threshold).recall == 1.0


@pytest.mark.parametrize("metric", [best_threshold, threshold_curve, lambda *given: matching_score(*given, 0.4)])
def test_a_score_of_nan_is_no_threshold_and_no_match_but_refused(metric):
    with pytest.raises(ArgumentError, match="scores: got NaN for 1 of 2 pairs, expected numbers that can be ordered"):
        metric(np.array([np.nan, 0.5]), np.array([True, False]))


@pytest.mark.parametrize("labels", [["0", "1"], [-1, 1], [np.nan, 1.0], [None, True]])
def test_labels_that_are_neither_true_nor_false_do_not_count_as_true(labels):
    with pytest.raises(ArgumentError, match=r"labels: got .*, expected true and false, or 1 and 0"):
        matching_score(np.array([0.2, 0.5]), np.array(labels), 0.4)
    for known in ([0, 1], [0.0, 1.0], np.array([False, True], dtype=object)):
        assert matching_score(np.array([0.2, 0.5]), np.array(known), 0.4).f1 == 1


def test_no_items_have_no_groups_of_lengths():
    assert length_groups(np.array([], dtype=int)) == []


def test_rates_of_words_and_symbols():
    score = transduction_score([["a", "b"], ["c"], []], [[["a", "x"]], [["c"], ["d", "d"]], [["e"]]])
    assert score.cer == pytest.approx((0.5 + 0 + 1) / 3)
    assert score.corpus_cer == pytest.approx(2 / 4)
    assert score.wer == pytest.approx(2 / 3)


def test_a_single_wrong_symbol_is_an_error_rate_of_one():
    assert transduction_score(["b"], [["a"]]) == (1, 1, 1, 1)


@pytest.mark.parametrize(("outputs", "references"), [([["a"]], []), ([["a"]], [[]]), ([], [])])
def test_wrong_sizes_are_refused(outputs, references):
    with pytest.raises(ArgumentError, match=r"references: got|outputs: got none"):
        transduction_score(outputs, references)


def test_calibrated_probabilities_keep_their_promise():
    random = np.random.default_rng(0)
    scores = random.normal(size=20_000) * 2 - 3
    labels = random.random(20_000) < 1 / (1 + np.exp(-(1.5 * scores + 4)))
    found = fit_calibration(scores, labels)
    assert found.slope == pytest.approx(1.5, abs=0.1)
    assert found.intercept == pytest.approx(4, abs=0.2)
    probability = found.probability(scores)
    for low in np.arange(0, 1, 0.2):
        chosen = (probability >= low) & (probability < low + 0.2)
        assert labels[chosen].mean() == pytest.approx(probability[chosen].mean(), abs=0.03)


def test_calibration_of_separable_scores_and_of_infinity():
    found = fit_calibration(np.array([-0.1, -0.2, -50.0, -np.inf]), np.array([True, True, False, False]))
    probability = found.probability(np.array([-0.1, -50.0, -np.inf]))
    assert probability[0] > 0.6
    assert 0.4 > probability[1] >= probability[2]
    with pytest.raises(ArgumentError, match="labels: got 2 positive and 0 negative labels, expected both kinds"):
        fit_calibration(np.array([-1.0, -2.0]), np.array([True, True]))


def test_letters_without_a_name_have_no_script():
    assert script_of("\U00017000") == "none"
    assert script_of("\U00017000ab") == "latin"
