"""Escaped SVG and HTML text: safe in a page, whatever it contains."""

import unicodedata
from collections.abc import Iterable
from html import escape

_TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Bidi controls: characters that change the direction of what follows, beyond the string that has them."""


def text(value: str) -> str:
    r"""Escaped words of ours, or names of files, without characters that a page cannot have.

    >>> text("<b>&\x00\ud800")
    '&lt;b&gt;&amp;\\x00\\ud800'
    """
    return escape("".join(map(_harmless, value)))


def foreign(value: str) -> str:
    """Bidi-isolated string of the data: of any language, in either direction, that leaves its neighbours alone.

    >>> foreign("שלום")
    '<bdi lang="" dir="auto">שלום</bdi>'
    """
    return f'<bdi lang="" dir="auto">{text(value)}</bdi>'


def lines(parts: Iterable[str]) -> str:
    """Joined lines: parts of a page below each other."""
    return "\n".join(part for part in parts if part)


def _harmless(char: str) -> str:
    """Harmless character; its escape if it is a control, half of a (surrogate) pair, or turns the direction."""
    is_control = unicodedata.category(char) in ("Cc", "Cs") or char in _TURNING
    return ascii(char)[1:-1] if is_control else char
