"""Tabular rules and differences: rows of text (the cells of TSV, terminals and pages), and a table over symbols."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from rich.markup import escape
from rich.table import Table

from nsed.explain.render.heat_maps import Grid, confusion_grid, operation_grid
from nsed.explain.rule_table import Rule, RuleDifference, RuleTable

COLUMNS = (
    "operation",
    "source",
    "target",
    "count",
    "opportunities",
    "probability",
    "share",
    "surprise",
    "contexts",
    "examples",
)
DIFFERENCE_COLUMNS = (
    "operation",
    "source",
    "target",
    "count 1",
    "opportunities 1",
    "probability 1",
    "count 2",
    "opportunities 2",
    "probability 2",
    "difference",
    "G2",
    "p",
)
_COLOURS = {"delete": "red", "insert": "green", "substitute": "yellow", "keep": ""}


def rule_rows(table: RuleTable, chosen: Iterable[Rule]) -> Iterator[tuple[str, ...]]:
    """Table rows, one per rule, under `COLUMNS`."""
    for rule in chosen:
        numbers = f"{rule.count:.3f}", f"{rule.opportunities:.0f}", f"{rule.probability:.6f}", f"{rule.share:.8f}"
        examples = " | ".join("=".join(table.joined(example)) for example in rule.examples)
        yield (*rule.name, *numbers, f"{rule.surprise:.2f}", rule.told(), examples)


def difference_rows(chosen: Iterable[RuleDifference]) -> Iterator[tuple[str, ...]]:
    """Table rows, one per rule, under `DIFFERENCE_COLUMNS`."""
    for one in chosen:
        sides = zip(one.counts, one.opportunities, one.probabilities, strict=True)
        numbers = [cell for c, n, p in sides for cell in (f"{c:.3f}", f"{n:.0f}", f"{p:.6f}")]
        yield (*one.rule.name, *numbers, f"{one.difference:+.6f}", f"{one.g2:.2f}", f"{one.p_value:.3g}")


def console_table(table: RuleTable, chosen: Sequence[Rule]) -> Table:
    """Terminal table of rules, in the order given; what no rule has is left out."""
    counted, told = table.pairs > 0, any(rule.contexts for rule in chosen)
    shown = [("rule", True), ("count", counted), ("probability", True), ("share", True), ("surprise", told)]
    shown += [("where", told), ("examples", counted)]
    keep = [is_shown for _, is_shown in shown]
    console = Table(box=None, pad_edge=False)
    for name, is_shown in shown:
        if is_shown:
            console.add_column(name, justify="left" if name in ("rule", "where", "examples") else "right")
    for rule in chosen:
        cells = _cells(table, rule)
        console.add_row(*(cell for cell, is_shown in zip(cells, keep, strict=True) if is_shown))
    return console


def console_differences(chosen: Sequence[RuleDifference], names: tuple[str, str]) -> Table:
    """Terminal table of differences, in the order given."""
    console = Table(box=None, pad_edge=False)
    console.add_column("rule")
    for name in (*map(escape, names), "difference", "G²", "p"):
        console.add_column(name, justify="right")
    console.add_column("where")
    for one in chosen:
        sides = [_side(*side) for side in zip(one.counts, one.opportunities, one.probabilities, strict=True)]
        numbers = f"{one.difference:+.1%}", f"{one.g2:,.1f}", f"{one.p_value:.1g}"
        console.add_row(_name(one.rule), *sides, *numbers, escape(one.rule.told()))
    return console


def _side(count: float, opportunities: float, probability: float) -> str:
    if not opportunities:
        return f"{probability:.1%}"
    return f"{probability:.1%} ({count:,.0f} of {opportunities:,.0f})"


def _cells(table: RuleTable, rule: Rule) -> tuple[str, ...]:
    examples = ", ".join(" ".join(table.joined(example)) for example in rule.examples[:2])
    numbers = f"{rule.count:,.1f}", f"{rule.probability:.1%}", f"{rule.share:.2%}", f"{rule.surprise:,.0f}"
    return _name(rule), *numbers, escape(rule.told()), escape(examples)


def _name(rule: Rule) -> str:
    colour = _COLOURS[rule.kind]
    return f"[{colour}]{escape(str(rule))}[/]" if colour else escape(str(rule))


DELETED = "−"
"""Deletion column label."""
MOST_SYMBOLS = 40
"""Symbols of either side at most: those of the most weight."""


def rule_grid(table: RuleTable, *, symbols: int = MOST_SYMBOLS) -> Grid:
    """Heat map of rules: substitutions, what is kept, and in the last column what is deleted.

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
    """Top symbols of one side, by weight; in alphabetical order."""
    weights: dict[str, float] = {}
    for rule in rules:
        symbol = getattr(rule, side)
        weights[symbol] = weights.get(symbol, 0.0) + _weight(rule)
    weights.pop("", None)
    return sorted(sorted(weights, key=weights.__getitem__, reverse=True)[:most])


def _weight(rule: Rule) -> float:
    return rule.count or rule.probability
