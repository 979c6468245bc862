"""Scores in batches of fixed shapes: that of a pair is the same, bit for bit, whatever other pairs are scored too.

Matrix products of different sizes are rounded differently, so scores of networks differ in their last bits between
batches. Here a batch always has as many pairs, all of the same lengths, and one thread computes it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from nsed.errors import ArgumentError
from nsed.jobs.choices import Scorer, scoring
from nsed.models.matcher import Matcher
from nsed.models.odds import OddsMatcher
from nsed.text import Pairs
from nsed.text.columns import Column
from nsed.text.pairs import PairsLike

PAIRS_TOGETHER = 64
"""Pairs of a batch; the last one of the same lengths is filled up with copies."""


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
    with _one_thread():
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
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
