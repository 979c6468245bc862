"""Estimators behave as those of scikit-learn: cloned, searched over, piped, pickled, and checked by its own checks."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import nsed
from nsed.sklearn import StringCandidates, StringPairClassifier, StringTransducer

pytestmark = pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")  # the data are small
WORDS = {"colour": "color", "honour": "honor", "odour": "odor", "centre": "center", "fibre": "fiber", "metre": "meter"}
PAIRS = [(british, american) for british in WORDS for american in WORDS.values()]
LABELS = np.array([WORDS[british] == american for british, american in PAIRS])
FRAME = pd.DataFrame(PAIRS, columns=["british", "american"], index=range(100, 100 + len(PAIRS)))
APPLICABLE = {
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_estimators_unfitted",
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_mixin_order",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_fit1d",
    "check_requires_y_none",
}
OF_CLASSIFIERS = {
    "check_complex_data",
    "check_classifiers_one_label",
    "check_classifiers_regression_target",
    "check_classifier_not_supporting_multiclass",
    "check_supervised_y_no_nan",
}
"""Checks of scikit-learn that need no data of numbers: all others fit some, which are no strings."""


@pytest.fixture(scope="module")
def classifier():
    return StringPairClassifier("levenshtein").fit(PAIRS, LABELS)


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (StringPairClassifier(), APPLICABLE | OF_CLASSIFIERS),
        (StringPairClassifier("levenshtein", smoothing=1, nothing=2), {"check_estimator_cloneable"}),
        (StringTransducer(), APPLICABLE),
        (StringCandidates(), APPLICABLE - {"check_requires_y_none"} | {"check_transformers_unfitted"}),
    ],
)
def test_checks_of_scikit_learn_pass(estimator, expected):
    with pytest.warns() as _:  # what it skips, it says
        found = check_estimator(estimator, on_fail=None)
    assert expected <= {one["check_name"] for one in found if one["status"] == "passed"}


@pytest.mark.parametrize(
    "given",
    [
        PAIRS,
        np.array(PAIRS),
        np.array(PAIRS, dtype=object),
        FRAME,
        pl.DataFrame(PAIRS, orient="row", schema=["a", "b"]),
    ],
    ids=["list", "array", "objects", "pandas", "polars"],
)
def test_every_form_of_pairs_has_the_same_answers(classifier, given):
    fitted = StringPairClassifier("levenshtein").fit(given, LABELS)
    assert fitted.n_features_in_ == 2
    assert np.array_equal(fitted.decision_function(given), classifier.decision_function(PAIRS))


def test_answers_are_those_of_the_model(classifier):
    model = classifier.model_
    assert is_classifier(classifier)
    assert np.array_equal(classifier.predict(PAIRS), model.match(PAIRS))
    assert np.array_equal(classifier.decision_function(PAIRS) >= 0, model.match(PAIRS))
    assert np.array_equal(classifier.predict_proba(PAIRS)[:, 1], model.probability(PAIRS))
    assert np.allclose(classifier.predict_proba(PAIRS).sum(axis=1), 1)
    assert classifier.score(PAIRS, LABELS) == np.mean(model.match(PAIRS) == LABELS) == 1


def test_classes_are_those_given_and_the_second_one_matches():
    named = StringPairClassifier("levenshtein").fit(FRAME, np.where(LABELS, "same", "other"))
    assert named.classes_.tolist() == ["other", "same"]
    assert named.predict([("labour", "labor"), ("labour", "meter")]).tolist() == ["same", "other"]


@pytest.mark.slow
def test_odds_and_networks_are_trained_with_their_settings():
    odds = StringPairClassifier(train__steps=2, iterations=2).fit(PAIRS, LABELS)
    assert isinstance(odds.model_, nsed.OddsMatcher)
    assert odds.model_.config.train.steps == 2
    network = clone(odds).set_params(model="matcher", encoder__dim=8, encoder__kind="unigram", train__steps=1)
    del network.iterations  # not a setting of networks
    assert isinstance(network.fit(PAIRS, LABELS).model_, nsed.Matcher)
    assert network.model_.config.encoder.dim == 8


def test_same_settings_make_the_same_model_and_pickles_answer_as_it():
    one = StringPairClassifier("edit-distance", iterations=2).fit(FRAME, LABELS)
    other, pickled = clone(one).fit(FRAME, LABELS), pickle.loads(pickle.dumps(one))
    assert not hasattr(clone(one), "model_")
    expected = one.predict_proba(FRAME)
    assert np.array_equal(other.predict_proba(FRAME), expected)
    assert np.array_equal(pickled.predict_proba(FRAME), expected)
    assert pickled.get_params() == {"model": "edit-distance", "iterations": 2}


def test_order_and_subsets_of_pairs_change_no_answer(classifier):
    shuffled = np.random.default_rng(0).permutation(len(PAIRS))
    expected = classifier.decision_function(PAIRS)
    assert np.array_equal(classifier.decision_function([PAIRS[row] for row in shuffled]), expected[shuffled])
    assert [classifier.decision_function([pair])[0] for pair in PAIRS[:5]] == expected[:5].tolist()


def test_pipelines_and_grids_reach_the_settings():
    lower = FunctionTransformer(lambda pairs: np.char.lower(pairs.astype(str)))
    pipeline = make_pipeline(lower, StringPairClassifier("edit-distance"))
    grid = [
        {"stringpairclassifier__model": ["levenshtein", "jaro-winkler"]},
        {"stringpairclassifier__iterations": [1, 3], "stringpairclassifier__relative": [True]},
    ]
    found = GridSearchCV(pipeline, grid, cv=2, scoring="average_precision", error_score="raise")
    found.fit(np.char.upper(np.array(PAIRS)), LABELS)
    assert found.best_score_ > 0.9
    assert len(found.cv_results_["params"]) == 4
    searched = clone(pipeline).set_params(**found.cv_results_["params"][-1]).fit(np.array(PAIRS), LABELS)
    assert searched[-1].model_.config.iterations == 3
    assert cross_val_predict(pipeline, np.array(PAIRS), LABELS, cv=2, method="predict_proba").shape == (len(PAIRS), 2)


def test_frames_with_other_columns_are_refused(classifier):
    fitted = StringPairClassifier("levenshtein").fit(FRAME, LABELS)
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(FRAME.rename(columns={"british": "english"}))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (StringPairClassifier("levenstein"), "model: got 'levenstein', expected one of cross-encoder, "),
        (
            StringPairClassifier(encoder__dim=8),
            "encoder__dim: got a name that is none, expected a setting of the model",
        ),
        (StringPairClassifier("transducer"), "model: got 'transducer', expected a kind of model that can match"),
    ],
)
def test_what_is_wrong_is_said_in_fit(estimator, message):
    with pytest.raises(nsed.NsedError, match=message):
        estimator.fit(PAIRS, LABELS)


def test_settings_that_are_none_are_refused_at_once():
    with pytest.raises(ValueError, match="Did you mean 'train__steps'"):
        StringPairClassifier().set_params(train__stepz=3)


def test_transducers_write_and_are_scored_by_words():
    sources, targets = list(WORDS), list(WORDS.values())
    settings = {"encoder__kind": "cnn", "encoder__dim": 8, "train__steps": 2, "longest_output": 3}
    model = StringTransducer(**settings)
    with pytest.raises(NotFittedError):
        model.predict(sources)
    model.fit(sources, targets)
    assert isinstance(model.model_, nsed.Transducer)
    assert model.model_.config.train.steps == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", nsed.errors.CutOutputWarning)  # two steps teach nobody where to end
        written = model.predict(pd.Series(sources))
    assert written.shape == (len(sources),)
    assert all(isinstance(one, str) for one in written)


@pytest.mark.parametrize(
    "column",
    [list, np.array, pd.Series, pl.Series, lambda words: pd.DataFrame({"word": words}), lambda w: np.array(w)[:, None]],
)
def test_transducers_take_columns_of_every_kind(column):
    sources, targets = list(WORDS), list(WORDS.values())
    model = StringTransducer("lookup").fit(column(sources), targets)
    assert model.predict(column(sources)).tolist() == targets
    assert model.score(column(sources), ["color", *targets[1:-1], "metre"]) == pytest.approx(5 / 6)
    assert clone(model).fit(column(sources), targets).predict(column(sources)).tolist() == targets


def test_impossible_pairs_at_a_threshold_of_minus_infinity_are_at_zero_and_not_nan():
    pairs = [("a", "b"), ("c", "d"), ("a", "b"), ("c", "d"), ("x", "y"), ("x", "q"), ("z", "p"), ("k", "l")]
    classifier = StringPairClassifier("edit-distance", smoothing=0, relative=False).fit(pairs, [1] * 4 + [0] * 4)
    assert classifier.model_.threshold == -np.inf
    assert classifier.decision_function([("a", "q"), ("a", "b")]).tolist() == [0, np.inf]


NAMES = ["Vienna", "Venice", "Verona", "Siena", "Wiener Neustadt"]


def test_candidates_have_neighbours_and_a_sparse_matrix_of_scores():
    index = StringCandidates(k=2).fit(NAMES)
    found = nsed.Candidates(k=2).fit(NAMES).query(["wien", "qqq", "venezia"])
    again = index.query(["wien", "qqq", "venezia"])
    assert [one.tolist() for one in again] == [one.tolist() for one in found]
    distances, rows = index.kneighbors(["wien", "qqq", "venezia"])
    assert rows.tolist() == [[*found.references[:2]], [-1, -1], [*found.references[2:]]]
    assert distances[1].tolist() == [np.inf, np.inf]
    assert np.array_equal(-distances[[0, 0, 2, 2], [0, 1, 0, 1]], found.scores)
    assert index.kneighbors(["wien"], n_neighbors=1, return_distance=False).tolist() == [[found.references[0]]]
    matrix = index.transform(pd.Series(["wien", "qqq", "venezia"]))
    assert (matrix.shape, matrix.nnz) == ((3, 5), 4)
    assert np.array_equal(matrix.toarray()[found.queries, found.references], found.scores)
    assert StringCandidates(k=1).fit_transform(np.array(NAMES)[:, None]).toarray().argmax(axis=1).tolist() == [
        *range(5)
    ]
    assert index.kneighbors([]).__len__() == 2


def test_candidates_are_cloned_pickled_and_shown():
    index = StringCandidates("ngrams", k=3, model=nsed.LearnableEditDistance.fit([("a", "b"), ("b", "b")]))
    assert repr(clone(StringCandidates("exact", k=3))) == "StringCandidates(by='exact', k=3)"
    copied = clone(index)
    assert (copied.by, copied.k, copied.model is index.model) == ("ngrams", 3, False)
    assert copied.set_params(k=1).get_params()["k"] == 1
    index.fit(NAMES)
    again = pickle.loads(pickle.dumps(index))  # our own
    assert again.kneighbors(["wien"])[1].tolist() == index.kneighbors(["wien"])[1].tolist()
    with pytest.raises(NotFittedError):
        StringCandidates().kneighbors(["wien"])
    with pytest.raises(nsed.NsedError, match="by: got letters, expected some of ngrams"):
        StringCandidates("letters").fit(NAMES)
    piped = make_pipeline(FunctionTransformer(lambda column: [one.lower() for one in column]), StringCandidates(k=1))
    assert piped.fit(NAMES).transform(["VENICE"]).toarray().argmax() == 1
