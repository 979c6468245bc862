"""Models, what they answer with, and how they are kept."""

from nsed.explain.explanation import Explanation
from nsed.models.persistence import load

__all__ = ["Explanation", "load"]
