"""Models, the answers they give, and their persistence."""

from nsed.explain.explanation import Explanation
from nsed.models.persistence import load

__all__ = ["Explanation", "load"]
