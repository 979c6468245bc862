"""Scores of many pairs: all queries with all choices, the best choices of a query, and in batches of fixed shapes."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, get_args, runtime_checkable

import numpy as np
import torch

from nsed.capabilities import Capability, can
from nsed.config import is_whole
from nsed.errors import ArgumentError
from nsed.models.matcher import Matcher
from nsed.models.odds import OddsMatcher
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs
from nsed.text.columns import Column, checked_column, is_arrow, is_missing, to_arrow
from nsed.text.pairs import PairsLike
from nsed.text.texts import Texts

PAIRS_TOGETHER = 64
"""Pairs of a batch; the last one of the same lengths is filled up with copies."""
Scorer: TypeAlias = Literal["score", "probability"]
"""Scorer: the model's `score` or its calibrated `probability`."""


def fixed_scores(
    model: Any, pairs: PairsLike, targets: Column | None = None, *, scorer: Scorer = "score"
) -> np.ndarray:
    """Scores (or calibrated probabilities) of pairs that depend on model, backend and pair alone; slower than `score`.

    They differ from those of `score` in the last bits. Raises `ArgumentError` for a model without symbols.

    >>> import nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> both = fixed_scores(model, [("lay", "ley"), ("gray", "grey")])
    >>> bool(both[0] == fixed_scores(model, [("lay", "ley")])[0])
    True
    """
    scoring(model, scorer)
    if not hasattr(model, "tokenizers"):
        raise ArgumentError("model", got=f"a {type(model).__name__}", expected="a model of nsed, for fixed batches")
    given = Pairs.given(pairs, targets)
    first, rows = _different(given)
    scores = np.empty(len(first))
    with _threads(1):
        for some in _batches(model, given.chosen(first.tolist())):
            filled = given.chosen(first[np.resize(some, PAIRS_TOGETHER)].tolist())
            scores[some] = _scores(model, filled)[: len(some)]
    answers = scores[rows]
    return answers if scorer == "score" else np.asarray(model.calibration.probability(answers))


def _scores(model: Any, pairs: Pairs) -> np.ndarray:
    """Scores of pairs of the same lengths; a Matcher's without encoding equal strings once, which changes shapes."""
    if not isinstance(model, Matcher):
        return np.asarray(model.score(pairs))
    scores = np.empty(len(pairs))
    for batch, lattice in model.lattices(pairs):
        scores[batch.rows.cpu().numpy()] = lattice.log_prob.double().cpu().numpy()
    return scores


