"""How explanations look on a page: the page's own letters, half-transparent boxes for light and for dark pages."""

from collections.abc import Iterable, Iterator
from html import escape

from nsed.explain.edit_boxes import BOX_STYLE

STYLE = f"""
.nsed-explanation{{font-family:system-ui,sans-serif;line-height:1.5;overflow-x:auto}}
.nsed-explanation p{{margin:.4em 0}}
.nsed-explanation table{{border-collapse:collapse;margin:.4em 0;border:0}}
.nsed-explanation td{{padding:0 .45em;border:0;text-align:center;background:none}}
.nsed-string{{font-weight:600}}
.nsed-decision{{border:1.5px solid currentColor;border-radius:.3em;padding:0 .4em}}
.nsed-explanation .nsed-outputs td,.nsed-explanation .nsed-others td{{text-align:start}}
.nsed-pictures{{display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start}}
.nsed-explanation svg{{max-width:100%;height:auto}}
.nsed-explanation summary{{cursor:pointer}}
{BOX_STYLE}"""
"""The rules for the fragments of `Explanation.to_html`; all names begin with `nsed-`."""


def page(fragments: Iterable[str], *, title: str = "explanations") -> Iterator[str]:
    """A whole page around fragments that were made without style, part by part."""
    yield f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
    yield f'<meta name="color-scheme" content="light dark"><style>{STYLE}</style></head><body>\n'
    yield from (f"{fragment}\n<hr>\n" for fragment in fragments)
    yield "</body></html>\n"
