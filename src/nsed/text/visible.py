"""Symbols as a terminal can show them: spaces, lone marks, control characters and right-to-left letters included."""

import unicodedata

from rich.cells import cell_len

_ISOLATE, _END_ISOLATE = "\u2068", "\u2069"


def visible(symbol: str) -> str:
    r"""A symbol that can be seen, and that leaves the order of its neighbours alone.

    >>> visible(" "), visible("\u0301"), visible("\x07"), visible("a")
    ('␣', '◌́', '\\x07', 'a')
    """
    if symbol.isspace():
        return "␣" * len(symbol) if set(symbol) == {" "} else repr(symbol)[1:-1]
    if not symbol.isprintable() and any(unicodedata.category(char) in ("Cc", "Cs") for char in symbol):
        return ascii(symbol)[1:-1]
    if symbol and unicodedata.category(symbol[0]).startswith("M"):
        symbol = "◌" + symbol
    if any(unicodedata.bidirectional(char) in ("R", "AL", "RLE", "RLO", "LRO", "RLI") for char in symbol):
        return _ISOLATE + symbol + _END_ISOLATE
    return symbol


def in_columns(rows: list[list[str]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell on a terminal."""
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return [" ".join(_filled(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _filled(cell: str, width: int) -> str:
    return cell + " " * (width - cell_len(cell))
