"""Pairs of strings, with or without a label that says whether they match."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from nsed.errors import ArgumentError
from nsed.text.labels import LABELS, parse_label

COLUMNS = ("source", "target", "label", "source_language", "target_language")
"""What the columns of a file of pairs are called: the first two, the first three, or all."""


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
            for place, text in enumerate(texts):
                if not isinstance(text, str):
                    raise ArgumentError(name, got=f"{text!r} at place {place}", expected="a string")

    @classmethod
    def of(cls, pairs: "Pairs | Iterable[Iterable[str]]", labels: Iterable[object] | None = None) -> "Pairs":
        """Pairs from whatever a caller has: (source, target) tuples, lists or array rows, or `Pairs`.

        Labels may be booleans, or 1 and 0.
        """
        checked = None if labels is None else [_label(label, place) for place, label in enumerate(labels)]
        if isinstance(pairs, Pairs):
            return pairs if checked is None else replace(pairs, labels=checked)
        rows = [_row(row, place) for place, row in enumerate(pairs)]
        return cls([source for source, _ in rows], [target for _, target in rows], checked)

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
