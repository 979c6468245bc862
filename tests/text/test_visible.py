"""What a terminal or a page shows of a symbol."""

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nsed.text.visible import ISOLATES, drawn, visible


@pytest.mark.parametrize(
    ("symbol", "shown"),
    [
        (" ", "␣"),
        ("\u0300", "◌\u0300"),
        ("\u0300\x1f", "◌\u0300\\x1f"),
        ("\U0001f600\x1b", "\U0001f600\\x1b"),
        ("\U0001f469\u200d\U0001f680", "\U0001f469\u200d\U0001f680"),
        ("a\u200d", "a\\u200d"),
        ("א", ISOLATES[0] + "א" + ISOLATES[1]),
        ("", ""),
    ],
)
def test_symbols_are_shown(symbol, shown):
    assert visible(symbol) == shown


@given(st.text(max_size=5))
@example("◌\u202e")
def test_no_symbol_has_controls_when_drawn(symbol):
    allowed = {"\u200d", *map(chr, range(0xE0020, 0xE0080))}
    assert not [char for char in drawn(symbol) if unicodedata.category(char)[0] in "CZ" and char not in allowed]