def _different(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the different pairs, with their languages, and for each pair which of them it is."""
    columns = [column for column in replace(pairs, labels=None).columns.values() if column is not None]
    seen: dict[tuple[Any, ...], int] = {}
    rows = [seen.setdefault(key, len(seen)) for key in zip(*columns, strict=True)]
    codes = np.array(rows, dtype=np.int64)
    first = np.full(len(seen), len(codes), dtype=np.int64)
    np.minimum.at(first, codes, np.arange(len(codes)))
    return first, codes


def _batches(model: Any, pairs: Pairs) -> Iterator[np.ndarray]:
    """Rows of batches of the same lengths in symbols.

    A pair with a new symbol is a batch by itself, where the model makes a larger table for those of a batch.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    sides = model.tokenizers.source, model.tokenizers.target
    for row, texts in enumerate(pairs):
        symbols = [side.split(text) for side, text in zip(sides, texts, strict=True)]
        known = all(one in side.vocabulary for side, some in zip(sides, symbols, strict=True) for one in some)
        alone = isinstance(model, OddsMatcher) and not known
        groups.setdefault((*map(len, symbols), row if alone else -1), []).append(row)
    for some in groups.values():
        yield from np.array_split(np.array(some), range(PAIRS_TOGETHER, len(some), PAIRS_TOGETHER))


@contextmanager
def _threads(workers: int | None) -> Iterator[None]:
    """Threads of torch for a while: -1 is all cores, None what is set."""
    if workers is not None and (not isinstance(workers, int) or (workers < 1 and workers != -1)):
        expected = "a number of threads from 1, -1 for all cores, or None for those of torch"
        raise ArgumentError("workers", got=repr(workers), expected=expected)
    before = torch.get_num_threads()
    torch.set_num_threads(before if workers is None else os.cpu_count() or 1 if workers == -1 else workers)
    try:
        yield
    finally:
        torch.set_num_threads(before)


PAIRS_AT_ONCE = 2**20
"""Pairs that are scored together, about; one row of the matrix at least."""


@runtime_checkable
class Keyed(Protocol):
    """Strings with keys: a dict, a pandas Series."""

    def items(self) -> Any:
        """Keys with their strings."""


Choices: TypeAlias = Column | Keyed
"""Strings to choose from: a column, or strings with keys."""


Processor: TypeAlias = Callable[[str], str]
"""Change of a string before it is compared, such as `str.lower`."""


class ScoredChoice(NamedTuple):
    """Choice with its score, and its key: its place in a list, its key in a dict, its index in a Series.

    >>> from nsed.baselines import Levenshtein
    >>> model = Levenshtein.fit([("gray", "grey"), ("gray", "blue")], [1, 0])
    >>> extract_one("gala", {"a": "sey", "b": "gale"}, model)
    ScoredChoice(choice='gale', score=0.75, key='b')
    """

    choice: str
    score: float
    key: Any


def cdist(
    queries: Column,
    choices: Column,
    model: Any,
    *,
    scorer: Scorer = "score",
    processor: Processor | None = None,
    workers: int | None = None,
    on_batch: OnBatch = ignore,
) -> np.ndarray:
    """Matrix of scores, a row for each query, a column for each choice; queries are sources, choices are targets.

    Higher is better, whatever the model. A `processor` changes all strings before they are compared. `workers` are the
    threads of torch for this call, -1 all cores; by default those that torch has. `on_batch` is told how many pairs
    have been scored.

    >>> import nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> cdist(["lay", "GRAY"], ["grey", "ley", "sey"], model, processor=str.lower).argmax(axis=1)
    array([1, 0])
    """
    score, change = scoring(model, scorer), checked_processor(processor)
    rows, columns = (
        Texts.of_column(given, name=name).mapped(change) for given, name in ((queries, "queries"), (choices, "choices"))
    )
    matrix = np.empty((len(rows.different), len(columns.different)))
    with _threads(workers):
        for first, pairs in _blocks(rows.different, columns.different):
            block = matrix[first : first + len(pairs) // len(columns.different)]
            block[:] = np.asarray(score(pairs, on_batch=on_batch)).reshape(block.shape)
    return np.asarray(matrix[np.ix_(rows.rows, columns.rows)])


def checked_processor(processor: Processor | None) -> Processor:
    """Function of a string to a string, which changes nothing where none is given. Raises `ArgumentError`."""
    if processor is not None and not callable(processor):
        raise ArgumentError("processor", got=repr(processor), expected="a function of a string to a string, or None")

    def change(text: str) -> str:
        changed = text if processor is None else processor(text)
        if not isinstance(changed, str):
            raise ArgumentError("processor", got=f"{changed!r} for {text!r}", expected="a function that gives a string")
        return changed

    return change


def extract(
    query: str,
    choices: Choices,
    model: Any,
    *,
    limit: int | None = 5,
    score_cutoff: float | None = None,
    scorer: Scorer = "score",
    processor: Processor | None = None,
) -> list[ScoredChoice]:
    """Best choices of a query, best first, of equal ones the first; those below `score_cutoff` are left out.

    Choices that are None are left out too; `limit=None` is for all. A `processor` changes query and choices before they
    are compared; choices come back as they were.

    >>> import nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> [(one.choice, one.key) for one in extract("lay", ["sey", "ley", "gele"], model, limit=2)]
    [('ley', 1), ('sey', 0)]
    """
    if not isinstance(query, str):
        raise ArgumentError("query", got=f"{query!r} ({type(query).__name__})", expected="a string")
    if limit is not None and not is_whole(limit, low=0):
        raise ArgumentError("limit", got=repr(limit), expected="a whole number, at least 0, or None for all")
    keys, texts = _keyed(choices)
    if not texts:
        return []
    scores = cdist([query], texts, model, scorer=scorer, processor=processor)[0]
    best = np.argsort(-scores, kind="stable")
    kept = best if score_cutoff is None else best[scores[best] >= score_cutoff]
    return [ScoredChoice(texts[at], float(scores[at]), keys[at]) for at in kept[:limit].tolist()]


def extract_one(
    query: str,
    choices: Choices,
    model: Any,
    *,
    score_cutoff: float | None = None,
    scorer: Scorer = "score",
    processor: Processor | None = None,
) -> ScoredChoice | None:
    """Best choice of a query; None where there is none, or none of at least `score_cutoff`.

    >>> import nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> extract_one("lay", {"a": "sey", "b": "ley"}, model).key
    'b'
    """
    found = extract(query, choices, model, limit=1, score_cutoff=score_cutoff, scorer=scorer, processor=processor)
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


SqlScorer: TypeAlias = Literal["score", "probability", "match", "transduce"]
"""What a function of SQL gives: a number of two strings, whether they match, or the best target of one."""
CAPABLE = {"match": Capability.MATCH, "transduce": Capability.TRANSDUCE}


def answering(model: Any, scorer: SqlScorer) -> Callable[..., Sequence[Any] | np.ndarray]:
    """Function of columns of strings, sources and targets, or of sources alone for `transduce`, to an answer for each.

    Raises `ArgumentError` for a model that cannot do it.

    >>> import nsed
    >>> model = nsed.LearnableEditDistance.fit([("gray", "grey"), ("gala", "gele"), ("say", "sey")])
    >>> answering(model, "score")(["lay"], ["ley"]) == model.score([("lay", "ley")])
    array([ True])
    """
    if scorer in ("score", "probability"):
        score = scoring(model, scorer)
        return lambda sources, targets: np.asarray(score(Pairs.of_columns(sources, targets)))
    if scorer not in CAPABLE:
        raise ArgumentError("scorer", got=repr(scorer), expected=f"one of {', '.join(get_args(SqlScorer))}")
    if not can(model, CAPABLE[scorer]):
        expected = "one that has learned from labelled pairs" if scorer == "match" else "a transducer"
        raise ArgumentError("model", got=f"a {type(model).__name__} without `{scorer}`", expected=expected)
    if scorer == "match":
        return lambda sources, targets: np.asarray(model.match(Pairs.of_columns(sources, targets)))
    return lambda sources: [
        found[0].text if found else None for found in model.transduce(Texts.of_column(sources, name="source"))
    ]


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
