"""What deserves a look comes first."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest

import nsed
from golden.answers import FOLDERS
from nsed.datasets.rule_language import matching_pairs
from nsed.errors import ArgumentError
from nsed.jobs.review import Order, review_pairs, review_words
from nsed.text import Pairs

WORDS = ["flagships", "read", "nguyen", "leicester", "the", "worcestershire"]


@pytest.fixture(scope="module")
def model():
    return nsed.load("g2p-en")


@pytest.mark.parametrize(
    ("by", "value", "sign"),
    [(Order.CONFIDENCE, "probability", 1), (Order.MARGIN, "margin", 1), (Order.ENTROPY, "entropy", -1)],
)
def test_the_least_certain_words_come_first(model, by, value, sign):
    reviewed = review_words(model, WORDS, by=by)
    values = [sign * getattr(word, value) for word in reviewed]
    assert values == sorted(values)
    assert sorted(word.source for word in reviewed) == sorted(WORDS)


def test_the_figures_are_those_of_the_answers(model):
    (word,) = review_words(model, ["read"])
    best = model.transduce(["read"], nbest=5)[0]
    p = np.exp([one.log_prob for one in best])
    assert word.answers == tuple(best)
    assert (word.target, word.disagreement) == (best[0].text, None)
    assert (word.probability, word.margin) == pytest.approx((p[0], p[0] - p[1]))
    assert word.entropy == pytest.approx(-sum(q * math.log(q) for q in [*p, 1 - p.sum()]))


def test_likely_errors_of_the_data_come_first_with_the_targets_of_the_data(model):
    first, second, third = review_words(
        model, ["flagships", "the", "read"], targets=["F L AE G SH IH P S", "K AE T", "R IY D"]
    )
    assert (first.source, first.target, first.answers[0].text) == ("the", "K AE T", "DH AH")
    assert second.source == "read"
    right, given = model.score([("read", "R EH D"), ("read", "R IY D")])
    assert second.disagreement == pytest.approx(right - given, abs=1e-3)
    assert (third.source, third.disagreement) == ("flagships", pytest.approx(0, abs=1e-3))


@pytest.fixture(scope="module")
def matcher():
    return nsed.load(FOLDERS / "matcher-rnn")


def test_pairs_nearest_to_a_toss_up_come_first(matcher):
    pairs = list(matching_pairs(60, seed=2))
    reviewed = review_pairs(matcher, pairs)
    distances = [abs(one.probability - 0.5) for one in reviewed]
    assert distances == sorted(distances)
    assert [one.label for one in reviewed] == matcher.match([(one.source, one.target) for one in reviewed]).tolist()
    assert reviewed[0].disagreement is None


def test_labels_that_the_matcher_contradicts_come_first(matcher):
    sure = review_pairs(matcher, list(matching_pairs(60, seed=2)))[-10:]
    wrong = sure[3]
    labels = [not one.label if one is wrong else one.label for one in sure]
    pairs = Pairs([one.source for one in sure], [one.target for one in sure], labels, ["x"] * 10, ["y"] * 10)
    first = review_pairs(matcher, pairs)[0]
    assert (first.source, first.target, first.label) == (wrong.source, wrong.target, not wrong.label)
    p = first.probability
    needed = matcher.threshold_probability
    assert first.disagreement == pytest.approx(abs(math.log(p / (1 - p)) - math.log(needed / (1 - needed))))
    assert first.languages == ("x", "y")


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_pairs_that_the_matcher_decides_as_the_data_do_are_no_disagreement_whatever_the_threshold(matcher, share):
    pairs = Pairs.of(list(matching_pairs(60, seed=2)))
    model = copy.copy(matcher)
    threshold = float(np.quantile(matcher.score(pairs), share))
    model.criterion = model.criterion._replace(threshold=threshold)
    assert model.threshold_probability != pytest.approx(0.5, abs=0.005)
    decided = replace(pairs, labels=model.match(pairs).tolist())
    assert {one.disagreement for one in review_pairs(model, decided)} == {0.0}
    turned = replace(pairs, labels=[not label for label in decided.labels])
    assert all(
        one.disagreement > 0 or one.probability == model.threshold_probability for one in review_pairs(model, turned)
    )


def test_of_pairs_that_disagree_alike_the_less_certain_one_comes_first(matcher):
    pairs = Pairs.of(list(matching_pairs(60, seed=2)))
    reviewed = review_pairs(matcher, replace(pairs, labels=matcher.match(pairs).tolist()))
    assert {one.disagreement for one in reviewed} == {0.0}
    assert [one.margin for one in reviewed] == sorted(one.margin for one in reviewed)


def test_disagreement_needs_data(model):
    with pytest.raises(ArgumentError, match="by: got disagreement, expected another order, or data"):
        review_words(model, ["a"], by=Order.DISAGREEMENT)
