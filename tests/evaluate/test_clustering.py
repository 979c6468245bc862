"""Groups against plain definitions and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from nsed.errors import ArgumentError
from nsed.evaluate import adjusted_rand, b_cubed

groups = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=25)


def plain_share(one, other):
    """The mean over items of the share of their group in one that is with them in the other."""
    shares = []
    for i in range(len(one)):
        together = [k for k in range(len(one)) if one[k] == one[i]]
        shares.append(sum(other[k] == other[i] for k in together) / len(together))
    return sum(shares) / len(shares)


@given(groups)
def test_b_cubed_is_its_definition(pairs):
    found, expected = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    precision, recall = plain_share(found, expected), plain_share(expected, found)
    score = b_cubed(found, expected)
    assert score == pytest.approx((precision, recall, 2 * precision * recall / (precision + recall)))


@given(groups)
def test_adjusted_rand_is_that_of_scikit_learn(pairs):
    found, expected = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    assert adjusted_rand(found, expected) == pytest.approx(adjusted_rand_score(expected, found))


def test_many_items_in_many_groups():
    random = np.random.default_rng(0)
    found = random.integers(60_000, size=200_000)
    expected = np.where(random.random(200_000) < 0.7, found, random.integers(60_000, size=200_000))
    assert adjusted_rand(found, expected) == pytest.approx(adjusted_rand_score(expected, found))
    assert 0.5 < b_cubed(found, expected).f1 < 1


def test_groups_may_have_any_name():
    score = b_cubed([("hand", 1), ("hand", 1), None, None], ["x", "x", 3.5, b"y"])
    assert score == pytest.approx((0.75, 1.0, 6 / 7))
    assert adjusted_rand(np.array(["a", "a", "b"]), ["x", "x", "y"]) == 1.0


@pytest.mark.parametrize("same", ["a", "aaaa", "abcd"])
def test_groups_that_leave_no_choice_agree(same):
    assert adjusted_rand(same, same) == 1.0
    assert b_cubed(same, same) == pytest.approx((1, 1, 1))


@pytest.mark.parametrize("metric", [b_cubed, adjusted_rand])
def test_groups_of_different_items_are_refused(metric):
    with pytest.raises(ArgumentError, match="expected: got the groups of 1 items, expected 2, as many as were found"):
        metric([1, 2], [1])
    with pytest.raises(ArgumentError, match=r"expected: got the groups of 0 items, expected 0, .* at least one"):
        metric([], [])
