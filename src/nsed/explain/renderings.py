"""All renderings of an explanation by name. A new one is one file, one line here and a method of `Explanation`."""

from nsed.explain.as_html import to_html
from nsed.explain.as_latex import to_latex
from nsed.explain.as_text import to_text
from nsed.explain.explanation import RENDERINGS
from nsed.explain.pictures import to_svg

RENDERINGS.register("text", to_text)
RENDERINGS.register("html", to_html)
RENDERINGS.register("svg", to_svg)
RENDERINGS.register("latex", to_latex)

__all__ = ["RENDERINGS"]
