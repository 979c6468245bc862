"""What models say beside their lattice: a Matcher its decision, a Transducer what else it might have written."""

from math import exp
from typing import Any, NamedTuple


class Decision(NamedTuple):
    """Whether a pair matches, and how far from the border it is.

    `log_odds = slope * score + offset` are those of `probability`; `match` says whether the score reaches `threshold`.
    """

    match: bool
    probability: float
    log_odds: float
    threshold: float
    slope: float
    offset: float

    @classmethod
    def of(cls, score: float, *, threshold: float, slope: float, offset: float) -> "Decision":
        """The decision about a score.

        >>> Decision.of(-0.1, threshold=-0.7, slope=2.0, offset=1.4).match
        True
        """
        log_odds = slope * score + offset
        probability = 1 / (1 + exp(-max(-700.0, min(700.0, log_odds))))
        return cls(score >= threshold, probability, log_odds, threshold, slope, offset)

    @property
    def needed(self) -> float:
        """The log-odds from which on pairs count as matches."""
        return self.slope * self.threshold + self.offset

    @property
    def word(self) -> str:
        """`match` or `no match`."""
        return "match" if self.match else "no match"


class Output(NamedTuple):
    """One target that a Transducer might write."""

    symbols: tuple[str, ...]
    log_prob: float

    @property
    def probability(self) -> float:
        """Its probability, given the source."""
        return exp(min(0.0, self.log_prob))


def read_decision(read: dict[str, Any] | None) -> Decision | None:
    """The decision whose plain values are given."""
    return None if read is None else Decision(**read)
