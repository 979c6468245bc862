"""Clustering metrics: agreement of two groupings of the same items, from their contingency table."""

from collections.abc import Collection, Hashable
from typing import NamedTuple

import numpy as np

from nsed.errors import ArgumentError
from nsed.evaluate.matching import Agreement


def b_cubed(found: Collection[Hashable], expected: Collection[Hashable]) -> Agreement:
    """B-cubed precision and recall, and their harmonic mean; the group of each item is any hashable value.

    Precision is the mean, over items, of the share of their found group that belongs with them; recall the mean share
    of what belongs with them that is in their found group.

    >>> b_cubed("aaab", "xxyy")
    Agreement(precision=0.66..., recall=0.75, f1=0.70...)
    """
    table = _overlaps(found, expected)
    items = table.items.sum()
    precision = (table.items**2 / table.found_sizes[table.found]).sum() / items
    recall = (table.items**2 / table.expected_sizes[table.expected]).sum() / items
    return Agreement.of(float(precision), float(recall))


def adjusted_rand(found: Collection[Hashable], expected: Collection[Hashable]) -> float:
    """Adjusted Rand index (chance-corrected): 1 for the same groups, about 0 for groups that have nothing in common.

    >>> adjusted_rand("aabb", "yyxx"), adjusted_rand("aabb", "xyxy")
    (1.0, -0.5)
    """
    table = _overlaps(found, expected)
    both, one, other = map(_pairs, (table.items, table.found_sizes, table.expected_sizes))
    every = _pairs(table.items.sum(keepdims=True))
    spread = (one + other) * every - 2 * one * other
    return 2 * (both * every - one * other) / spread if spread else 1.0


def pairwise(found: Collection[Hashable], expected: Collection[Hashable]) -> Agreement:
    """Pairwise precision and recall, of the pairs of items that are in one group; 1 where there is no such pair.

    >>> pairwise("aaab", "xxyy")
    Agreement(precision=0.33..., recall=0.5, f1=0.4)
    """
    table = _overlaps(found, expected)
    both, one, other = map(_pairs, (table.items, table.found_sizes, table.expected_sizes))
    return Agreement.of(both / one if one else 1.0, both / other if other else 1.0)


class _Overlaps(NamedTuple):
    """Contingency table: of cells that are not empty, found and expected group and items; and each group's size."""

    found: np.ndarray
    expected: np.ndarray
    items: np.ndarray
    found_sizes: np.ndarray
    expected_sizes: np.ndarray


def _overlaps(found: Collection[Hashable], expected: Collection[Hashable]) -> _Overlaps:
    if len(found) != len(expected) or not len(found):
        needed = f"{len(found)}, as many as were found, at least one"
        raise ArgumentError("expected", got=f"the groups of {len(expected)} items", expected=needed)
    rows, columns = numbered(found), numbered(expected)
    width = int(columns.max()) + 1
    cells, items = np.unique(rows * width + columns, return_counts=True)
    return _Overlaps(cells // width, cells % width, items, np.bincount(rows), np.bincount(columns))


def numbered(groups: Collection[Hashable]) -> np.ndarray:
    """Group numbers from 0, in the order in which they first occur.

    >>> numbered("baab")
    array([0, 1, 1, 0])
    """
    numbers: dict[Hashable, int] = {}
    return np.fromiter((numbers.setdefault(group, len(numbers)) for group in groups), dtype=np.int64, count=len(groups))


def _pairs(sizes: np.ndarray) -> int:
    """Pair count within groups of these sizes, as a Python integer: products of two such counts are large."""
    return int((sizes * (sizes - 1) // 2).sum())
