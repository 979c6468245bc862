"""Grapheme clusters: what a reader calls a character, by the rules of Unicode Standard Annex 29.

A base letter with its combining marks is one cluster, so is a Hangul syllable, or an emoji with modifiers or joiners.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import pairwise

from nsed_lite.grapheme_data import RANGES

_PLAIN = re.compile(r"[\x20-\x7e\u00ae-\u02ff\u0370-\u0482\u048a-\u0590\u05be\u05d0-\u05ea\u0621-\u064a]*")
"""Fast path blocks, in which every code point is a cluster of its own, also next to each other."""

_ALWAYS_ALONE = frozenset({"CR", "LF", "CONTROL"})
_JOINS_WHAT_PRECEDES = frozenset({"EXTEND", "ZWJ", "SPACING"})
_HANGUL = {
    "HANGUL_L": {"HANGUL_L", "HANGUL_V", "HANGUL_LV", "HANGUL_LVT"},
    "HANGUL_LV": {"HANGUL_V", "HANGUL_T"},
    "HANGUL_V": {"HANGUL_V", "HANGUL_T"},
    "HANGUL_LVT": {"HANGUL_T"},
    "HANGUL_T": {"HANGUL_T"},
}


def is_plain(text: str) -> bool:
    """Fast path test: whether every code point of a string is a cluster of its own."""
    return _PLAIN.fullmatch(text) is not None


def split_graphemes(text: str) -> list[str]:
    r"""Grapheme clusters of a string, in order; joined, they are the string again. Linear in its length.

    >>> split_graphemes("e\u0301tude") == ["e\u0301", "t", "u", "d", "e"]
    True
    >>> split_graphemes("👩‍🚀🇨🇿")
    ['👩‍🚀', '🇨🇿']
    """
    if _PLAIN.fullmatch(text):
        return list(text)
    return [text[start:end] for start, end in pairwise((*_starts(text), len(text)))]


def _starts(text: str) -> Iterator[int]:
    """Cluster boundaries: where each cluster begins."""
    cluster = _OpenCluster()
    for place, char in enumerate(text):
        right, conjunct = _break_property(char), _conjunct_property(char)
        if not place or not cluster.holds(right, conjunct):
            yield place
            cluster = _OpenCluster()
        cluster.add(right, conjunct)


class _OpenCluster:
    """Cluster that may go on: all that the no-break rules must know of its characters, however many there are."""

    __slots__ = ("conjunct", "last", "picture", "regionals")

    def __init__(self) -> None:
        self.last = ""
        """Break property of the last character."""
        self.regionals = 0
        """Regional indicators so far: one is an open flag, which waits for its partner; two are complete."""
        self.picture = ""
        """Emoji ending: PICTURE after an extended pictograph and perhaps marks; ZWJ after such and a joiner."""
        self.conjunct = ""
        """Indic conjunct ending: CONSONANT after one and perhaps marks; LINKER if a linker (virama) is among these."""

    def holds(self, right: str, conjunct: str) -> bool:
        """No-break rules: whether a character continues the cluster; the numbers are those of the annex's rules."""
        left = self.last
        if left in _ALWAYS_ALONE or right in _ALWAYS_ALONE:
            return left == "CR" and right == "LF"  # GB3, GB4, GB5
        return (
            right in _JOINS_WHAT_PRECEDES  # GB9, GB9a
            or left == "PREPEND"  # GB9b
            or right in _HANGUL.get(left, ())  # GB6, GB7, GB8
            or (left == right == "REGIONAL" and self.regionals == 1)  # GB12, GB13
            or (right == "PICTURE" and self.picture == "ZWJ")  # GB11
            or (conjunct == "CONJUNCT_CONSONANT" and self.conjunct == "LINKER")  # GB9c
        )

    def add(self, right: str, conjunct: str) -> None:
        """Take one more character in."""
        self.last = right
        self.regionals += right == "REGIONAL"
        if right == "PICTURE":
            self.picture = "PICTURE"
        elif right == "ZWJ":
            self.picture = "ZWJ" if self.picture == "PICTURE" else ""
        elif right != "EXTEND" or self.picture == "ZWJ":
            self.picture = ""
        if conjunct == "CONJUNCT_CONSONANT":
            self.conjunct = "CONSONANT"
        elif conjunct == "CONJUNCT_LINKER":
            self.conjunct = self.conjunct and "LINKER"
        elif conjunct != "CONJUNCT_EXTEND":
            self.conjunct = ""


class _Ranges:
    """Range table of code points with a name each, sorted for look-up by bisection."""

    def __init__(self, names: Iterable[str]) -> None:
        found = sorted((*_bounds(item), name) for name in names for item in RANGES[name].split())
        self._firsts = [first for first, _, _ in found]
        self._ranges = found

    def __getitem__(self, code: int) -> str:
        place = bisect_right(self._firsts, code) - 1
        if place >= 0 and code <= self._ranges[place][1]:
            return self._ranges[place][2]
        return ""


def _bounds(item: str) -> tuple[int, int]:
    first, _, last = item.partition("-")
    return int(first, 16), int(last or first, 16)


_CONJUNCTS = _Ranges(name for name in RANGES if name.startswith("CONJUNCT"))
_BREAKS = _Ranges(name for name in RANGES if not name.startswith("CONJUNCT"))


@lru_cache(maxsize=65536)
def _break_property(char: str) -> str:
    """Grapheme_Cluster_Break, with PICTURE for Extended_Pictographic; empty for most characters."""
    code = ord(char)
    if 0xAC00 <= code <= 0xD7A3:
        return "HANGUL_LV" if (code - 0xAC00) % 28 == 0 else "HANGUL_LVT"
    return _BREAKS[code]


@lru_cache(maxsize=65536)
def _conjunct_property(char: str) -> str:
    """Indic_Conjunct_Break; empty for most characters."""
    return _CONJUNCTS[ord(char)]
