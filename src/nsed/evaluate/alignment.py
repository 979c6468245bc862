"""Alignment links, which source symbol became which target symbol: their F1, symmetrisation, and reference links.

Reference links to compare a model's with come from files, or from the statistical word aligner `eflomal` (extra
`align`). Paper: section 4, alignment of pronunciations. Ours is eflomal where theirs is efmaral, its predecessor by the
same author. It draws samples without a seed: two runs differ in a few links.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from nsed.errors import ArgumentError, DataError, NsedError
from nsed.evaluate.matching import Agreement
from nsed.registry import Registry
from nsed.text import Links, Pairs, SymbolSplitter
from nsed.text.readers.lines import open_text

_LINK = re.compile(r"(\d{1,9})-(\d{1,9})", flags=re.ASCII)


def read_pharaoh(path: str | Path) -> list[Links]:
    r"""Pharaoh-format links of each line of a file, `0-0 1-2`; an empty line has none. Raises `DataError`.

    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "links").write_text("0-0 1-2\n\n", encoding="utf-8")
    ...     [sorted(links) for links in read_pharaoh(Path(folder, "links"))]
    [[(0, 0), (1, 2)], []]
    """
    with open_text(Path(path)) as stream:
        return [_parse(line, path, number) for number, line in enumerate(stream, start=1)]


def alignment_score(found: Sequence[Links], expected: Sequence[Links]) -> Agreement:
    """Alignment precision, recall and F1 of all links of all pairs together.

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
    """Diagonal alignment, a control that knows only lengths: each target symbol with the source symbol beside it.

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


Symmetrise = Callable[[Links, Links], Links]

_AROUND = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]


def intersection(forward: Links, reverse: Links) -> Links:
    """Intersection symmetrisation: the links that both directions have."""
    return forward & reverse


def union(forward: Links, reverse: Links) -> Links:
    """Union symmetrisation: the links that either direction has."""
    return forward | reverse


def grow_diag(forward: Links, reverse: Links) -> Links:
    """Grow-diag symmetrisation: from links of both to neighbours, diagonal too, of either, where a symbol has none.

    Links are gone through in order, those just added included, until there is nothing more to add.

    >>> sorted(grow_diag(frozenset({(0, 0), (1, 1), (3, 2)}), frozenset({(0, 0), (2, 2), (3, 2)})))
    [(0, 0), (1, 1), (2, 2), (3, 2)]
    """
    grown, allowed = _Grown(forward & reverse), forward | reverse
    todo = sorted(grown.links)
    while todo:
        added = [link for near in todo for link in _neighbours(near, allowed) if grown.add_if(link, grown.has_room)]
        todo = sorted(added)
    return frozenset(grown.links)


def grow_diag_final_and(forward: Links, reverse: Links) -> Links:
    """Grow-diag-final-and: then also the links of either, forward ones first, between two symbols that both have none.

    >>> sorted(grow_diag_final_and(frozenset({(0, 0), (4, 3)}), frozenset({(0, 0), (4, 2)})))
    [(0, 0), (4, 3)]
    """
    grown = _Grown(grow_diag(forward, reverse))
    for link in sorted(forward) + sorted(reverse):
        grown.add_if(link, grown.is_free)
    return frozenset(grown.links)


class _Grown:
    """Growing link set, and which symbols the links touch."""

    def __init__(self, links: Links) -> None:
        self.links = set(links)
        self.sources, self.targets = {i for i, _ in links}, {j for _, j in links}

    def has_room(self, link: tuple[int, int]) -> bool:
        """Room for a link: whether one of the two symbols, at least, has no link."""
        return link[0] not in self.sources or link[1] not in self.targets

    def is_free(self, link: tuple[int, int]) -> bool:
        """Both unaligned: whether neither symbol has a link."""
        return link[0] not in self.sources and link[1] not in self.targets

    def add_if(self, link: tuple[int, int], allowed: Callable[[tuple[int, int]], bool]) -> bool:
        """Add a link if it may be added, and say whether it was."""
        if not allowed(link):
            return False
        self.links.add(link)
        self.sources.add(link[0])
        self.targets.add(link[1])
        return True


def _neighbours(link: tuple[int, int], allowed: Links) -> list[tuple[int, int]]:
    return [near for i, j in _AROUND if (near := (link[0] + i, link[1] + j)) in allowed]


HEURISTICS: Registry[Symmetrise] = Registry("heuristic")
HEURISTICS.register("grow-diag-final-and", grow_diag_final_and)
HEURISTICS.register("grow-diag", grow_diag)
HEURISTICS.register("intersection", intersection)
HEURISTICS.register("union", union)


class BothWays(NamedTuple):
    """Bidirectional links of each pair: from source to target, and back."""

    forward: list[Links]
    reverse: list[Links]

    def symmetrised(self, heuristic: Callable[[Links, Links], Links]) -> list[Links]:
        """Symmetrised alignment of each pair, see `nsed.evaluate.alignment`."""
        return [heuristic(*links) for links in zip(*self, strict=True)]


def has_eflomal() -> bool:
    """Availability of the `eflomal` package: whether it is installed."""
    return find_spec("eflomal") is not None


def statistical_links(pairs: Pairs, *, source: SymbolSplitter, target: SymbolSplitter) -> BothWays:
    """Statistical word alignment of symbols, learned from nothing but these pairs; the more of them, the better.

    A pair with an empty string has no links, nor has one of more than a thousand symbols. Raises `NsedError` where
    eflomal is not installed.
    """
    if not has_eflomal():
        raise NsedError("the package `eflomal` is not installed: pip install 'neural-string-edit-distance[align]'")
    if not len(pairs):
        return BothWays([], [])
    sides = _numbered(map(source.split, pairs.sources)), _numbered(map(target.split, pairs.targets))
    with TemporaryDirectory() as folder:
        forward, reverse = Path(folder, "forward"), Path(folder, "reverse")
        aligner = import_module("eflomal").Aligner()
        aligner.align(*sides, links_filename_fwd=str(forward), links_filename_rev=str(reverse))
        return BothWays(read_pharaoh(forward), read_pharaoh(reverse))


def to_pharaoh(links: Links) -> str:
    """Pharaoh format of links, a line of a file.

    >>> to_pharaoh(frozenset({(1, 2), (0, 0)}))
    '0-0 1-2'
    """
    return " ".join(f"{i}-{j}" for i, j in sorted(links))


def _numbered(strings: Iterable[Sequence[str]]) -> list[str]:
    """Integer-coded symbols between spaces: eflomal would split at spaces within symbols, and make capitals small."""
    numbers: dict[str, int] = {}
    return [" ".join(str(numbers.setdefault(symbol, len(numbers))) for symbol in symbols) for symbols in strings]
