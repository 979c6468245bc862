"""Confidence intervals (bootstrap, Wilson) and paired permutation tests (approximate randomisation)."""

from collections.abc import Callable, Collection, Hashable, Iterator
from math import sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from nsed.errors import ArgumentError

Statistic = Callable[[np.ndarray], float]


class Interval(NamedTuple):
    """Confidence interval: where a figure lies with the confidence that was asked for.

    >>> interval: Interval = wilson_interval(0.9, 1000)
    >>> f"{interval.low:.1%} to {interval.high:.1%}"
    '88.0% to 91.7%'
    """

    low: float
    high: float


def group_totals(rows: np.ndarray, groups: Collection[Hashable]) -> np.ndarray:
    """Group totals: a row for each group, for a bootstrap or a permutation test of groups (a cluster bootstrap).

    Rows of one group, say the pairs of a concept, resemble each other: drawn one by one they look like more evidence
    than they are. Booleans are counted, and small integers do not overflow.

    >>> group_totals(np.array([[1, 4], [0, 3], [2, 5]]), ["hand", "foot", "hand"]).tolist()
    [[3, 9], [0, 3]]
    """
    if len(groups) != len(rows):
        raise ArgumentError("groups", got=f"{len(groups)} rows", expected=f"{len(rows)}, one for each row")
    numbers: dict[Hashable, int] = {}
    places = [numbers.setdefault(group, len(numbers)) for group in groups]
    totals = np.zeros((len(numbers), *np.shape(rows)[1:]), dtype=np.promote_types(np.asarray(rows).dtype, np.int64))
    np.add.at(totals, places, rows)
    return totals


