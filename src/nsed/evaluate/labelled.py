"""Pairs with a number and a label each, checked once for every metric that reads them."""

import numpy as np

from nsed.errors import ArgumentError


def labelled(scores: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Scores as numbers and labels as truth values; as many of one as of the other, and at least one."""
    scores = np.asarray(scores, dtype=float)
    if scores.shape != np.shape(labels) or scores.ndim != 1 or not len(scores):
        raise ArgumentError("labels", got=np.shape(labels), expected=f"{scores.shape}, one per score, at least one")
    return scores, np.asarray(labels, dtype=bool)


def both_kinds(labels: np.ndarray) -> tuple[int, int]:
    """How many labels are positive, and how many negative; neither may be missing."""
    positives = int(np.count_nonzero(labels))
    negatives = len(labels) - positives
    if not positives or not negatives:
        got = f"{positives} positive and {negatives} negative labels"
        raise ArgumentError("labels", got=got, expected="both kinds")
    return positives, negatives
