"""Records to be linked: text columns, ids and further columns of a table, each different value once."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from nsed.errors import DataError
from nsed.text.readers import read_sources
from nsed.text.texts import Texts

ROW = "nsed_row"
"""Column of a record's row, for rules in SQL."""


@dataclass(frozen=True)
class Records:
    """Records of a table."""

    columns: list[Texts]
    """Text columns; what is missing is empty, see `with_missing`."""
    ids: list[str]
    exact: dict[str, Texts]
    """Columns whose values agree or not, missing ones as in texts."""
    numeric: dict[str, np.ndarray]
    """Columns of numbers; what is missing is not a number."""

    def __len__(self) -> int:
        return len(self.ids)

    @classmethod
    def of(
        cls,
        table: pa.Table,
        texts: Sequence[str],
        identity: str | None,
        *,
        exact: Sequence[str] = (),
        numeric: Iterable[str] = (),
        path: str | Path = "",
    ) -> "Records":
        """Records of a table. Raises `DataError` for columns that are not there, ids that are not unique, no number."""
        wanted = [*texts, *filter(None, [identity]), *exact, *numeric]
        missing = [name for name in wanted if name not in table.column_names]
        if missing:
            there = ", ".join(table.column_names)
            raise DataError(path, f"no column {', '.join(map(repr, missing))}; there are {there}")
        ids = _strings(table, identity) if identity else [str(row + 1) for row in range(len(table))]
        if len(set(ids)) < len(ids):
            twice, count = Counter(ids).most_common(1)[0]
            raise DataError(path, f"{identity} {twice!r} names {count} records; expected one each")
        return cls(
            [with_missing(_strings(table, name)) for name in texts],
            ids,
            {name: with_missing(_strings(table, name)) for name in exact},
            {name: _numbers(table, name, path) for name in numeric},
        )

    @cached_property
    def joined(self) -> Texts:
        """All text columns of each record as one string, for candidates."""
        return Texts.of(" ".join(filter(None, row)) for row in zip(*self.columns, strict=True))


def read_table(path: str | Path, first: str) -> pa.Table:
    """All columns of a file of records. Raises `DataError` where it has not the first column that is wanted."""
    texts, others = read_sources(path, column=first)
    table = pa.table({first: pa.array(texts, pa.string())})
    for name in others.column_names if others is not None else ():
        table = table.append_column(name, others.column(name))
    return table


def with_missing(texts: Iterable[str]) -> Texts:
    """Dictionary encoding in which the empty string is always there, and the first.

    >>> with_missing(["x", "", "x"]).rows.tolist()
    [1, 0, 1]
    """
    numbers = {"": 0}
    rows = np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
    return Texts(list(numbers), rows)


def _strings(table: pa.Table, name: str) -> list[str]:
    return ["" if one is None else str(one) for one in table.column(name).to_pylist()]


def _numbers(table: pa.Table, name: str, path: str | Path) -> np.ndarray:
    values = np.full(len(table), np.nan)
    for row, text in enumerate(_strings(table, name)):
        try:
            values[row] = float(text) if text else np.nan
        except ValueError:
            raise DataError(path, f"{name} of record {row + 1} is no number; give such a column to --exact") from None
    return values


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
        groups = Texts.of(texts).rows
        counts = np.bincount(groups)
        return cls(groups, np.r_[0, np.cumsum(counts)][:-1], counts, np.argsort(groups, kind="stable"))

    def sizes(self, rows: np.ndarray) -> np.ndarray:
        """How many records have the string of each of these."""
        return np.asarray(self.counts[self.groups[rows]])

    def members(self, rows: np.ndarray) -> np.ndarray:
        """All records with the string of each of these, one after the other."""
        sizes = self.sizes(rows)
        within = np.arange(sizes.sum()) - np.repeat(np.r_[0, np.cumsum(sizes)][:-1], sizes)
        return np.asarray(self.order[np.repeat(self.starts[self.groups[rows]], sizes) + within])