def bootstrap_interval(
    rows: np.ndarray, statistic: Statistic, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Interval:
    """Bootstrap percentile interval of any statistic, computed of as many rows, drawn with replacement, many times.

    >>> bootstrap_interval(np.arange(100.0), np.median)
    Interval(low=40.0, high=58.5)
    """
    _check(rows, resamples, level)
    return _percentiles([statistic(rows[drawn]) for drawn in _draws(len(rows), resamples, seed)], level)


def totals_interval(
    rows: np.ndarray, statistic: Statistic, *, level: float = 0.95, resamples: int = 1000, seed: int = 0
) -> Interval:
    """Bootstrap interval, faster, of a statistic that needs no more than the total of each column.

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
    """Bootstrap percentile interval of the mean of one value per item, say of wrong words.

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


FEWEST = 10
"""Fewest items, or groups, that are resampled for an interval: of fewer, a bootstrap says more than it knows."""


class Estimate(NamedTuple):
    """Interval of a figure, or why there is none."""

    interval: Interval | None
    note: str = ""


def rate_estimate(rows: np.ndarray, statistic: Statistic) -> Estimate:
    """Bootstrap interval of a statistic of totals, where it is to be trusted: not of few items, nor of all alike.

    >>> rate_estimate(np.zeros((50, 2)), lambda total: total[0])
    Estimate(interval=None, note='no interval: all 50 are alike')
    """
    if len(rows) < FEWEST:
        return Estimate(None, f"no interval: {len(rows)} to resample, at least {FEWEST} are needed")
    interval = totals_interval(rows, statistic)
    if interval.low == interval.high:
        return Estimate(None, f"no interval: all {len(rows):,} are alike")
    return Estimate(interval)


def share_estimate(hits: np.ndarray, chosen: np.ndarray) -> Estimate:
    """Interval of the share of hits among what was chosen, over items, or groups, with something chosen.

    A bootstrap, but Wilson's interval of as many items, or groups, where these are few, and where all or none are hits:
    resampled, they would be so with certainty.

    >>> share_estimate(np.zeros(20), np.ones(20))
    Estimate(interval=Interval(low=0.0, high=0.16...), note='')
    """
    rows = np.stack([hits, chosen], axis=1)[chosen > 0]
    if not len(rows):
        return Estimate(None)
    share = float(rows[:, 0].sum() / rows[:, 1].sum())
    if len(rows) < FEWEST or share in (0.0, 1.0):
        return Estimate(wilson_interval(share, len(rows)))
    return Estimate(totals_interval(rows, lambda total: float(total[0] / total[1])))


def wilson_interval(share: float, items: int, *, level: float = 0.95) -> Interval:
    """Wilson score interval of a share of items; sound for few items, and for none or all of them.

    >>> wilson_interval(0.5, 10)
    Interval(low=0.23..., high=0.76...)
    """
    if items < 1 or not 0 <= share <= 1:
        raise ArgumentError("share", got=f"{share} of {items} items", expected="a share from 0 to 1 of at least one")
    z = NormalDist().inv_cdf((1 + level) / 2)
    middle, scale = share + z**2 / (2 * items), 1 + z**2 / items
    width = z * sqrt(share * (1 - share) / items + z**2 / (4 * items**2))
    low, high = (middle - width) / scale, (middle + width) / scale
    return Interval(low if share > 0 else 0.0, high if share < 1 else 1.0)


def difference_interval(
    first: np.ndarray,
    second: np.ndarray,
    *,
    statistic: Statistic,
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Interval:
    """Paired bootstrap interval of how far the first system's statistic is above the second's; items drawn for both.

    >>> difference_interval(np.arange(1.0, 101.0), np.arange(100.0), statistic=np.mean)
    Interval(low=1.0, high=1.0)
    """
    check_same_items(first, second)
    _check(first, resamples, level)
    draws = _draws(len(first), resamples, seed)
    return _percentiles([statistic(first[drawn]) - statistic(second[drawn]) for drawn in draws], level)


def _draws(items: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Bootstrap draws: which items each resample has."""
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
    """Shape check: refuse what is not one number per item."""
    if np.ndim(values) != 1:
        raise ArgumentError(name, got=np.shape(values), expected="one value per item")


def check_resamples(rows: np.ndarray, resamples: int) -> None:
    """Resample check: refuse to draw from nothing, or nothing."""
    if not len(rows):
        raise ArgumentError("rows", got="none", expected="at least one item")
    if resamples < 1:
        raise ArgumentError("resamples", got=resamples, expected="at least 1")


def check_same_items(first: np.ndarray, second: np.ndarray) -> None:
    """Pairing check: refuse systems whose rows cannot be those of the same items."""
    if np.shape(first) != np.shape(second):
        raise ArgumentError("second", got=np.shape(second), expected=f"{np.shape(first)}, the items of the first")


def check_finite(values: np.ndarray, name: str) -> None:
    """Number check: refuse NaN and infinity, of which no sum is as large again, so that a p-value would be smallest."""
    numbers = np.asarray(values, dtype=float)
    wrong = numbers[~np.isfinite(numbers)]
    if len(wrong):
        advice = "Leave out, of both systems, the items without a value."
        got = f"{wrong[0]} for {len(wrong)} of {numbers.size}"
        raise ArgumentError(name, got=got, expected="finite numbers", advice=advice)


_AT_ONCE = 4_000_000
"""Chunk size: random signs in memory at a time."""


class PairedTest(NamedTuple):
    """Paired test result: what the first system's figure is above the second's, and the p-value.

    >>> paired_test(np.ones(12), np.zeros(12))
    PairedTest(difference=1.0, p_value=0.0005...)
    """

    difference: float
    p_value: float


def paired_test(first: np.ndarray, second: np.ndarray, *, resamples: int = 10_000, seed: int = 0) -> PairedTest:
    """Permutation test (approximate randomisation), two-sided, of two systems' means over the same items.

    If the systems were the same, each item's difference could as well have the other sign. The p-value is the share of
    random signs whose mean difference is at least as large, with the observed signs counted among them.

    >>> paired_test(np.array([1.0] * 12), np.array([0.0] * 12)).p_value < 0.01
    True
    """
    check_same_items(first, second)
    check_one_value_each(first, "first")
    check_resamples(first, resamples)
    check_finite(first, "first")
    check_finite(second, "second")
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    chance = np.abs(_with_random_signs(differences[differences != 0], resamples, seed))
    return PairedTest(float(differences.mean()), _p_value(chance, abs(differences.sum()), np.abs(differences).sum()))


def paired_statistic_test(
    first: np.ndarray, second: np.ndarray, *, statistic: Statistic, resamples: int = 1000, seed: int = 0
) -> PairedTest:
    """Permutation test of any statistic of rows, say a rate over a corpus: random items swap the systems' rows.

    >>> edits_and_symbols = np.array([[1, 4], [0, 3], [2, 5]] * 20), np.array([[1, 4], [1, 3], [2, 5]] * 20)
    >>> paired_statistic_test(*edits_and_symbols, statistic=lambda rows: rows[:, 0].sum() / rows[:, 1].sum())
    PairedTest(difference=-0.08..., p_value=0.00...)
    """
    check_same_items(first, second)
    check_resamples(first, resamples)
    random, values = np.random.default_rng(seed), (statistic(first), statistic(second))
    chance = [_swapped_difference(first, second, statistic, random) for _ in range(resamples)]
    check_finite(np.array([*values, *chance]), "statistic")
    observed = values[0] - values[1]
    return PairedTest(float(observed), _p_value(np.abs(chance), abs(observed), max(map(abs, values))))


def _swapped_difference(
    first: np.ndarray, second: np.ndarray, statistic: Statistic, random: np.random.Generator
) -> float:
    swap = random.integers(2, size=len(first), dtype=np.int8).astype(bool)
    swap = swap.reshape(-1, *[1] * (first.ndim - 1))
    return statistic(np.where(swap, second, first)) - statistic(np.where(swap, first, second))


def _with_random_signs(differences: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Sign flips: sums of the differences, each with a random sign; one sum per resample."""
    random, at_once = np.random.default_rng(seed), max(_AT_ONCE // max(len(differences), 1), 1)
    sizes = [min(at_once, resamples - done) for done in range(0, resamples, at_once)]
    flipped = [random.integers(2, size=(size, len(differences)), dtype=np.int8) @ differences for size in sizes]
    return np.asarray(differences.sum() - 2 * np.concatenate(flipped))


def _p_value(chance: np.ndarray, observed: float, scale: float) -> float:
    """P-value with what was observed as one of the resamples; sums in another order differ in their last digits."""
    return float((1 + np.count_nonzero(chance >= observed - 1e-12 * scale)) / (1 + len(chance)))
