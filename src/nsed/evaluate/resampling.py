"""How sure a figure is: bootstrap intervals.

Items (words, pairs) are the rows of arrays; a statistic makes a number of rows, say `lambda rows: rows.mean()`. It must
have an answer for any rows drawn from those given.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from nsed.errors import ArgumentError

Statistic = Callable[[np.ndarray], float]


class Interval(NamedTuple):
    """Where a figure lies with the confidence that was asked for."""

    low: float
    high: float


def bootstrap_interval(
    rows: np.ndarray, statistic: Statistic, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Interval:
    """Percentile interval of any statistic: it is computed of as many rows, drawn with replacement, again and again.

    >>> bootstrap_interval(np.arange(100.0), np.median)
    Interval(low=40.0, high=58.5)
    """
    _check(rows, resamples, level)
    return _percentiles([statistic(rows[drawn]) for drawn in _draws(len(rows), resamples, seed)], level)


def totals_interval(
    rows: np.ndarray, statistic: Statistic, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Interval:
    """The same, faster, of a statistic that needs no more than the total of each column.

    Rates over a corpus are such statistics: all edits over all symbols, or F1 from hits, calls and matches.

    >>> edits_and_symbols = np.array([[1, 4], [0, 3], [2, 5]] * 50)
    >>> totals_interval(edits_and_symbols, lambda total: total[0] / total[1])
    Interval(low=0.22..., high=0.27...)
    """
    _check(rows, resamples, level)
    numbers = np.asarray(rows, dtype=float)
    times = (np.bincount(drawn, minlength=len(rows)) for drawn in _draws(len(rows), resamples, seed))
    return _percentiles([statistic(drawn.astype(float) @ numbers) for drawn in times], level)


def mean_interval(values: np.ndarray, *, level: float = 0.95, resamples: int = 1000, seed: int = 0) -> Interval:
    """Percentile interval of the mean of one value per item, say of wrong words.

    >>> mean_interval(np.array([True, False] * 50))
    Interval(low=0.4, high=0.6)
    """
    check_one_value_each(values, "values")
    return totals_interval(
        values,
        lambda total: float(total) / len(values),
        level=level,
        resamples=resamples,
        seed=seed,
    )


def difference_interval(
    first: np.ndarray,
    second: np.ndarray,
    *,
    statistic: Statistic,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Percentile interval of how far the first system's statistic is above the second's; items are drawn for both.

    >>> difference_interval(np.arange(1.0, 101.0), np.arange(100.0), statistic=np.mean)
    Interval(low=1.0, high=1.0)
    """
    check_same_items(first, second)
    _check(first, resamples, level)
    draws = _draws(len(first), resamples, seed)
    return _percentiles([statistic(first[drawn]) - statistic(second[drawn]) for drawn in draws], level)


def _draws(items: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Which items each resample has."""
    random = np.random.default_rng(seed)
    return (random.integers(items, size=items) for _ in range(resamples))


def _percentiles(values: list[float], level: float) -> Interval:
    low, high = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high))


def _check(rows: np.ndarray, resamples: int, level: float) -> None:
    check_resamples(rows, resamples)
    if not 0 < level < 1:
        raise ArgumentError("level", got=level, expected="a share between 0 and 1, say 0.95")


def check_one_value_each(values: np.ndarray, name: str) -> None:
    """Refuse what is not one number per item."""
    if np.ndim(values) != 1:
        raise ArgumentError(name, got=np.shape(values), expected="one value per item")


def check_resamples(rows: np.ndarray, resamples: int) -> None:
    """Refuse to draw from nothing, or nothing."""
    if not len(rows):
        raise ArgumentError("rows", got="none", expected="at least one item")
    if resamples < 1:
        raise ArgumentError("resamples", got=resamples, expected="at least 1")


def check_same_items(first: np.ndarray, second: np.ndarray) -> None:
    """Refuse systems whose rows cannot be those of the same items."""
    if np.shape(first) != np.shape(second):
        raise ArgumentError("second", got=np.shape(second), expected=f"{np.shape(first)}, the items of the first")
