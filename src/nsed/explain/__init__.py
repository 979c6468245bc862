"""Explain: edit scripts and explanations, and how terminals show them."""

from nsed.models import Explanation
from nsed.text import Edit, EditScript

__all__ = ["Edit", "EditScript", "Explanation"]
