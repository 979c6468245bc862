"""Explain: from lattices to edit scripts and explanations, as text, JSON, HTML, SVG and LaTeX."""

from nsed.explain.contributions import Contribution
from nsed.explain.decision import Decision, Output
from nsed.explain.explanation import Explanation
from nsed.explain.origins import Origin
from nsed.text import Edit, EditScript

__all__ = ["Contribution", "Decision", "Edit", "EditScript", "Explanation", "Origin", "Output"]
