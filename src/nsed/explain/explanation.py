"""The explanation: the evidence about one pair, and its renderings."""

import json
from collections.abc import Callable
from typing import final

from nsed.explain.evidence import Evidence, fields_from
from nsed.registry import Registry

RENDERINGS: Registry[Callable[..., str]] = Registry("rendering")
"""How explanations are shown, by name; the room `explain` fills it."""


@final
class Explanation(Evidence):
    """Why a model gave a pair its score, for people and for programs; shows itself in notebooks.

    All renderings tell the same: the best script with the probability of each operation, what each contributes to the
    score, and what else might have been.
    """

    def to_text(self) -> str:
        """For terminals."""
        return RENDERINGS["text"](self)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.to_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> "Explanation":
        """The explanation that `to_json` wrote."""
        return cls(**fields_from(json.loads(text)))

    def to_html(self, *, style: bool = True) -> str:
        """A fragment of a page that needs nothing else; without `style` the page brings `explain.html_style.STYLE`."""
        return RENDERINGS["html"](self, style=style)

    def to_svg(self, picture: str = "alpha") -> str:
        """One picture: `alpha`, `posteriors`, `lattice` or `waterfall`; a file of its own, or part of a page."""
        return RENDERINGS["svg"](self, picture)

    def to_latex(self, *, standalone: bool = False) -> str:
        """Coloured boxes, as in the paper; `standalone` makes it a whole document (for XeLaTeX or LuaLaTeX).

        Letters that the document's font lacks need another one (`fontspec`). Without `standalone` it needs the packages
        `tikz` and `xcolor`, the latter with the option `dvipsnames`.
        """
        return RENDERINGS["latex"](self, standalone=standalone)

    def _repr_html_(self) -> str:
        return self.to_html()

    def __str__(self) -> str:
        return self.to_text()
