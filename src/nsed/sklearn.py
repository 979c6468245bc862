"""Estimators for scikit-learn: models that are cloned, searched over, piped and pickled as its own are.

The settings of a model are parameters: `StringPairClassifier("matcher", encoder__dim=64, train__steps=500)`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Self

import numpy as np

from nsed.capabilities import Capability
from nsed.config import flat
from nsed.errors import ArgumentError, MissingExtraError
from nsed.jobs import candidates
from nsed.jobs.candidates import Generator
from nsed.jobs.vector_index import Ranked
from nsed.models.persistence import MODEL_KINDS, model_class
from nsed.registry import did_you_mean
from nsed.text import Pairs
from nsed.text.columns import Column, PandasFrame
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts

try:
    from scipy.sparse import csr_array
    from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data
except ImportError:
    raise MissingExtraError("scikit-learn", extra="sklearn") from None

__all__ = ["StringCandidates", "StringPairClassifier", "StringTransducer"]


class StringEstimator(BaseEstimator):
    """Estimator with a model, whose settings are its parameters. Abstract: classifier and transducer add their verbs.

    Parameters that nobody has given are the model's defaults, and those of a Transducer come from a recipe, so
    `get_params` has only those that somebody has.
    """

    model: str
    model_: Any
    """Trained model, with all of its verbs: `estimator.model_.explain(source, target)`."""

    def __init__(self, model: str, **settings: Any) -> None:
        self.model = model
        self.__dict__.update(settings)

    @property
    def _settings(self) -> dict[str, Any]:
        """Settings that were given: attributes of their own names, as scikit-learn keeps parameters."""
        return {
            name: value
            for name, value in vars(self).items()
            if name != "model" and not name.startswith("_") and not name.endswith("_")
        }

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters that were given: the kind of model, and its settings."""
        return {"model": self.model, **self._settings}

    def set_params(self, **params: Any) -> Self:
        """Set the kind of model, or settings of it; a kind or a value that is none is heard of in `fit`.

        Raises `ArgumentError` for a setting that the kind of model does not have.
        """
        kind = params.get("model", self.model)
        _check_names(kind, params.keys() - {"model"})
        self.__dict__.update(params)
        return self

    def _fit_model(self, pairs: Pairs, wanted: Capability) -> Any:
        if not isinstance(self.model, str) or self.model not in MODEL_KINDS:
            raise ArgumentError("model", got=repr(self.model), expected=f"one of {', '.join(MODEL_KINDS)}")
        kind = model_class(self.model)
        if isinstance(kind.capabilities, frozenset) and wanted not in kind.capabilities:
            raise ArgumentError("model", got=repr(self.model), expected=f"a kind of model that can {wanted}")
        _check_names(self.model, self._settings)
        return kind.fit(pairs, config={"model": self.model}, **self._settings)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.target_tags.required = True, True
        return tags


