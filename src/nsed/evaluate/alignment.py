"""Which source symbol became which target symbol: links of substitutions against those of a reference."""

import re
from collections.abc import Sequence
from pathlib import Path

from nsed.errors import ArgumentError, DataError
from nsed.evaluate.agreement import Agreement
from nsed.text import Links
from nsed.text.readers.lines import open_text

_LINK = re.compile(r"(\d+)-(\d+)", flags=re.ASCII)


def read_pharaoh(path: str | Path) -> list[Links]:
    """The links of each line of a Pharaoh file, `0-0 1-2`; an empty line has none. Raises `DataError`."""
    with open_text(Path(path)) as stream:
        return [_parse(line, path, number) for number, line in enumerate(stream, start=1)]


def alignment_score(found: Sequence[Links], expected: Sequence[Links]) -> Agreement:
    """Precision, recall and F1 of all links of all pairs together.

    >>> alignment_score([frozenset({(0, 0), (1, 1)}), frozenset()], [frozenset({(0, 0)}), frozenset({(2, 1)})])
    Agreement(precision=0.5, recall=0.5, f1=0.5)
    """
    if len(found) != len(expected):
        raise ArgumentError("expected", got=f"{len(expected)} alignments", expected=f"{len(found)}, one per pair found")
    if not any(expected):
        raise ArgumentError("expected", got=f"{len(expected)} alignments without a link", expected="at least one link")
    hits = sum(len(ours & theirs) for ours, theirs in zip(found, expected, strict=True))
    return Agreement.of(hits / max(sum(map(len, found)), 1), hits / sum(map(len, expected)))


def links_in_proportion(source: int, target: int) -> Links:
    """A control that knows only how many symbols there are: each target symbol with the source symbol beside it.

    >>> sorted(links_in_proportion(3, 5))
    [(0, 0), (0, 1), (1, 2), (2, 3), (2, 4)]
    """
    if not source:
        return frozenset()
    return frozenset((round(place * (source - 1) / max(target - 1, 1)), place) for place in range(target))


def _parse(line: str, path: str | Path, number: int) -> Links:
    matches = [(part, _LINK.fullmatch(part)) for part in line.split()]
    for part, match in matches:
        if match is None:
            raise DataError(path, f"expected links such as 0-0 1-2, found {part[:60]!r}", line=number)
    return frozenset((int(match[1]), int(match[2])) for _, match in matches if match)
