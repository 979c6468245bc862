"""From which score on a pair is called a match."""

import numpy as np

from nsed.evaluate.labelled import labelled


def tuned_threshold(scores: np.ndarray, labels: np.ndarray) -> float:
    """The threshold with the highest F1, halfway to the next lower score. Paper: section 3.1, the dynamic threshold.

    >>> tuned_threshold(np.array([0.9, 0.5, 0.1]), np.array([True, True, False]))
    0.3
    """
    scores, labels = labelled(scores, labels)
    order = np.argsort(-scores, kind="stable")
    ranked, hits = scores[order], np.cumsum(labels[order])
    f1 = 2 * hits / (np.arange(1, len(ranked) + 1) + labels.sum())
    f1[:-1][ranked[:-1] == ranked[1:]] = -1  # a threshold cannot cut between equal scores
    best = int(f1.argmax())
    lower = ranked[best + 1] if best + 1 < len(ranked) else ranked[best] - 1
    return _between(lower, ranked[best])


def _between(lower: float, upper: float) -> float:
    middle = upper - (upper - lower) / 2 if np.isfinite(lower) and np.isfinite(upper) else upper
    return float(middle if middle > lower else upper)
