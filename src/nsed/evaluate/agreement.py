"""Precision, recall and their harmonic mean, whatever it is that was found and expected."""

from typing import NamedTuple


class Agreement(NamedTuple):
    """How much of what was found was expected, how much of what was expected was found, and their harmonic mean."""

    precision: float
    recall: float
    f1: float

    @classmethod
    def of(cls, precision: float, recall: float) -> "Agreement":
        """With the harmonic mean of the two, which is 0 where both are.

        >>> Agreement.of(0.5, 1.0)
        Agreement(precision=0.5, recall=1.0, f1=0.66...)
        """
        return cls(precision, recall, 2 * precision * recall / max(precision + recall, 1e-12))
