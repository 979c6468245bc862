"""Reference alignments to compare a model's with, by the statistical word aligner `eflomal` (extra `align`).

Paper: section 4, alignment of pronunciations. Ours is eflomal where theirs is efmaral, its predecessor by the same
author. It draws samples without a seed: two runs differ in a few links.
"""

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from nsed.errors import NsedError
from nsed.evaluate import read_pharaoh
from nsed.text import Links, Pairs, SymbolSplitter


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