class StringPairClassifier(ClassifierMixin, StringEstimator):
    """Binary classifier of pairs of strings: rows of `X` are (source, target), `y` says whether they belong together.

    `X` is whatever pairs can be (see `nsed.Pairs.of`): a list, an array or a frame of two columns of strings. The
    second of the two classes, in their order, is that of pairs that match.

    `predict` goes by the threshold that the model has tuned for F1, which is seldom where `predict_proba`, calibrated,
    is one half; `decision_function` is 0 there.

    >>> X = [("grey", "gray"), ("tyre", "tire"), ("grey", "tire"), ("tyre", "gray")]
    >>> StringPairClassifier("levenshtein").fit(X, ["yes", "yes", "no", "no"]).predict([("cider", "cyder"), ("a", "b")])
    array(['yes', 'no'], dtype='<U3')
    """

    def __init__(self, model: str = "odds", **settings: Any) -> None:
        super().__init__(model, **settings)

    def fit(self, X: PairsLike, y: Column) -> Self:  # noqa: N803  # scikit-learn's name
        """Train a model of this kind with these settings on labelled pairs."""
        self.classes_, labels = _classes(y)
        _check_features(self, X, 2, reset=True)
        self.model_ = self._fit_model(Pairs.of(X, labels), Capability.MATCH)
        return self

    def decision_function(self, X: PairsLike) -> np.ndarray:  # noqa: N803  # scikit-learn's name
        """Scores of the pairs above the model's threshold: those of at least 0 match."""
        scores, threshold = self._scores(X), self.model_.threshold
        with np.errstate(invalid="ignore"):  # infinity less infinity
            return np.asarray(np.where(scores == threshold, 0.0, scores - threshold))

    def predict(self, X: PairsLike) -> np.ndarray:  # noqa: N803  # scikit-learn's name
        """Classes of the pairs."""
        scores = self._scores(X)
        return np.asarray(self.classes_[(scores >= self.model_.threshold).astype(int)])

    def predict_proba(self, X: PairsLike) -> np.ndarray:  # noqa: N803  # scikit-learn's name
        """Calibrated probabilities of both classes, in their order."""
        scores = self._scores(X)
        match = self.model_.calibration.probability(scores)
        return np.stack([1 - match, match], axis=1)

    def _scores(self, given: PairsLike) -> np.ndarray:
        check_is_fitted(self)
        _check_features(self, given, 2, reset=False)
        return np.asarray(self.model_.score(Pairs.of(given)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


class StringTransducer(StringEstimator):
    """Transducer of strings: `X` is a column of sources, `y` one of targets.

    A column is a list, an array of one or two dimensions, a Series, or a frame of one column.

    >>> words = ["gray", "lay", "gala", "drag"]
    >>> model = StringTransducer("lookup").fit(words, [word.replace("a", "e") for word in words])
    >>> model.predict(["gala", "lay"]), model.score(["gala", "lay"], ["gele", "lie"])
    (array(['gele', 'ley'], dtype=object), 0.5)
    """

    def __init__(self, model: str = "transducer", **settings: Any) -> None:
        super().__init__(model, **settings)

    def fit(self, X: Column, y: Column) -> Self:  # noqa: N803  # scikit-learn's name
        """Train a model of this kind with these settings; a source may come with several targets, a row each."""
        if y is None:
            raise _no_targets()
        _check_features(self, X, 1, reset=True)
        pairs = Pairs(_column(X, "X"), Texts.of_column(y, name="y"))
        self.model_ = self._fit_model(pairs, Capability.TRANSDUCE)
        return self

    def predict(self, X: Column) -> np.ndarray:  # noqa: N803  # scikit-learn's name
        """The most probable target of each source, an array of strings; empty where the model has none."""
        check_is_fitted(self)
        _check_features(self, X, 1, reset=False)
        found = self.model_.transduce(_column(X, "X"))
        return np.array([best[0].text if best else "" for best in found], dtype=object)

    def score(self, X: Column, y: Column) -> float:  # noqa: N803  # scikit-learn's name
        """Accuracy: the share of sources whose target is right, symbol by symbol (1 - word error rate)."""
        pairs = zip(self.predict(X), Texts.of_column(y, name="y"), strict=True)
        split = self.model_.tokenizers.target.split
        return float(np.mean([split(one) == split(other) for one, other in pairs]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        return tags


class StringCandidates(TransformerMixin, BaseEstimator):
    """Nearest references of strings, as `nsed.Candidates` finds them: `X` is a column of references, then of queries.

    A column is a list, an array of one or two dimensions, a Series, or a frame of one column. The index with all of its
    verbs is `index_`: its recall, wrong candidates to train with, and a folder to keep it in.

    >>> found = StringCandidates(k=2).fit(["Vienna", "Venice", "Verona", "Siena"])
    >>> found.kneighbors(["wien", "venezia"], return_distance=False)
    array([[3, 0],
           [1, 2]])
    """

    def __init__(
        self, by: Sequence[Generator] | Generator | None = None, *, k: int = 20, model: Any = None, ranker: Any = None
    ) -> None:
        self.by, self.k, self.model, self.ranker = by, k, model, ranker

    def fit(self, X: Column, y: object = None) -> Self:  # noqa: N803  # scikit-learn's name
        """Index the references."""
        _check_features(self, X, 1, reset=True)
        self.index_ = candidates.Candidates(self.by, k=self.k, model=self.model, ranker=self.ranker)
        self.index_.fit(_column(X, "X"))
        return self

    def query(self, X: Column, k: int | None = None) -> Ranked:  # noqa: N803  # scikit-learn's name
        """Candidates of each query, best first: rows of the query and of the reference, score."""
        check_is_fitted(self)
        _check_features(self, X, 1, reset=False)
        return self.index_.query(_column(X, "X"), k)

    def kneighbors(
        self,
        X: Column,  # noqa: N803  # scikit-learn's name
        n_neighbors: int | None = None,
        return_distance: bool = True,
    ) -> Any:
        """Rows of the best references of each query, after distances, which are scores with the other sign.

        A query that has fewer, since nothing else is like it, has -1 and infinity in their places.
        """
        found, queries = self.query(X, n_neighbors), len(_column(X, "X"))
        rank = candidates.rank_of(found.queries)
        wanted = self.k if n_neighbors is None else n_neighbors
        width = max(wanted, int(rank.max(initial=-1)) + 1)  # several generators have k each
        rows, distances = np.full((queries, width), -1), np.full((queries, width), np.inf)
        rows[found.queries, rank], distances[found.queries, rank] = found.references, -found.scores
        return (distances, rows) if return_distance else rows

    def transform(self, X: Column) -> csr_array:  # noqa: N803  # scikit-learn's name
        """Sparse matrix of scores, a row for each query, a column for each reference."""
        found = self.query(X)
        shape = len(_column(X, "X")), len(self.index_.references)
        return csr_array((found.scores, (found.queries, found.references)), shape=shape)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.one_d_array = True, True
        tags.requires_fit = True
        return tags


def _check_features(estimator: BaseEstimator, given: Any, count: int, *, reset: bool) -> None:
    """Check names and number of columns as scikit-learn does, where there are any; lists have none."""
    if isinstance(given, np.ndarray | PandasFrame) or hasattr(given, "__dataframe__"):
        validate_data(estimator, given, reset=reset, skip_check_array=True, ensure_2d=np.ndim(given) == 2)
    elif reset:
        estimator.n_features_in_ = count


def _no_targets() -> ArgumentError:
    return ArgumentError("y", got="None", expected="a column: fit requires y to be passed, but the target y is None")


def _classes(labels: Column) -> tuple[np.ndarray, np.ndarray]:
    """The two classes in their order, and whether each label is the second. Raises `ArgumentError` for one or more."""
    if labels is None:
        raise _no_targets()
    check_classification_targets(labels)
    classes, codes = np.unique(column_or_1d(labels, warn=True), return_inverse=True)
    if len(classes) != 2:
        got = f"{len(classes)} classes: {classes[:5].tolist()}"
        advice = "Only binary classification is supported."
        raise ArgumentError("y", got=got, expected="two classes", advice=advice)
    return classes, codes == 1


def _column(given: Any, name: str) -> Sequence[str]:
    """Strings of a column; an array or frame of one column counts as it."""
    if isinstance(given, PandasFrame) and len(list(given.columns)) == 1:
        return Texts.of_column(given.iloc[:, 0], name=name)
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1] == 1:
        return Texts.of_column(given[:, 0], name=name)
    return Texts.of_column(given, name=name)


def _check_names(kind: object, names: Iterable[str]) -> None:
    if not isinstance(kind, str) or kind not in MODEL_KINDS:
        return
    config: Mapping[str, Any] = asdict(model_class(kind).configs[kind]())
    known = [one.replace(".", "__") for one, _ in flat(config) if one != "model"]
    for name in names:
        if name not in known:
            expected = f"a setting of the model {kind}: {', '.join(known)}"
            raise ArgumentError(name, got="a name that is none", expected=expected, advice=did_you_mean(name, known))
