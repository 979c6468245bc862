"""Grapheme clusters: what a reader calls a character, by the rules of Unicode Standard Annex 29.

A base letter with its combining marks is one cluster, so is a Hangul syllable, or an emoji with modifiers or joiners.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import lru_cache

from nsed.text.grapheme_data import RANGES

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


def split_graphemes(text: str) -> list[str]:
    r"""Grapheme clusters of a string, in order; joined, they are the string again.

    >>> split_graphemes("e\u0301tude") == ["e\u0301", "t", "u", "d", "e"]
    True
    >>> split_graphemes("👩‍🚀🇨🇿")
    ['👩‍🚀', '🇨🇿']
    """
    if _PLAIN.fullmatch(text):
        return list(text)
    clusters = [text[:1]]
    for after in text[1:]:
        if _holds_together(clusters[-1], after):
            clusters[-1] += after
        else:
            clusters.append(after)
    return clusters


def _holds_together(cluster: str, after: str) -> bool:
    """No-break rules: whether `after` continues the cluster; the numbers are those of the annex's rules."""
    left, right = _break_property(cluster[-1]), _break_property(after)
    if left in _ALWAYS_ALONE or right in _ALWAYS_ALONE:
        return left == "CR" and right == "LF"  # GB3, GB4, GB5
    return (
        right in _JOINS_WHAT_PRECEDES  # GB9, GB9a
        or left == "PREPEND"  # GB9b
        or right in _HANGUL.get(left, ())  # GB6, GB7, GB8
        or (left == right == "REGIONAL" and _flag_is_open(cluster))  # GB12, GB13
        or (left == "ZWJ" and right == "PICTURE" and _ends_in_picture(cluster[:-1]))  # GB11
        or (_conjunct_property(after) == "CONJUNCT_CONSONANT" and _wants_consonant(cluster))  # GB9c
    )


def _flag_is_open(cluster: str) -> bool:
    """Open flag: one regional indicator waits for its partner; a complete flag does not."""
    return sum(_break_property(char) == "REGIONAL" for char in cluster) == 1


def _ends_in_picture(cluster: str) -> bool:
    """Emoji ending: an extended pictograph, possibly with marks after it."""
    without_marks = _stripped(cluster, lambda char: _break_property(char) == "EXTEND")
    return bool(without_marks) and _break_property(without_marks[-1]) == "PICTURE"


def _wants_consonant(cluster: str) -> bool:
    """Indic conjunct ending: a consonant of an Indic script, then marks, a linker (virama) among them."""
    base = _stripped(cluster, lambda char: _conjunct_property(char) in ("CONJUNCT_EXTEND", "CONJUNCT_LINKER"))
    linked = any(_conjunct_property(char) == "CONJUNCT_LINKER" for char in cluster[len(base) :])
    return linked and bool(base) and _conjunct_property(base[-1]) == "CONJUNCT_CONSONANT"


def _stripped(cluster: str, is_mark: Callable[[str], bool]) -> str:
    while cluster and is_mark(cluster[-1]):
        cluster = cluster[:-1]
    return cluster


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
