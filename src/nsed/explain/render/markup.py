"""SVG and HTML as text: escaped strings and elements, safe in a page, whatever they contain.

Pictures take the page's own colour for lines and letters (`currentColor`) and half-transparent fills, so that they
are legible on light and on dark pages.
"""

import unicodedata
from collections.abc import Iterable, Mapping
from html import escape

from rich.cells import cell_len

COLOURS = {
    "delete": "#3b74c9",
    "insert": "#2e9e5b",
    "replace": "#d9921a",
    "equal": "#8a8f98",
    "remainder": "#9a5fc4",
    "alpha": "#3f7fbf",
}
"""Colour palette: blue, green, yellow as in the paper's table; grey for what stays, violet for remainders."""
SIGNS = {"delete": "−", "insert": "+", "replace": "→", "equal": "="}
"""Operation signs: colour is never the only one."""
FONT = 13
"""Font size, the height of letters."""

Attributes = Mapping[str, object]

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


def tag(name: str, attributes: Attributes, *children: str) -> str:
    """Markup element; attributes are escaped here, children are elements or text that `words` has escaped.

    >>> tag("text", {"x": 1.0, "data-symbol": '<"'}, words("<b>"))
    '<text x="1" data-symbol="&lt;&quot;">&lt;b&gt;</text>'
    """
    opened = "".join([name, *(f' {key}="{escape(_value(value))}"' for key, value in attributes.items())])
    return f"<{opened}>{''.join(children)}</{name}>"


def words(text: object) -> str:
    """Escaped text."""
    return escape(str(text))


def picture(width: float, height: float, *children: str, title: str, description: str) -> str:
    """SVG document with its name and description (accessible title), what it shows in words."""
    return tag(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_value(width)} {_value(height)}",
            "width": width,
            "height": height,
            "role": "img",
            "aria-label": f"{title}. {description}",
            "font-family": "system-ui, sans-serif",
            "font-size": FONT,
            "fill": "currentColor",
        },
        tag("title", {}, words(title)),
        tag("desc", {}, words(description)),
        *children,
    )


def write(x: float, y: float, text: str, *, anchor: str = "middle", size: int = FONT, faint: bool = False) -> str:
    """SVG text at a place: `anchor` is its start, middle or end."""
    attributes = {"x": x, "y": y, "text-anchor": anchor, "font-size": size, "direction": "ltr"}
    return tag("text", {**attributes, "opacity": 0.65} if faint else attributes, words(text))


def width_of(text: str, size: int = FONT) -> float:
    """Text width, about."""
    return 0.62 * size * cell_len(text)


def _value(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
