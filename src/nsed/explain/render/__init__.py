"""Render: explanations as text, HTML, SVG and LaTeX; rules and reports as pages.

A new rendering of explanations is one file and one line here.
"""

from nsed.explain.explanation import RENDERINGS
from nsed.explain.render.html import to_html
from nsed.explain.render.latex import to_latex
from nsed.explain.render.pictures import to_svg
from nsed.explain.render.text import to_text

RENDERINGS.register("text", to_text)
RENDERINGS.register("html", to_html)
RENDERINGS.register("svg", to_svg)
RENDERINGS.register("latex", to_latex)

__all__ = ["RENDERINGS"]
