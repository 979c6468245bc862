"""Promises of probabilities against plain definitions and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

import nsed
from nsed.baselines.similarity import Levenshtein
from nsed.errors import ArgumentError
from nsed.evaluate import brier_score, expected_calibration_error, fit_calibration, reliability_bins
from nsed.evaluate.calibration import Calibration, logistic_regression
from nsed.models.matcher_mixture import MatcherMixture
from nsed.models.pair_model import Criterion
from nsed.text import Pairs

METRICS = [brier_score, expected_calibration_error, reliability_bins]


def drawn(seed, pairs=5000):
    random = np.random.default_rng(seed)
    probabilities = random.random(pairs)
    return probabilities, random.random(pairs) < probabilities**2


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=20))
def test_brier_score_is_that_of_scikit_learn(pairs):
    probabilities, labels = np.array([p for p, _ in pairs]), np.array([label for _, label in pairs])
    assert brier_score(probabilities, labels) == pytest.approx(brier_score_loss(labels, probabilities, pos_label=True))


@pytest.mark.parametrize("equal_mass", [False, True])
def test_bins_are_those_of_scikit_learn(equal_mass):
    probabilities, labels = drawn(0)
    found = reliability_bins(probabilities, labels, bins=8, equal_mass=equal_mass)
    strategy = "quantile" if equal_mass else "uniform"
    share, probability = calibration_curve(labels, probabilities, n_bins=8, strategy=strategy)
    assert found.probability == pytest.approx(probability, abs=1e-3)
    assert found.share == pytest.approx(share, abs=2e-3)
    assert found.pairs.sum() == len(labels)
    assert not equal_mass or set(found.pairs) == {625}


@pytest.mark.parametrize("equal_mass", [False, True])
def test_the_order_of_pairs_changes_nothing(equal_mass):
    probabilities, labels = drawn(1)
    probabilities, order = np.round(probabilities, 1), np.random.default_rng(2).permutation(len(labels))
    one, other = (
        reliability_bins(probabilities[rows], labels[rows], bins=4, equal_mass=equal_mass)
        for rows in (slice(None), order)
    )
    for ours, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(ours, theirs)


def test_calibration_error_by_hand():
    probabilities, labels = np.array([0.1, 0.2, 0.6, 1.0]), np.array([False, True, True, True])
    assert expected_calibration_error(probabilities, labels, bins=2) == pytest.approx(0.5 * 0.35 + 0.5 * 0.2)
    assert expected_calibration_error(probabilities, labels, bins=4, equal_mass=True) == pytest.approx(
        np.abs(probabilities - labels).mean()
    )
    assert expected_calibration_error(probabilities, labels, bins=1) == pytest.approx(0.75 - 0.475)


def test_kept_promises_have_a_small_error():
    probabilities, broken = drawn(3, pairs=50_000)
    kept = np.random.default_rng(4).random(50_000) < probabilities
    for equal_mass in (False, True):
        errors = [expected_calibration_error(probabilities, labels, equal_mass=equal_mass) for labels in (kept, broken)]
        assert errors == pytest.approx([0, 1 / 6], abs=0.01)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("value", [-2.5, 1.5, np.nan])
def test_scores_are_no_probabilities(metric, value):
    message = rf"probabilities: got {value:g}, expected numbers from 0 to 1. Calibrate scores first\."
    with pytest.raises(ArgumentError, match=message):
        metric(np.array([0.5, value]), np.array([True, False]))


@pytest.mark.parametrize("metric", METRICS)
def test_probabilities_without_labels_are_refused(metric):
    with pytest.raises(ArgumentError, match=r"labels: got \(0,\), expected \(0,\), one per score, at least one"):
        metric(np.array([]), np.array([], dtype=bool))


def test_no_bins_are_refused():
    with pytest.raises(ArgumentError, match="bins: got 0, expected at least 1"):
        reliability_bins(np.array([0.5]), np.array([True]), bins=0)


def test_a_handful_of_pairs_makes_no_certainty():
    """Platt's targets: of four matches without an exception, a fifth might have been one."""
    labels = np.array([False] * 4 + [True] * 4)
    found = fit_calibration(labels.astype(float), labels).probability(np.array([0.0, 1.0]))
    assert found == pytest.approx([1 / 6, 5 / 6], abs=1e-3)


def test_a_higher_score_is_never_less_probable_even_where_the_data_say_so():
    labels = np.array([True, True, False, False] * 5)
    assert fit_calibration(-labels.astype(float), labels).slope == 0


def test_a_log_probability_of_zero_is_not_capped_by_calibration():
    """Half of the matches are hard: of the log-probability itself, certainty would be no more than the intercept."""
    generator = np.random.default_rng(0)
    matches, others = generator.normal(0, 3, 3000), generator.normal(-3, 3, 3000)
    scores, labels = -np.logaddexp(0, -np.append(matches, others)), np.repeat([True, False], 3000)
    capped, free = (fit_calibration(scores, labels, form=form) for form in ("score", "log-odds"))
    certain = np.array([-1e-9, 0.0])
    assert (capped.probability(certain) < 0.9).all()
    assert (free.probability(certain) > 0.99).all()
    assert free.form == "log-odds"
    errors = [expected_calibration_error(one.probability(scores), labels) for one in (capped, free)]
    assert errors[1] < errors[0]
    assert (free.probability(np.array([-np.inf, -1e30])) < 1e-300).all()


