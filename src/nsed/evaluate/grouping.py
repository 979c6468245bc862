"""Breakdown groups of items, so that a figure can be given for each: by length, by language, by script."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np


class ItemGroup(NamedTuple):
    """Item group: what it is called, and the places of its items."""

    name: str
    rows: np.ndarray


def length_groups(lengths: np.ndarray, *, smallest: float = 0.04) -> list[ItemGroup]:
    """Length groups, shortest first; lengths next to each other share a group, so that it has a share of all items.

    >>> [(group.name, len(group.rows)) for group in length_groups(np.array([3, 4, 4, 4, 5, 9]), smallest=0.3)]
    [('3–4', 4), ('5–9', 2)]
    """
    if not len(lengths):
        return []
    groups, begun = [], np.zeros(0, dtype=int)
    for length in np.unique(lengths):
        begun = np.concatenate([begun, np.flatnonzero(lengths == length)])
        if len(begun) >= smallest * len(lengths):
            groups.append(begun)
            begun = begun[:0]
    groups[-1] = np.concatenate([groups[-1], begun])
    return [ItemGroup(_span(lengths[rows]), np.sort(rows)) for rows in groups]


def category_groups(categories: Sequence[Iterable[str]]) -> list[ItemGroup]:
    """Category groups, in alphabetical order; an item is in the group of each of its categories.

    >>> [(group.name, group.rows.tolist()) for group in category_groups([{"cs"}, {"de", "cs"}])]
    [('cs', [0, 1]), ('de', [1])]
    """
    rows: dict[str, list[int]] = {}
    for row, names in enumerate(categories):
        for name in set(names):
            rows.setdefault(name, []).append(row)
    return [ItemGroup(name, np.array(rows[name])) for name in sorted(rows)]


def script_of(text: str) -> str:
    """Script of most letters of a text, by their Unicode names; `none` where there is no letter.

    >>> script_of("Москва"), script_of("naïve"), script_of("12")
    ('cyrillic', 'latin', 'none')
    """
    names = (unicodedata.name(character, "none") for character in text if character.isalpha())
    counts = Counter(name.split(" ")[0].lower() for name in names)
    return counts.most_common(1)[0][0] if counts else "none"


def _span(lengths: np.ndarray) -> str:
    low, high = int(lengths.min()), int(lengths.max())
    return f"{low}" if low == high else f"{low}–{high}"
