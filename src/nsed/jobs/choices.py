"""Scores of queries with choices, all with all, and the best choices of a query: as in `rapidfuzz.process`.

Every different string is encoded once, and pairs are scored in bulk.
"""

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs
from nsed.text.columns import Column, checked_column, is_arrow, is_missing, to_arrow
from nsed.text.texts import Texts

Scorer: TypeAlias = Literal["score", "probability"]
"""Scorer: the model's `score` or its calibrated `probability`."""
PAIRS_AT_ONCE = 2**20
"""Pairs that are scored together, about; one row of the matrix at least."""


@runtime_checkable
class Keyed(Protocol):
    """Strings with keys: a dict, a pandas Series."""

    def items(self) -> Any:
        """Keys with their strings."""


Choices: TypeAlias = Column | Keyed
"""Strings to choose from: a column, or strings with keys."""


class ScoredChoice(NamedTuple):
    """Choice with its score, and its key: its place in a list, its key in a dict, its index in a Series."""

    choice: str
    score: float
    key: Any


def cdist(
    queries: Column, choices: Column, model: Any, *, scorer: Scorer = "score", on_batch: OnBatch = ignore
) -> np.ndarray:
    """Matrix of scores, a row for each query, a column for each choice; queries are sources, choices are targets.

    Higher is better, whatever the model. `on_batch` is told how many pairs have been scored.

    >>> import nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> cdist(["lay", "gray"], ["grey", "ley", "sey"], model).argmax(axis=1)
    array([1, 0])
    """
    score = scoring(model, scorer)
    rows, columns = Texts.of_column(queries, name="queries"), Texts.of_column(choices, name="choices")
    matrix = np.empty((len(rows.different), len(columns.different)))
    for first, pairs in _blocks(rows.different, columns.different):
        block = matrix[first : first + len(pairs) // len(columns.different)]
        block[:] = np.asarray(score(pairs, on_batch=on_batch)).reshape(block.shape)
    return np.asarray(matrix[np.ix_(rows.rows, columns.rows)])


def extract(
    query: str,
    choices: Choices,
    model: Any,
    *,
    limit: int | None = 5,
    score_cutoff: float | None = None,
    scorer: Scorer = "score",
) -> list[ScoredChoice]:
    """Best choices of a query, best first, of equal ones the first; those below `score_cutoff` are left out.

    Choices that are None are left out too; `limit=None` is for all.

    >>> import nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> [(one.choice, one.key) for one in extract("lay", ["sey", "ley", "gele"], model, limit=2)]
    [('ley', 1), ('sey', 0)]
    """
    if not isinstance(query, str):
        raise ArgumentError("query", got=f"{query!r} ({type(query).__name__})", expected="a string")
    if limit is not None and limit < 0:
        raise ArgumentError("limit", got=limit, expected="at least 0, or None for all")
    keys, texts = _keyed(choices)
    if not texts:
        return []
    scores = cdist([query], texts, model, scorer=scorer)[0]
    best = np.argsort(-scores, kind="stable")
    kept = best if score_cutoff is None else best[scores[best] >= score_cutoff]
    return [ScoredChoice(texts[at], float(scores[at]), keys[at]) for at in kept[:limit].tolist()]


def extract_one(
    query: str, choices: Choices, model: Any, *, score_cutoff: float | None = None, scorer: Scorer = "score"
) -> ScoredChoice | None:
    """Best choice of a query; None where there is none, or none of at least `score_cutoff`.

    >>> import nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> extract_one("lay", {"a": "sey", "b": "ley"}, model).key
    'b'
    """
    found = extract(query, choices, model, limit=1, score_cutoff=score_cutoff, scorer=scorer)
    return found[0] if found else None


def scoring(model: Any, scorer: Scorer) -> Any:
    """Method of a model that scores pairs. Raises `ArgumentError` where it has none."""
    wanted = {"score": Capability.SCORE, "probability": Capability.MATCH}
    if scorer not in wanted:
        raise ArgumentError("scorer", got=repr(scorer), expected="'score' or 'probability'")
    if not can(model, wanted[scorer]):
        expected = "one that scores pairs" if scorer == "score" else "one that has learned from labelled pairs"
        raise ArgumentError("model", got=f"a {type(model).__name__} without `{scorer}`", expected=expected)
    return getattr(model, scorer)


def _blocks(queries: list[str], choices: list[str]) -> Iterator[tuple[int, Pairs]]:
    """All pairs of strings, some queries at a time, each with the number of its first query."""
    step = max(PAIRS_AT_ONCE // max(len(choices), 1), 1)
    for first in range(0, len(queries) if choices else 0, step):
        some = queries[first : first + step]
        sources = Texts(some, np.repeat(np.arange(len(some)), len(choices)))
        yield first, Pairs(sources, Texts(choices, np.tile(np.arange(len(choices)), len(some))))


def _keyed(choices: Choices) -> tuple[list[Any], list[str]]:
    """Keys and strings of the choices that are there."""
    if isinstance(choices, str):
        raise ArgumentError("choices", got=repr(choices), expected="a list of strings")
    given = list(choices.items()) if isinstance(choices, Keyed) else list(enumerate(_values(choices)))
    there = [(key, value) for key, value in given if not is_missing(value)]
    return [key for key, _ in there], list(Texts.of_column([value for _, value in there], name="choices"))


def _values(choices: Any) -> list[Any]:
    """Elements of a column as Python's own values."""
    column = to_arrow(choices) if is_arrow(choices) else None
    return list(checked_column(choices, "choices") if column is None else column.to_pylist())  # type: ignore[arg-type]  # whatever it is, it is checked
