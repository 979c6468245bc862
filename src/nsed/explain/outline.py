"""The explanation of a pair in short: what can be said about thousands of pairs at once."""

from math import exp
from typing import NamedTuple

from nsed.explain.decision import Decision
from nsed.text import EditScript


class Outline(NamedTuple):
    """The best script, the score and how uncertain the derivation is: an `Explanation` without its tables."""

    source: str
    target: str
    script: EditScript
    log_prob: float
    entropy: float
    decision: Decision | None = None

    @property
    def probability(self) -> float:
        """That the pair matches, of a model that decides; otherwise that of the target, given the source."""
        return exp(min(0.0, self.log_prob)) if self.decision is None else self.decision.probability

    @property
    def alternatives(self) -> float:
        """How many equally probable scripts would leave as much doubt: 1 where there is only one."""
        return exp(min(700.0, self.entropy))
