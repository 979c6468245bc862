"""Pairs of strings, with or without a label that says whether they match."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import PurePath
from typing import Any, TypeAlias, cast

import numpy as np
import pyarrow as pa

from nsed.errors import ArgumentError
from nsed.text.columns import (
    Column,
    TableLike,
    checked_column,
    encode_rows,
    is_column,
    is_table,
    lone_column,
    no_string,
    pick_columns,
    refuse_lazy,
    to_arrow,
)
from nsed.text.texts import Texts

COLUMNS = ("source", "target", "label", "source_language", "target_language")
"""Column names of a file of pairs: the first two, the first three, all, or all but the label."""
LABELLED = (3, 5)
"""Numbers of columns of a file of pairs whose third one is the label."""
TEXTS = tuple(name for name in COLUMNS if name != "label")


@dataclass(frozen=True)
class Pairs:
    """Pair columns of equal length: sources, targets and, for matching, labels and the languages of both.

    >>> pairs = Pairs.of([("colour", "color"), ("grey", "gray")])
    >>> len(pairs), list(pairs)[1]
    (2, ('grey', 'gray'))
    """

    sources: Sequence[str]
    targets: Sequence[str]
    labels: Sequence[bool] | None = None
    source_languages: Sequence[str] | None = None
    """Source languages, or any other category of strings: a dialect, a data source."""
    target_languages: Sequence[str] | None = None
    others: pa.Table | None = None
    """Further columns of the table that the pairs are from, say ids and glosses; no model looks at them."""
    weights: Sequence[float] | None = None
    """Loss weights: how much each pair counts in the training of a network that writes targets; None for all alike."""

    def __post_init__(self) -> None:
        for name, column in vars(self).items():
            if column is not None and len(column) != len(self.sources):
                raise ArgumentError(
                    name, got=f"{len(column)} rows", expected=f"{len(self.sources)}, as many as sources"
                )
        for name, texts in (("sources", self.sources), ("targets", self.targets)):
            if isinstance(texts, str):
                raise ArgumentError(name, got=repr(texts), expected="a list of strings")
            if not isinstance(texts, Texts) and not all(isinstance(text, str) for text in texts):
                raise no_string(name, texts)

    @classmethod
    def of(cls, pairs: "PairsLike", labels: Column | None = None) -> "Pairs":
        """Convert to pairs whatever a caller has.

        That is (source, target) tuples, lists or array rows; dicts with these keys, one for each pair; or a table: a
        pandas or polars frame, an Arrow table, record batch, list of batches or reader, whatever else has Arrow's
        PyCapsule interface (a DuckDB relation), or a dict of columns. A table has the columns `source` and `target`, or
        exactly two of other names, which are taken in their order; perhaps `label`, `source_language` and
        `target_language`. Further columns are left alone. Labels may be booleans, 1 and 0, or "yes" and "no"; those
        given stand above those in a table. Raises `ArgumentError` with the place of what is wrong.

        >>> Pairs.of({"source": ["colour", "grey"], "target": ["color", "green"], "label": ["yes", "no"]}).labels
        [True, False]
        >>> list(Pairs.of(pa.table({"british": ["colour", "grey"], "american": ["color", "gray"]})))
        [('colour', 'color'), ('grey', 'gray')]
        """
        if isinstance(pairs, Pairs):
            return pairs if labels is None else replace(pairs, labels=parse_labels(labels))
        refuse_lazy(pairs, "pairs")
        if is_table(pairs):
            return cls.of_table(pairs, labels)
        if isinstance(pairs, np.ndarray) and pairs.ndim == 2 and pairs.shape[1] == 2:
            return cls.of_columns(pairs[:, 0], pairs[:, 1], labels)
        return cls._of_rows(_rows(pairs), labels)

    @classmethod
    def of_columns(cls, sources: Column, targets: Column, labels: Column | None = None) -> "Pairs":
        """Pairs from a column of sources and one of targets, row by row; strings that occur often are kept once.

        Columns are lists and other iterables, Arrow arrays (plain, chunked, dictionaries), pandas and polars Series
        and numpy arrays. The index of a Series counts for nothing.

        >>> list(Pairs.of_columns(["colour", "grey"], pa.array(["color", "gray"])))
        [('colour', 'color'), ('grey', 'gray')]
        """
        checked = None if labels is None else parse_labels(labels)
        return cls(Texts.of_column(sources, name="sources"), Texts.of_column(targets, name="targets"), checked)

    @classmethod
    def given(cls, pairs: "PairsLike", targets: Column | None = None) -> "Pairs":
        """Pairs of the arguments of `score(pairs)` or `score(sources, targets)`: of one argument, or of two columns.

        >>> list(Pairs.given([("colour", "color")])) == list(Pairs.given(["colour"], ["color"]))
        True
        """
        return cls.of(pairs) if targets is None else cls.of_columns(cast(Column, pairs), targets)

    @classmethod
    def of_table(cls, table: TableLike, labels: Column | None = None) -> "Pairs":
        """Pairs from the columns of a table, see `of`; strings that occur often are kept once."""
        found = pick_columns(table, COLUMNS)
        given = {role: Texts.of_column(found[role].values, name=found[role].name) for role in TEXTS if role in found}
        checked = None if labels is None else parse_labels(labels)
        if labels is None and "label" in found:
            checked = parse_labels(found["label"].values, name="label")
        return cls(
            given["source"], given["target"], checked, given.get("source_language"), given.get("target_language")
        )

    @classmethod
    def _of_rows(cls, rows: list[object], labels: Column | None) -> "Pairs":
        if rows and isinstance(rows[0], Mapping):
            return cls.of_table({str(name): _cells(rows, name) for name in rows[0]}, labels)
        if rows and all(isinstance(row, pa.RecordBatch) for row in rows):
            return cls.of_table(_one_table(cast(list[pa.RecordBatch], rows)), labels)
        checked = None if labels is None else parse_labels(labels)
        pairs = [_row(row, place) for place, row in enumerate(rows)]
        return cls([source for source, _ in pairs], [target for _, target in pairs], checked)

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.sources, self.targets, strict=True)

    @property
    def columns(self) -> "dict[str, Sequence[Any] | None]":
        """Columns that models learn from, by their names here; None for one that there is not, no weights for none."""
        left_out = {"others"} if self.weights is not None else {"others", "weights"}
        return {name: column for name, column in vars(self).items() if name not in left_out}

    @property
    def languages(self) -> list[str] | None:
        """Language of each pair, both sides together: `de`, or `ar-en` where they differ; None where none is known.

        >>> Pairs(["Kuh", "قط"], ["k uː", "qitt"], None, ["de", "ar"], ["de", "en"]).languages
        ['de', 'ar-en']
        """
        sides = [side for side in (self.source_languages, self.target_languages) if side is not None]
        return ["-".join(dict.fromkeys(both)) for both in zip(*sides, strict=True)] if sides else None

    def positives(self) -> "Pairs":
        """Positive pairs, those that match; all of them where there are no labels."""
        if self.labels is None:
            return self
        return replace(self.chosen([row for row, label in enumerate(self.labels) if label]), labels=None)

    def row_of(self, pair: tuple[str, str]) -> str:
        """Row of a pair, counted from 1, with the beginning of its source: where to find it, for error messages."""
        row = next((row for row, other in enumerate(self, start=1) if other == pair), None)
        beginning = pair[0] if len(pair[0]) <= 20 else f"{pair[0][:20]}…"
        return f"in row {row:,} ({beginning!r})" if row else f"in {beginning!r}"

    def chosen(self, rows: Sequence[int]) -> "Pairs":
        """Selected pairs, with all that is known of them."""
        columns = {name: column for name, column in self.columns.items() if column is not None}
        others = None if self.others is None else self.others.take(pa.array(rows, pa.int64()))
        return replace(self, others=others, **{name: _chosen(column, rows) for name, column in columns.items()})


def _chosen(column: Sequence[Any], rows: Sequence[int]) -> list[Any]:
    if isinstance(column, Texts):  # many at once: one by one is slow
        return list(Texts(column.different, column.rows[np.asarray(rows, dtype=np.int64)]))
    return [column[row] for row in rows]


PairsLike: TypeAlias = Pairs | TableLike | Iterable[Iterable[str]] | Iterable[Mapping[str, str]]
"""Pairs as callers have them: see `Pairs.of`."""


def present(names: Sequence[str]) -> Sequence[str]:
    """Present columns: as many of the usual ones as there are: two, three or five, or the four without a label."""
    layouts = (COLUMNS, TEXTS, COLUMNS[:3])
    return next((layout for layout in layouts if set(layout) <= set(names)), COLUMNS[:2])


def _rows(pairs: object) -> list[object]:
    """Pair rows. Raises `ArgumentError` for one string, one column, or what has no rows."""
    if isinstance(pairs, str | bytes | PurePath):
        advice = "A single pair goes into a list: [(source, target)]. A file is read by nsed.read_pairs."
        raise ArgumentError("pairs", got=repr(pairs), expected="pairs of strings", advice=advice)
    if isinstance(pairs, pa.Array | pa.ChunkedArray):
        raise lone_column(pairs)
    if not isinstance(pairs, Iterable):
        got = f"{pairs!r} ({type(pairs).__name__})"
        raise ArgumentError("pairs", got=got, expected="a table, or (source, target) pairs of strings")
    rows = list(pairs)
    if rows and is_column(pairs) and isinstance(rows[0], str):
        raise lone_column(pairs)
    return rows


def _one_table(batches: list[pa.RecordBatch]) -> pa.Table:
    try:
        return pa.Table.from_batches(batches)
    except pa.ArrowInvalid:
        got = " and ".join(dict.fromkeys(str(batch.schema.names) for batch in batches))
        raise ArgumentError("pairs", got=f"record batches of {got}", expected="the same columns in each") from None


def _row(row: object, place: int) -> tuple[str, str]:
    if isinstance(row, tuple) and len(row) == 2 and isinstance(row[0], str) and isinstance(row[1], str):
        return row[0], row[1]  # what most rows are, before the slower questions
    parts = list(row) if isinstance(row, Iterable) and not isinstance(row, str | Mapping) else []
    if len(parts) == 2 and all(isinstance(part, str) for part in parts):
        return parts[0], parts[1]
    advice = "Labels go into their own argument." if len(parts) == 3 else ""
    if isinstance(row, str):
        advice = "A single pair goes into a list: [(source, target)]."
    raise ArgumentError(
        "pairs", got=f"{row!r} at place {place}", expected="(source, target), two strings", advice=advice
    )


def _cells(rows: list[object], name: object) -> list[Any]:
    """Row cells under that name; None where there is none."""
    return [row.get(name) if isinstance(row, Mapping) else None for row in rows]


def parse_labels(labels: Column, *, name: str = "labels") -> list[bool]:
    """Parse a column of labels, see `parse_label`. Raises `ArgumentError` at the first that is none.

    >>> parse_labels(pa.array(["yes", "no", "yes"]))
    [True, False, True]
    """
    labels = checked_column(labels, name, expected="a list of labels")
    column = to_arrow(labels)
    different, rows = encode_rows(labels if column is None else column)
    parsed = [parse_label(value) for value in different]
    if None in parsed:
        place = int(np.isin(rows, [number for number, label in enumerate(parsed) if label is None]).argmax())
        raise ArgumentError(name, got=f"{different[rows[place]]!r} at place {place}", expected=f"one of {LABELS}")
    checked: list[bool] = np.array(parsed, dtype=bool)[rows].tolist()
    return checked


_WORDS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
_WORDS |= {word[0]: label for word, label in _WORDS.items()}
LABELS = ", ".join(_WORDS)
"""Accepted labels, for error messages."""


def parse_label(value: object) -> bool | None:
    """Parse a label: True or False; None for what is neither.

    >>> [parse_label(value) for value in ("yes", "0", "1.0", 1, 0.0, True, "maybe", 2, None)]
    [True, False, True, True, False, True, None, None, None]
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        word = value.strip().lower()
        return _WORDS[word] if word in _WORDS else _numeral(word)
    if isinstance(value, Real) and value in (0, 1):
        return bool(value)
    # numpy's own truth values are no numbers
    return bool(value) if type(value).__name__ in ("bool", "bool_") else None


def _numeral(text: str) -> bool | None:
    """Label that is written as a number, as programs do that keep labels as such."""
    try:
        return {0.0: False, 1.0: True}.get(float(text))
    except ValueError:
        return None
