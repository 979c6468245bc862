"""One alignment out of two: forward, where each target symbol has at most one link, and reverse, each source symbol.

The heuristics of statistical translation (Koehn, Och and Marcu 2003): all begin with the links of both directions, and
none goes beyond the links of either.
"""

from collections.abc import Callable
from itertools import product

from nsed.registry import Registry
from nsed.text import Links

Symmetrise = Callable[[Links, Links], Links]

_AROUND = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]


def intersection(forward: Links, reverse: Links) -> Links:
    """The links that both directions have."""
    return forward & reverse


def union(forward: Links, reverse: Links) -> Links:
    """The links that either direction has."""
    return forward | reverse


def grow_diag(forward: Links, reverse: Links) -> Links:
    """From the links of both to neighbours, diagonal ones too, that either has, where a symbol has no link yet.

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
    """Then also the links of either, forward ones first, between two symbols that both have none.

    >>> sorted(grow_diag_final_and(frozenset({(0, 0), (4, 3)}), frozenset({(0, 0), (4, 2)})))
    [(0, 0), (4, 3)]
    """
    grown = _Grown(grow_diag(forward, reverse))
    for link in sorted(forward) + sorted(reverse):
        grown.add_if(link, grown.is_free)
    return frozenset(grown.links)


class _Grown:
    """Links, and which symbols they touch."""

    def __init__(self, links: Links) -> None:
        self.links = set(links)
        self.sources, self.targets = {i for i, _ in links}, {j for _, j in links}

    def has_room(self, link: tuple[int, int]) -> bool:
        """Whether one of the two symbols, at least, has no link."""
        return link[0] not in self.sources or link[1] not in self.targets

    def is_free(self, link: tuple[int, int]) -> bool:
        """Whether neither symbol has a link."""
        return link[0] not in self.sources and link[1] not in self.targets

    def add_if(self, link: tuple[int, int], allowed: Callable[[tuple[int, int]], bool]) -> bool:
        """Add the link if it may be added, and say whether it was."""
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
