"""Rankings against scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, roc_auc_score

from nsed.errors import ArgumentError
from nsed.evaluate import average_precision, roc_auc

BOTH = [average_precision, roc_auc]
tied = st.tuples(st.sampled_from([-3.0, -1.0, 0.0, 0.5, 2.0]), st.booleans())


@given(st.lists(tied, min_size=2, max_size=30).filter(lambda pairs: len({label for _, label in pairs}) == 2))
def test_ties_are_those_of_scikit_learn(pairs):
    scores, labels = np.array([score for score, _ in pairs]), np.array([label for _, label in pairs])
    assert average_precision(scores, labels) == pytest.approx(average_precision_score(labels, scores))
    assert roc_auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores))


@pytest.mark.parametrize("decimals", [1, 3, 15])
def test_large_rankings_are_those_of_scikit_learn(decimals):
    random = np.random.default_rng(decimals)
    labels = random.random(20_000) < 0.2
    scores = np.round(random.normal(size=20_000) + labels, decimals)
    assert average_precision(scores, labels) == pytest.approx(average_precision_score(labels, scores))
    assert roc_auc(scores, labels) == pytest.approx(roc_auc_score(labels, scores))


def test_small_rankings_by_hand():
    scores, labels = np.array([4.0, 3.0, 2.0, 1.0]), np.array([True, False, True, False])
    assert average_precision(scores, labels) == pytest.approx((1 + 2 / 3) / 2)
    assert roc_auc(scores, labels) == pytest.approx(3 / 4)
    assert [metric(-scores, ~labels) for metric in BOTH] == pytest.approx([5 / 6, 3 / 4])


@pytest.mark.parametrize("metric", BOTH)
def test_equal_scores_say_nothing(metric):
    labels = np.array([True, False, False, True, False])
    assert metric(np.zeros(5), labels) == pytest.approx({average_precision: 0.4, roc_auc: 0.5}[metric])


@pytest.mark.parametrize("metric", BOTH)
def test_minus_infinity_is_the_lowest_score(metric):
    assert metric(np.array([-1.0, -np.inf, -np.inf]), np.array([True, False, False])) == 1.0


@pytest.mark.parametrize("metric", BOTH)
@pytest.mark.parametrize(
    ("scores", "labels", "message"),
    [
        ([1.0, 2.0], [True, True], "labels: got 2 positive and 0 negative labels, expected both kinds"),
        ([1.0, 2.0], [False, False], "labels: got 0 positive and 2 negative labels, expected both kinds"),
        ([1.0, 2.0], [False], r"labels: got \(1,\), expected \(2,\), one per score, at least one"),
        ([], [], r"labels: got \(0,\), expected \(0,\), one per score, at least one"),
        ([1.0, np.nan], [True, False], "scores: got NaN for 1 of 2 pairs, expected numbers that can be ordered"),
    ],
)
def test_what_cannot_be_ranked_is_refused(metric, scores, labels, message):
    with pytest.raises(ArgumentError, match=message):
        metric(np.array(scores), np.array(labels, dtype=bool))
