"""Rules as a table over symbols: what each source symbol becomes, counted in data or read from weights."""

from collections.abc import Sequence

import numpy as np

from nsed.explain.grid import Grid
from nsed.explain.matrix_map import confusion_grid, operation_grid
from nsed.explain.rule_table import Rule, RuleTable

DELETED = "−"
"""The column of what is deleted."""
MOST_SYMBOLS = 40
"""Symbols of either side at most: those of the most weight."""


def rule_grid(table: RuleTable, *, symbols: int = MOST_SYMBOLS) -> Grid:
    """Substitutions, what is kept, and in the last column what is deleted.

    Rules that were counted give counts (a confusion matrix), those of weights alone give probabilities.
    """
    rules = [rule for rule in table.rules if rule.source]
    sources, targets = (_strongest(rules, side, symbols) for side in ("source", "target"))
    columns = [*targets, DELETED]
    numbers = np.zeros((len(sources), len(columns)))
    for rule in rules:
        target = rule.target or DELETED
        if rule.source in sources and target in columns:
            numbers[sources.index(rule.source), columns.index(target)] = _weight(rule)
    if table.pairs:
        return confusion_grid(numbers.round(1), sources, columns)
    return operation_grid(np.log(numbers.clip(min=1e-30)), sources, columns)


def _strongest(rules: Sequence[Rule], side: str, most: int) -> list[str]:
    """The symbols of one side, by weight; in alphabetical order."""
    weights: dict[str, float] = {}
    for rule in rules:
        symbol = getattr(rule, side)
        weights[symbol] = weights.get(symbol, 0.0) + _weight(rule)
    weights.pop("", None)
    return sorted(sorted(weights, key=weights.__getitem__, reverse=True)[:most])


def _weight(rule: Rule) -> float:
    return rule.count or rule.probability
