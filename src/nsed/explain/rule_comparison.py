"""Which rules differ between two models, or between two data sets."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nsed.explain.likelihood_ratio import chance, g_squared
from nsed.explain.rule_table import Rule, RuleTable


@dataclass(frozen=True)
class RuleDifference:
    """One operation on both sides: how often it was expected, out of how many opportunities, and how probable.

    `g2` is the log-likelihood ratio of two probabilities against a single one, `p_value` how probable so large a G² is
    by chance if all opportunities were independent. Two models on the same data are not: there, G² is an order of
    importance rather than a test. Rules from weights alone have neither; their `p_value` is 1.
    """

    rule: Rule
    """The operation, with the contexts and examples of the side that uses it more."""
    counts: tuple[float, float]
    opportunities: tuple[float, float]
    probabilities: tuple[float, float]
    g2: float
    p_value: float

    @property
    def difference(self) -> float:
        """The second probability minus the first."""
        return self.probabilities[1] - self.probabilities[0]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        names = {"kind": self.rule.kind, "source": self.rule.source, "target": self.rule.target}
        figures = {name: value for name, value in asdict(self).items() if name != "rule"}
        return {**names, **figures, "difference": self.difference}


def compare(first: RuleTable, second: RuleTable, *, min_count: float = 0.0) -> list[RuleDifference]:
    """All rules of both tables, those first that differ most (G², then the difference of probabilities).

    `min_count` leaves out rules that neither side uses so often.
    """
    both = (first, second)
    names = sorted({*first.by_name, *second.by_name})
    sides = [[table.by_name.get(name) for table in both] for name in names]
    used = [side for side in sides if max(rule.count for rule in side if rule) >= min_count]
    counts = np.array([[rule.count if rule else 0.0 for rule in side] for side in used]).reshape(-1, 2)
    tries = np.array([_opportunities(both, side) for side in used]).reshape(-1, 2)
    g2 = np.where(tries.min(1) > 0, g_squared(counts[:, 0], tries[:, 0], counts[:, 1], tries[:, 1]), 0.0)
    rows = zip(used, counts.tolist(), tries.tolist(), g2.tolist(), strict=True)
    differences = [_difference(side, (c[0], c[1]), (n[0], n[1]), value) for side, c, n, value in rows]
    return sorted(differences, key=lambda one: (-one.g2, -abs(one.difference), one.rule.name))


def _opportunities(tables: tuple[RuleTable, RuleTable], side: list[Rule | None]) -> list[float]:
    (known, *_) = (rule for rule in side if rule)
    return [table.opportunities(known) for table in tables]


def _difference(
    side: list[Rule | None], counts: tuple[float, float], tries: tuple[float, float], g2: float
) -> RuleDifference:
    first, second = (rule.probability if rule else 0.0 for rule in side)
    (shown, *_) = sorted((rule for rule in side if rule), key=lambda rule: -rule.probability)
    return RuleDifference(shown, counts, tries, (first, second), g2, chance(g2))
