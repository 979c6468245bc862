"""Pairs of strings, with or without a label that says whether they match."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import TypeAlias

import pyarrow as pa

from nsed.errors import ArgumentError
from nsed.text.texts import Texts

COLUMNS = ("source", "target", "label", "source_language", "target_language")
"""What the columns of a file of pairs are called: the first two, the first three, or all."""
TEXTS = tuple(name for name in COLUMNS if name != "label")


@dataclass(frozen=True)
class Pairs:
    """Columns of equal length: sources, targets and, for matching, labels and the languages of both.

    >>> pairs = Pairs.of([("colour", "color"), ("grey", "gray")])
    >>> len(pairs), list(pairs)[1]
    (2, ('grey', 'gray'))
    """

    sources: Sequence[str]
    targets: Sequence[str]
    labels: Sequence[bool] | None = None
    source_languages: Sequence[str] | None = None
    """Or any other category of strings: a dialect, a data source."""
    target_languages: Sequence[str] | None = None

    def __post_init__(self) -> None:
        for name, column in vars(self).items():
            if column is not None and len(column) != len(self.sources):
                raise ArgumentError(
                    name, got=f"{len(column)} rows", expected=f"{len(self.sources)}, as many as sources"
                )
        for name, texts in (("sources", self.sources), ("targets", self.targets)):
            if isinstance(texts, str):
                raise ArgumentError(name, got=repr(texts), expected="a list of strings")
            for place, text in enumerate(() if isinstance(texts, Texts) else texts):
                if not isinstance(text, str):
                    raise ArgumentError(name, got=f"{text!r} at place {place}", expected="a string")

    @classmethod
    def of(cls, pairs: "Pairs | pa.Table | Iterable[Iterable[str]]", labels: Iterable[object] | None = None) -> "Pairs":
        """Pairs from whatever a caller has: (source, target) tuples, lists or array rows, an Arrow table, or `Pairs`.

        An Arrow table has the columns `source` and `target`, and perhaps both languages. Labels may be booleans, or 1
        and 0.
        """
        if isinstance(pairs, pa.Table):
            pairs = cls.of_table(pairs)
        checked = None if labels is None else [_label(label, place) for place, label in enumerate(labels)]
        if isinstance(pairs, Pairs):
            return pairs if checked is None else replace(pairs, labels=checked)
        rows = [_row(row, place) for place, row in enumerate(pairs)]
        return cls([source for source, _ in rows], [target for _, target in rows], checked)

    @classmethod
    def given(cls, pairs: "PairsLike", targets: Iterable[str] | None = None) -> "Pairs":
        """Pairs as the verbs of models take them: pairs of any form, or a column of sources and one of targets."""
        return cls.of(pairs) if targets is None else cls(list(pairs), list(targets))  # type: ignore[arg-type]  # soon

    @classmethod
    def of_table(cls, table: pa.Table) -> "Pairs":
        """The columns of an Arrow table; strings that occur often are kept once."""
        missing = [name for name in COLUMNS[:2] if name not in table.column_names]
        if missing:
            raise ArgumentError("pairs", got=f"a table with {table.column_names}", expected=f"columns {missing} too")
        given = {name: Texts.of_arrow(table[name], name=name) for name in TEXTS if name in table.column_names}
        return cls(given["source"], given["target"], None, given.get("source_language"), given.get("target_language"))

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.sources, self.targets, strict=True)

    def positives(self) -> "Pairs":
        """The pairs that match; all of them where there are no labels."""
        if self.labels is None:
            return self
        return replace(self.chosen([row for row, label in enumerate(self.labels) if label]), labels=None)

    def chosen(self, rows: Sequence[int]) -> "Pairs":
        """Some of the pairs, with all that is known of them."""
        columns = {name: column for name, column in vars(self).items() if column is not None}
        return replace(self, **{name: [column[row] for row in rows] for name, column in columns.items()})


PairsLike: TypeAlias = Pairs | pa.Table | Iterable[Iterable[str]]
"""Pairs as callers have them: see `Pairs.of`."""


def present(names: Sequence[str]) -> Sequence[str]:
    """As many of the usual columns as there are: two, three or five."""
    width = next(width for width in (5, 3, 2) if width == 2 or set(COLUMNS[:width]) <= set(names))
    return COLUMNS[:width]


def _row(row: object, place: int) -> tuple[str, str]:
    parts = list(row) if isinstance(row, Iterable) and not isinstance(row, str) else []
    if len(parts) == 2 and all(isinstance(part, str) for part in parts):
        return parts[0], parts[1]
    advice = "Labels go into their own argument." if len(parts) == 3 else ""
    if isinstance(row, str):
        advice = "A single pair goes into a list: [(source, target)]."
    raise ArgumentError(
        "pairs", got=f"{row!r} at place {place}", expected="(source, target), two strings", advice=advice
    )


def _label(value: object, place: int) -> bool:
    label = parse_label(value)
    if label is None:
        raise ArgumentError("labels", got=f"{value!r} at place {place}", expected=f"one of {LABELS}")
    return label


_WORDS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
LABELS = ", ".join(_WORDS)
"""What a label can be, for error messages."""


def parse_label(value: object) -> bool | None:
    """True or False; None for what is neither.

    >>> [parse_label(value) for value in ("yes", "0", 1, 0.0, True, "maybe", 2, None)]
    [True, False, True, False, True, None, None, None]
    """
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower())
    if isinstance(value, Real) and value in (0, 1):
        return bool(value)
    # numpy's own truth values are no numbers
    return bool(value) if type(value).__name__ in ("bool", "bool_") else None
