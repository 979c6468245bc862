"""Records to be linked: text columns, ids and exact columns of a table, and the evidence of pairs of them."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nsed.errors import ArgumentError, DataError
from nsed.text import Pairs
from nsed.text.readers import read_sources

AGREE = 0.95
"""Share of matches whose exact columns agree, where both are known."""
LARGEST = 40.0
"""Log-odds at most, on either side of 0: no single column is beyond all doubt."""


class TextColumn(NamedTuple):
    """Text column to compare: its name in both tables, the model that compares it, and the weight of its log-odds."""

    name: str
    model: Any
    weight: float = 1.0


@dataclass(frozen=True)
class Records:
    """Records of a table."""

    names: list[str]
    """Names of the text columns."""
    columns: list[list[str]]
    """Text columns; what is missing is empty."""
    ids: list[str]
    exact: dict[str, list[str | None]]

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def read(cls, path: str | Path, names: Sequence[str], identity: str | None, exact: Sequence[str] = ()) -> "Records":
        """Records of a file. Raises `DataError` for columns that are not there, or ids that are not unique."""
        first, others = read_sources(path, column=names[0])
        known = {names[0]: list(first)}
        if others is not None:
            known |= {name: others.column(name).to_pylist() for name in others.column_names}
        missing = [name for name in (*names, *filter(None, [identity]), *exact) if name not in known]
        if missing:
            raise DataError(path, f"no column {', '.join(map(repr, missing))}; there are {', '.join(known)}")
        ids = [str(one) for one in known[identity]] if identity else [str(row + 1) for row in range(len(first))]
        twice = [one for one, count in Counter(ids).items() if count > 1]
        if twice:
            raise DataError(path, f"{identity} {twice[0]!r} names {ids.count(twice[0])} records; expected one each")
        texts = [["" if one is None else str(one) for one in known[name]] for name in names]
        values = {name: [None if one in (None, "") else str(one) for one in known[name]] for name in exact}
        return cls(list(names), texts, ids, values)

    @cached_property
    def joined(self) -> list[str]:
        """All text columns of each record as one string, for candidates."""
        return [" ".join(filter(None, row)) for row in zip(*self.columns, strict=True)]


class EqualStrings(NamedTuple):
    """Records by their strings: the group of each record, where each group begins in `order`, its size."""

    groups: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    order: np.ndarray

    @classmethod
    def of(cls, texts: Sequence[str]) -> "EqualStrings":
        """Groups of equal strings.

        >>> EqualStrings.of(["x", "y", "x"]).members(np.array([0])).tolist()
        [0, 2]
        """
        numbers: dict[str, int] = {}
        groups = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
        counts = np.bincount(groups, minlength=len(numbers))
        return cls(groups, np.r_[0, np.cumsum(counts)][:-1], counts, np.argsort(groups, kind="stable"))

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """How many records have the string of each of these."""
        return np.asarray(self.counts[self.groups[rows]])

    def members(self, rows: np.ndarray) -> np.ndarray:
        """All records with the string of each of these, one after the other."""
        sizes = self.sizes(rows)
        within = np.arange(sizes.sum()) - np.repeat(np.r_[0, np.cumsum(sizes)][:-1], sizes)
        return np.asarray(self.order[np.repeat(self.starts[self.groups[rows]], sizes) + within])


def model_odds(
    model: Any, left: Sequence[str], right: Sequence[str], pairs: tuple[np.ndarray, ...], reversed_: bool
) -> np.ndarray:
    """Calibrated log-odds of pairs of strings; 0 where one is missing. Equal pairs of strings are scored once."""
    texts = [(left[a], right[b]) for a, b in zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)]
    different = list(dict.fromkeys(pair for pair in texts if pair[0] and pair[1]))
    if not different:
        return np.zeros(len(texts))
    sources, targets = ([pair[side] for pair in different] for side in ((1, 0) if reversed_ else (0, 1)))
    calibration, scores = model.calibration, model.score(Pairs(sources, targets))
    odds = calibration.slope * calibration.evidence(scores) + calibration.intercept
    of_pair = dict(zip(different, np.clip(odds, -LARGEST, LARGEST).tolist(), strict=True))
    return np.array([of_pair.get(pair, 0.0) for pair in texts])


def agreement_odds(
    left: Sequence[str | None], right: Sequence[str | None], pairs: tuple[np.ndarray, ...]
) -> np.ndarray:
    """Log-odds of agreement and disagreement, against chance (Fellegi-Sunter); 0 where a value is missing.

    By chance, two records agree as often as the values of both tables do.

    >>> agreement_odds(["x", "y"], ["x", None], (np.array([0, 1, 0]), np.array([0, 0, 1]))).round(2).tolist()
    [0.64, -2.3, 0.0]
    """
    counts = [Counter(value for value in column if value is not None) for column in (left, right)]
    total = sum(counts[0].values()) * sum(counts[1].values())
    if not total:
        raise ArgumentError("--exact", got="a column without values", expected="one that has some in both tables")
    chance = min(max(sum(count * counts[1][value] for value, count in counts[0].items()) / total, 1e-6), AGREE)
    agree, differ = np.log(AGREE / chance), np.log((1 - AGREE) / (1 - chance))
    odds = np.zeros(len(pairs[0]))
    for row, (a, b) in enumerate(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)):
        one, other = left[a], right[b]
        if one is not None and other is not None:
            odds[row] = agree if one == other else differ
    return odds
