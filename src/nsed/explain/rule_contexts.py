"""In which neighbourhood an operation is more or less probable than on average."""

from collections.abc import Iterator

import numpy as np

from nsed.explain.keyed_sums import Sums
from nsed.explain.likelihood_ratio import g_squared
from nsed.explain.rule_counts import RuleCounts
from nsed.explain.rule_table import RuleContext, Side
from nsed.types import END, START

LEAST = 0.5
"""Expected count from which a neighbour is listed."""
EDGES = {START: "^", END: "$"}


def contexts_of(counts: RuleCounts) -> dict[int, tuple[RuleContext, ...]]:
    """The contexts of each operation's number, the most surprising first."""
    found: dict[int, list[RuleContext]] = {}
    for operation, context in (*_one_side(counts, "after"), *_one_side(counts, "before")):
        found.setdefault(operation, []).append(context)
    return {operation: tuple(sorted(some, key=_order)) for operation, some in found.items()}


def _order(context: RuleContext) -> tuple[float, str, str]:
    return -context.g2, context.side, context.symbol


def _one_side(counts: RuleCounts, side: Side) -> Iterator[tuple[int, RuleContext]]:
    used, possible = (
        (counts.left, counts.left_opportunities) if side == "after" else (counts.right, counts.right_opportunities)
    )
    sources, targets = len(counts.source.vocabulary), len(counts.target.vocabulary)
    operation, neighbour = np.divmod(used.keys, sources)
    figures = _compared(used, possible, operation, (sources, targets))
    listed, names = used.values >= LEAST, counts.source.vocabulary.names
    columns = (column[listed].tolist() for column in (operation, neighbour, *figures))
    for number, other, *numbers in zip(*columns, strict=True):
        yield number, RuleContext(side, EDGES.get(other, names[other]), other in EDGES, *numbers)


def _compared(
    used: Sums, possible: Sums, operation: np.ndarray, sizes: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Count, opportunities, probability, ratio and signed G² of each operation with each neighbour."""
    sources, targets = sizes
    source, neighbour = operation // targets, used.keys % sources
    count, tries = used.values, possible.of(source * sources + neighbour)
    all_count = used.grouped(operation).of(operation)
    all_tries = possible.grouped(possible.keys // sources).of(source)
    here, anywhere = count / tries, all_count / all_tries
    g2 = g_squared(count, tries, all_count - count, all_tries - tries)
    return count, tries, here, here / anywhere, np.where(here >= anywhere, g2, -g2)
