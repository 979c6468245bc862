"""Whether two systems differ by more than chance on the same items, by approximate randomisation."""

from typing import NamedTuple

import numpy as np

from nsed.evaluate.resampling import Statistic, check_one_value_each, check_resamples, check_same_items

_AT_ONCE = 4_000_000
"""Random signs in memory at a time."""


class PairedTest(NamedTuple):
    """What the first system's figure is above the second's, and how probable a difference as large is by chance."""

    difference: float
    p_value: float


def paired_test(first: np.ndarray, second: np.ndarray, *, resamples: int = 10_000, seed: int = 0) -> PairedTest:
    """Two-sided test of two systems' means over the same items, by approximate randomisation.

    If the systems were the same, each item's difference could as well have the other sign. The p-value is the share of
    random signs whose mean difference is at least as large, with the observed signs counted among them.

    >>> paired_test(np.array([1.0] * 12), np.array([0.0] * 12)).p_value < 0.01
    True
    """
    check_same_items(first, second)
    check_one_value_each(first, "first")
    check_resamples(first, resamples)
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    chance = np.abs(_with_random_signs(differences[differences != 0], resamples, seed))
    return PairedTest(float(differences.mean()), _p_value(chance, abs(differences.sum()), np.abs(differences).sum()))


def paired_statistic_test(
    first: np.ndarray, second: np.ndarray, *, statistic: Statistic, resamples: int = 1000, seed: int = 0
) -> PairedTest:
    """The same of any statistic of rows, say a rate over a corpus: random items swap the systems' rows.

    >>> edits_and_symbols = np.array([[1, 4], [0, 3], [2, 5]] * 20), np.array([[1, 4], [1, 3], [2, 5]] * 20)
    >>> paired_statistic_test(*edits_and_symbols, statistic=lambda rows: rows[:, 0].sum() / rows[:, 1].sum())
    PairedTest(difference=-0.08..., p_value=0.00...)
    """
    check_same_items(first, second)
    check_resamples(first, resamples)
    random, values = np.random.default_rng(seed), (statistic(first), statistic(second))
    chance = [_swapped_difference(first, second, statistic, random) for _ in range(resamples)]
    observed = values[0] - values[1]
    return PairedTest(float(observed), _p_value(np.abs(chance), abs(observed), max(map(abs, values))))


def _swapped_difference(
    first: np.ndarray, second: np.ndarray, statistic: Statistic, random: np.random.Generator
) -> float:
    swap = random.integers(2, size=len(first), dtype=np.int8).astype(bool)
    swap = swap.reshape(-1, *[1] * (first.ndim - 1))
    return statistic(np.where(swap, second, first)) - statistic(np.where(swap, first, second))


def _with_random_signs(differences: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Sums of the differences, each with a random sign; one sum per resample."""
    random, at_once = np.random.default_rng(seed), max(_AT_ONCE // max(len(differences), 1), 1)
    sizes = [min(at_once, resamples - done) for done in range(0, resamples, at_once)]
    flipped = [random.integers(2, size=(size, len(differences)), dtype=np.int8) @ differences for size in sizes]
    return np.asarray(differences.sum() - 2 * np.concatenate(flipped))


def _p_value(chance: np.ndarray, observed: float, scale: float) -> float:
    """With what was observed as one of the resamples; sums in another order differ in their last digits."""
    return float((1 + np.count_nonzero(chance >= observed - 1e-12 * scale)) / (1 + len(chance)))