def test_beta_calibration_is_that_of_its_definition_and_straight_without_a_bend():
    scores, bent = np.linspace(-30, 30, 61), Calibration(2.0, 0.5, "beta", 0.25)
    with np.errstate(over="ignore"):
        log_p, log_not = -np.logaddexp(0, -scores), -np.logaddexp(0, scores)
    constant = 0.5 - 2.0 * 0.25 * 2 * np.log(2)
    expected = 1.5 * log_p - 2.5 * log_not + constant
    assert 2.0 * bent.evidence(scores) + 0.5 == pytest.approx(expected)
    assert bent.steepness(scores) * scores == pytest.approx(bent.evidence(scores))
    assert (Calibration(2.0, 0.5, "beta").evidence(scores) == scores).all()
    assert bent.probability(np.array([-np.inf, 1e6])).tolist() == pytest.approx([0.0, 1.0])


def test_a_share_of_matches_that_look_like_none_bends_the_calibration_and_keeps_its_promise():
    generator = np.random.default_rng(0)
    scores = generator.normal(-2, 3, 20_000)
    labels = generator.random(20_000) < 0.05 + 0.95 / (1 + np.exp(-scores))
    straight, bent = (fit_calibration(scores[:10_000], labels[:10_000], form=form) for form in ("score", "beta"))
    errors = [expected_calibration_error(one.probability(scores[10_000:]), labels[10_000:]) for one in (straight, bent)]
    assert bent.bend > 0.2
    assert errors[1] < 0.02 < errors[0]
    assert (np.diff(bent.probability(np.sort(scores))) >= 0).all()


def test_few_pairs_bend_nothing_much_and_a_bend_is_kept_in_files():
    scores, labels = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]), np.array([False, False, True, False, True, True])
    found = fit_calibration(scores, labels, form="beta")
    assert abs(found.bend) < 0.1
    assert Criterion.of_record(*Criterion(0.5, found).record()).calibration == found
    assert Calibration(1.0, 0.0).record == [1.0, 0.0, "score"]


MATCHES = [(word, word.replace("a", "e")) for word in ("gray", "gala", "lay", "ray", "yard", "drag")] * 4
OTHERS = [(one, other) for one, _ in MATCHES[:6] for _, other in MATCHES[:6] if one[:2] != other[:2]] * 3
LABELLED = Pairs.of(MATCHES + OTHERS, [1] * len(MATCHES) + [0] * len(OTHERS))


@pytest.mark.filterwarnings("ignore::nsed.errors.ContradictoryLabelsWarning")  # some matches are among the others
@pytest.mark.parametrize(
    "fitted",
    [
        lambda: nsed.LearnableEditDistance.fit(LABELLED, validation=LABELLED),
        lambda: nsed.OddsMatcher.fit(LABELLED, train__steps=2),
        lambda: MatcherMixture.of([nsed.OddsMatcher.fit(LABELLED, train__steps=2)] * 2, validation=LABELLED),
        lambda: Levenshtein.fit(LABELLED),
    ],
    ids=["edit-distance", "odds", "mixture", "baseline"],
)
def test_the_share_of_matches_that_a_calibration_is_of_is_kept_in_files(fitted, tmp_path):
    model = fitted()
    assert model.criterion.share == pytest.approx(len(MATCHES) / len(LABELLED), abs=0.02)
    model.save(tmp_path / "model")
    again = nsed.load(tmp_path / "model")
    assert again.criterion == model.criterion
    assert "match_share" not in getattr(again, "record", {})
    older = Criterion.of_record(*model.criterion.record()).with_share({"threshold": 0})
    assert (older, older.prior) == (model.criterion._replace(share=None), None)


@pytest.mark.parametrize("wrong", [0.0, 1.0, -0.5, float("nan"), "half", True])
def test_a_share_of_matches_that_is_none_is_refused(wrong):
    with pytest.raises(ArgumentError, match="match_share: got "):
        Criterion(0.5, Calibration(1.0, 0.0)).with_share({"match_share": wrong})


def test_bins_count_by_their_pairs():
    probabilities, labels = np.array([0.1] * 9 + [0.9]), np.array([False] * 10)
    assert expected_calibration_error(probabilities, labels) == pytest.approx(0.9 * 0.1 + 0.1 * 0.9)


def test_a_score_of_nan_has_no_probability():
    with pytest.raises(ArgumentError, match="scores: got NaN, expected numbers: NaN is no probability"):
        Calibration(1.0, 0.0).probability(np.array([0.0, np.nan]))


