"""How explanations look on a page: the page's own letters, half-transparent boxes for light and for dark pages."""

from collections.abc import Iterable, Iterator
from html import escape

from nsed.explain.svg import COLOURS


def _channels(colour: str) -> str:
    return ",".join(str(int(colour[place : place + 2], 16)) for place in (1, 3, 5))


_OPERATIONS = ("delete", "insert", "replace", "equal")
_COLOURS = "".join(f".nsed-{name}{{--nsed-colour:{_channels(COLOURS[name])}}}\n" for name in _OPERATIONS)
_SOLID = "".join(f".nsed-p{tenth}{{--nsed-solid:{0.05 + 0.045 * tenth:.3f}}}\n" for tenth in range(11))

STYLE = f"""
.nsed-explanation{{font-family:system-ui,sans-serif;line-height:1.5;overflow-x:auto}}
.nsed-explanation p{{margin:.4em 0}}
.nsed-explanation table{{border-collapse:collapse;margin:.4em 0;border:0}}
.nsed-explanation td{{padding:0 .45em;border:0;text-align:center;background:none}}
.nsed-string{{font-weight:600}}
.nsed-decision{{border:1.5px solid currentColor;border-radius:.3em;padding:0 .4em}}
.nsed-script{{display:flex;flex-wrap:wrap;align-items:flex-start;gap:.3em;margin:.4em 0}}
.nsed-op{{display:inline-block;text-align:center;padding:.05em .4em;border-radius:.25em;white-space:nowrap;
border:1.5px solid rgb(var(--nsed-colour));background:rgba(var(--nsed-colour),var(--nsed-solid))}}
.nsed-op small{{display:block;font-size:.7em;line-height:1.2}}
.nsed-alignment td{{font-family:ui-monospace,monospace}}
.nsed-explanation .nsed-outputs td,.nsed-explanation .nsed-others td{{text-align:start}}
.nsed-pictures{{display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start}}
.nsed-explanation svg{{max-width:100%;height:auto}}
.nsed-explanation summary{{cursor:pointer}}
{_COLOURS}{_SOLID}"""
"""The rules for the fragments of `Explanation.to_html`; all names begin with `nsed-`."""


def page(fragments: Iterable[str], *, title: str = "explanations") -> Iterator[str]:
    """A whole page around fragments that were made without style, part by part."""
    yield f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
    yield f'<meta name="color-scheme" content="light dark"><style>{STYLE}</style></head><body>\n'
    yield from (f"{fragment}\n<hr>\n" for fragment in fragments)
    yield "</body></html>\n"
