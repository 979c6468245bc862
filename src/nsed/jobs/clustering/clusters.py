"""Clusters of items, by any method."""

import math

import numpy as np

from nsed.errors import ArgumentError
from nsed.evaluate.clustering import numbered
from nsed.jobs.clustering.registry import CLUSTERERS
from nsed.jobs.clustering.similarities import checked_similarities


def cluster(similarities: np.ndarray, *, threshold: float, method: str = "average") -> np.ndarray:
    """The cluster of each item, as a number from 0 in the order in which clusters first occur.

    `similarities` is a symmetric matrix; NaN stands for pairs that were not compared, and the diagonal for nothing.
    What the threshold means is the method's business; the higher, the more clusters.

    >>> similarities = np.array([[1, 0.9, 0.2], [0.9, 1, 0.6], [0.2, 0.6, 1]])
    >>> cluster(similarities, threshold=0.5), cluster(similarities, threshold=0.5, method="components")
    (array([0, 0, 1]), array([0, 0, 0]))
    >>> cluster(similarities, threshold=0.5, method="averge")
    Traceback (most recent call last):
    nsed.errors.UnknownNameError: method: got 'averge', expected one of: average, ... Did you mean 'average'?
    """
    if not math.isfinite(threshold):
        raise ArgumentError("threshold", got=threshold, expected="a finite number")
    groups = CLUSTERERS[method](checked_similarities(similarities), threshold)
    return numbered(groups.tolist())
