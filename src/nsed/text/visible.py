"""Terminal-safe symbols: spaces, lone marks, control characters and right-to-left letters can be seen."""

import unicodedata
from collections.abc import Mapping, Sequence
from itertools import islice

from rich.cells import cell_len

ISOLATES = "\u2068\u2069"
"""Bidi isolates, before and after a symbol whose direction shall not reach its neighbours."""


def visible(symbol: str) -> str:
    r"""Terminal-safe symbol that can be seen, bidi-isolated: it leaves the order of its neighbours alone.

    >>> visible(" "), visible("\u0301"), visible("\u200c"), visible("a")
    ('␣', '◌́', '\\u200c', 'a')
    """
    shown = drawn(symbol)
    if any(unicodedata.bidirectional(char) in ("R", "AL") for char in symbol):
        return ISOLATES[0] + shown + ISOLATES[1]
    return shown


def shown_symbols(symbols: Sequence[str], most: int = 20) -> str:
    """Visible symbols in a line, of many the first ones.

    >>> shown_symbols(["a", " ", "b"], most=2)
    'a ␣ ...'
    """
    return " ".join(map(visible, symbols[:most])) + (" ..." if len(symbols) > most else "")


def shown_kin(kin: Mapping[str, str], most: int = 20) -> str:
    """Visible symbols in a line, each with what it is read as; of many the first ones.

    >>> shown_kin({"é": "e", "ï": "i"})
    'é as e, ï as i'
    """
    said = [f"{visible(new)} as {visible(known)}" for new, known in islice(kin.items(), most)]
    return ", ".join(said) + (", ..." if len(kin) > most else "")


def drawn(symbol: str) -> str:
    """Visible symbol without bidi isolation, for places that keep it apart from its neighbours themselves."""
    is_emoji = symbol[:1] > "\u00ff" and unicodedata.category(symbol[0]) == "So"
    shown = "".join(char if is_emoji and _is_of_emoji(char) else _shown(char) for char in symbol)
    return "◌" + shown if symbol and unicodedata.category(symbol[0]).startswith("M") else shown


def unisolated(text: str) -> str:
    """Text without the bidi isolates of `visible`, for what has no glyphs for them."""
    return text.translate(dict.fromkeys(map(ord, ISOLATES)))


def _is_of_emoji(char: str) -> bool:
    """Emoji joiners: the joiner of families, and the tags of flags."""
    return char == "\u200d" or "\U000e0020" <= char <= "\U000e007f"


def _shown(char: str) -> str:
    """Visible character, or its escape if it has no shape: controls, format characters, separators, surrogates."""
    if char == " ":
        return "␣"
    return ascii(char)[1:-1] if unicodedata.category(char)[0] in "CZ" else char


def in_columns(rows: list[list[str]]) -> list[str]:
    """Aligned columns: rows of cells as lines, each column as wide as its widest cell on a terminal."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [" ".join(_filled(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _filled(cell: str, width: int) -> str:
    return cell + " " * (width - cell_len(cell))
