"""Lists of answers against plain definitions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsed.errors import ArgumentError
from nsed.evaluate import nbest_accuracy, oracle_score, transduction_score, word_errors

words = st.text("ab", max_size=4)
lists = st.lists(
    st.tuples(st.lists(words, max_size=4), st.lists(words, min_size=1, max_size=3)), min_size=1, max_size=6
)


def plain_distance(one, other):
    if not one or not other:
        return len(one) + len(other)
    kept = plain_distance(one[1:], other[1:]) + (one[0] != other[0])
    return min(kept, plain_distance(one[1:], other) + 1, plain_distance(one, other[1:]) + 1)


@given(lists)
def test_oracle_is_the_best_of_all_choices(rows):
    outputs, references = [row[0] for row in rows], [row[1] for row in rows]
    rates = [
        min(plain_distance(output, ref) / max(len(ref), 1) for output in given or [""] for ref in accepted)
        for given, accepted in rows
    ]
    score = oracle_score(outputs, references)
    assert score.cer == pytest.approx(sum(rates) / len(rates))
    assert score.wer == pytest.approx(sum(rate > 0 for rate in rates) / len(rates))


@given(lists)
def test_accuracy_is_what_is_left_of_the_error(rows):
    outputs, references = [row[0] or [""] for row in rows], [row[1] for row in rows]
    accuracy = nbest_accuracy(outputs, references, ks=(1, 2, 4))
    first = transduction_score([given[0] for given in outputs], references)
    assert accuracy[1] == pytest.approx(1 - first.wer)
    assert accuracy[4] == pytest.approx(1 - oracle_score(outputs, references).wer)
    assert accuracy[1] <= accuracy[2] <= accuracy[4]


def test_symbols_may_come_in_any_sequence():
    outputs = [[("K", "AE", "T"), ("K", "AH", "T")], [("D", "AO", "G")], []]
    references = [[["K", "AH", "T"]], [["D", "AO", "G"], ["D", "AA", "G"]], [["AH"]]]
    assert nbest_accuracy(outputs, references) == pytest.approx({1: 1 / 3, 5: 2 / 3, 10: 2 / 3})
    assert oracle_score(outputs, references) == pytest.approx((1 / 3, 1 / 7, 1 / 3, 3))


def test_errors_of_each_word():
    errors = word_errors(["ab", "", "c"], [["ax", "abcd"], [""], ["dd", "ce"]])
    assert errors.edits.tolist() == [1, 0, 1]
    assert errors.lengths.tolist() == [2, 0, 2]
    assert errors.rates.tolist() == [0.5, 0, 0.5]
    assert errors.wrong.tolist() == [True, False, True]


@pytest.mark.parametrize("metric", [nbest_accuracy, oracle_score])
def test_lists_without_references_are_refused(metric):
    with pytest.raises(ArgumentError, match="references: got 0 rows, expected 1 with at least one reference each"):
        metric([["a"]], [])
    with pytest.raises(ArgumentError, match="outputs: got none, expected at least one word"):
        metric([], [])


@pytest.mark.parametrize("ks", [(), (1, 0)])
def test_the_first_none_are_refused(ks):
    with pytest.raises(ArgumentError, match=r"ks: got \[.*\], expected at least one number, all from 1"):
        nbest_accuracy([["a"]], [["a"]], ks=ks)