def test_a_score_of_infinity_is_certain_and_does_not_have_a_probability_of_zero():
    for form in ("score", "log-odds", "beta"):
        found = Calibration(1.0, -2.0, form).probability(np.array([np.inf, -np.inf]))
        assert found[0] == 1
        assert found[1] < 1e-300
    assert Criterion(np.inf, Calibration(1.0, 0.0)).probability == 1


@pytest.mark.parametrize("form", ["score", "log-odds", "beta"])
def test_calibration_of_impossible_pairs_alone_says_what_share_matches_and_does_not_die_of_an_empty_array(form):
    labels, lowest = np.array([True, False, False] * 20), np.full(60, -np.inf)
    assert fit_calibration(lowest, labels, form=form).probability(lowest) == pytest.approx(21 / 62, abs=0.02)
    found = fit_calibration(np.where(labels, np.inf, -np.inf), labels).probability(np.array([-np.inf, 0.0, np.inf]))
    assert (np.diff(found) > 0.1).all()


@pytest.mark.parametrize("form", ["score", "log-odds", "beta"])
def test_without_a_slope_scores_say_nothing_and_infinite_ones_no_more(form):
    flat = Calibration(0.0, -2.0, form)
    assert np.unique(flat.logits(np.array([-np.inf, -1.0, 0.0, np.inf]))).tolist() == [-2.0]
    infinite = np.array([np.inf, np.inf, -np.inf, -np.inf])
    against = fit_calibration(infinite, np.array([False, False, True, True]))
    assert (against.probability(infinite) == 0.5).all()


def test_scores_so_close_that_their_spread_is_no_number_are_calibrated():
    found = fit_calibration(np.array([0.0, 1e-200, 2e-200, 3e-200]), np.array([False, False, True, True]))
    assert np.isfinite(found.slope)
    assert np.isfinite(found.intercept)


def test_equal_scores_have_no_slope_though_their_mean_is_off_by_a_last_digit():
    for form in ("score", "beta"):
        found = fit_calibration(np.full(3, 0.1), np.array([True, False, False]), form=form)
        assert found.slope == 0
        assert found.probability(np.array([0.0, 0.1])) == pytest.approx(7 / 18, abs=0.01)


def test_fitting_counts_infinite_scores_as_the_highest_and_refuses_nan():
    scores, labels = np.array([-1.0, 0.0, 1.0, np.inf] * 5), np.array([False, False, True, True] * 5)
    assert fit_calibration(scores, labels) == fit_calibration(np.where(np.isinf(scores), 2.0, scores), labels)
    with pytest.raises(ArgumentError, match="scores: got NaN, expected numbers"):
        fit_calibration(np.array([0.0, np.nan]), np.array([True, False]))


def test_there_are_ten_bins_of_equal_width_unless_others_are_asked_for():
    probabilities, labels = drawn(5, pairs=500)
    for found, expected in zip(
        reliability_bins(probabilities, labels),
        reliability_bins(probabilities, labels, bins=10, equal_mass=False),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
    error = expected_calibration_error(probabilities, labels)
    assert error == expected_calibration_error(probabilities, labels, bins=10, equal_mass=False)


def test_certainty_is_in_the_last_bin():
    found = reliability_bins(np.array([0.95, 1.0]), np.array([True, True]), bins=10)
    assert found.pairs.tolist() == [2]


def test_steepness_times_a_score_is_its_evidence_and_one_at_zero():
    bent, scores = Calibration(1.0, 0.0, "beta", 0.4), np.array([-8.0, -1.0, 0.0, 0.5, 3.0])
    np.testing.assert_allclose(bent.steepness(scores) * scores, bent.evidence(scores))
    assert bent.steepness(np.zeros(1)).tolist() == [1.0]


def test_the_largest_scores_have_finite_log_odds():
    found = Calibration(10.0, 0.0).logits(np.array([-1e308, 1e308]))
    assert np.isfinite(found).all()
    assert found[0] == -found[1] < 0


def test_scores_that_are_all_infinite_are_as_far_from_zero_on_both_sides():
    calibration = fit_calibration(np.array([-np.inf, -np.inf, np.inf, np.inf]), np.array([False, False, True, True]))
    assert calibration.intercept == pytest.approx(0.0, abs=1e-9)
    assert calibration.slope > 1


def test_scores_that_say_the_contrary_bend_nothing():
    scores = np.linspace(-6, 2, 40)
    assert fit_calibration(scores, scores < -3, form="beta").bend == 0.0


@pytest.mark.parametrize("ridge", [1e-6, 30.0])
def test_logistic_regression_ends_where_its_gradient_is_zero(ridge):
    random = np.random.default_rng(0)
    features, targets = random.normal(size=(30, 3)), random.random(30)
    weights = logistic_regression(features, targets, ridge=ridge)
    predicted = 1 / (1 + np.exp(-features @ weights))
    np.testing.assert_allclose(features.T @ (predicted - targets) + ridge * weights, 0, atol=1e-7)
