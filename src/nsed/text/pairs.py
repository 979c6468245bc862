"""Pairs of strings, with or without a label that says whether they match."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from nsed.errors import ArgumentError


@dataclass(frozen=True)
class Pairs:
    """Columns of equal length: sources, targets and, for matching, labels.

    >>> pairs = Pairs.of([("colour", "color"), ("grey", "gray")])
    >>> len(pairs), list(pairs)[1]
    (2, ('grey', 'gray'))
    """

    sources: Sequence[str]
    targets: Sequence[str]
    labels: Sequence[bool] | None = None

    def __post_init__(self) -> None:
        columns = {"targets": self.targets, "labels": self.labels}
        for name, column in columns.items():
            if column is not None and len(column) != len(self.sources):
                raise ArgumentError(
                    name, got=f"{len(column)} rows", expected=f"{len(self.sources)}, as many as sources"
                )

    @classmethod
    def of(cls, pairs: "Pairs | Iterable[tuple[str, str]]", labels: Sequence[bool] | None = None) -> "Pairs":
        """Pairs from whatever a caller has: (source, target) tuples or lists, or pairs that are made already."""
        if isinstance(pairs, Pairs):
            return pairs if labels is None else cls(pairs.sources, pairs.targets, labels)
        rows = [_checked(row, number) for number, row in enumerate(pairs)]
        return cls([source for source, _ in rows], [target for _, target in rows], labels)

    def __len__(self) -> int:
        return len(self.sources)

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return zip(self.sources, self.targets, strict=True)

    def positives(self) -> "Pairs":
        """The pairs that match; all of them where there are no labels."""
        if self.labels is None:
            return self
        kept = [pair for pair, label in zip(self, self.labels, strict=True) if label]
        return Pairs([source for source, _ in kept], [target for _, target in kept])


def _checked(row: object, number: int) -> tuple[str, str]:
    if isinstance(row, str) or not isinstance(row, Sequence) or len(row) != 2:
        got = f"{row!r} at place {number}"
        raise ArgumentError("pairs", got=got, expected="(source, target) with two strings", advice=_advice(row))
    source, target = row
    if not isinstance(source, str) or not isinstance(target, str):
        raise ArgumentError("pairs", got=f"{row!r} at place {number}", expected="(source, target) with two strings")
    return source, target


def _advice(row: object) -> str:
    if isinstance(row, str):
        return "A single pair goes into a list: [(source, target)]."
    return "Labels go into their own argument." if isinstance(row, Sequence) and len(row) == 3 else ""
