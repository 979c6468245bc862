"""Whether something happens more often here than there: the log-likelihood ratio G² of two proportions."""

from math import erfc, sqrt

import numpy as np
from jaxtyping import Float

Numbers = Float[np.ndarray, " n"]


def g_squared(count: Numbers, tries: Numbers, other_count: Numbers, other_tries: Numbers) -> Numbers:
    """G² of each `count` out of `tries` against the other; 0 where one side has no tries.

    Twice the log-likelihood of two proportions above that of a single one; one degree of freedom. Counts may be
    expectations. Half of the tries against none of as many:

    >>> one = np.ones(1)
    >>> g_squared(10 * one, 20 * one, 0 * one, 20 * one).round(2)
    array([17.26])
    """
    count, other_count = np.minimum(count, tries), np.minimum(other_count, other_tries)
    together = (count + other_count) / np.maximum(tries + other_tries, 1e-300)
    parts = [
        _part(count, tries * together),
        _part(tries - count, tries * (1 - together)),
        _part(other_count, other_tries * together),
        _part(other_tries - other_count, other_tries * (1 - together)),
    ]
    return np.asarray(np.maximum(2 * np.sum(parts, axis=0), 0.0))


def chance(g2: float) -> float:
    """How probable so large a G² is by chance, one degree of freedom.

    >>> round(chance(3.84), 3), round(chance(10.83), 4)
    (0.05, 0.001)
    """
    return erfc(sqrt(g2 / 2))


def _part(observed: Numbers, expected: Numbers) -> Numbers:
    """`observed * log(observed / expected)`, which is 0 where nothing was observed."""
    positive = (observed > 0) & (expected > 0)
    ratio = np.divide(observed, expected, out=np.ones_like(observed), where=positive)
    return np.where(positive, observed * np.log(ratio), 0.0)
