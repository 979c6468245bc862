"""How data sets come in parts: as they were published, or, where nobody split them, by their sources."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

from nsed.datasets.splits import Splits
from nsed.errors import ArgumentError
from nsed.text import Pairs, read_pairs

VALIDATION, TEST = 0.05, 0.1


def published_parts(paths: Sequence[Path]) -> Splits:
    """Three files: training, validation, test."""
    training, validation, test = map(read_pairs, paths)
    return Splits(training, validation, test)


def unseen_validation(paths: Sequence[Path]) -> Splits:
    """Three files, but validation without the sources that training has: nothing is to be chosen by what was seen."""
    training, validation, test = published_parts(paths)
    return Splits(training, without_sources(validation, training), test)


def without_sources(pairs: Pairs, seen: Pairs) -> Pairs:
    """The pairs whose sources are not among those seen.

    >>> list(without_sources(Pairs.of([("a", "x"), ("b", "y")]), Pairs.of([("a", "z")])))
    [('b', 'y')]
    """
    known = set(seen.sources)
    return pairs.chosen([row for row, source in enumerate(pairs.sources) if source not in known])


def split_by_source(pairs: Pairs, *, validation: float = VALIDATION, test: float = TEST, seed: int = 0) -> Splits:
    """Shares of the different sources, at random; all pairs of a source are in one part.

    >>> split_by_source(Pairs.of([("a", "x"), ("a", "y"), ("b", "z"), ("c", "w")]), validation=0.3, test=0.3).test
    Pairs(sources=['c'], targets=['w'], ...)
    """
    sources = list(dict.fromkeys(pairs.sources))
    sizes = [round(share * len(sources)) for share in (validation, test)]
    if not all(sizes) or sum(sizes) >= len(sources):
        raise ArgumentError("pairs", got=f"{len(sources)} sources", expected="enough for three parts")
    Random(seed).shuffle(sources)
    held_out = {source: 1 + (place >= sizes[0]) for place, source in enumerate(sources[: sum(sizes)])}
    parts = [held_out.get(source, 0) for source in pairs.sources]
    return Splits(*(pairs.chosen([row for row, own in enumerate(parts) if own == part]) for part in range(3)))
