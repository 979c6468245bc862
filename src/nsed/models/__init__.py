"""Models, and how they are kept."""

from nsed.models.persistence import load

__all__ = ["load"]
