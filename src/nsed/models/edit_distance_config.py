"""Settings of the learnable edit distance."""

from dataclasses import dataclass
from typing import Literal

from nsed.config import bounded
from nsed.text import AlphabetConfig


@dataclass(frozen=True)
class EditDistanceConfig(AlphabetConfig):
    """How a learnable edit distance is trained."""

    model: Literal["edit-distance"] = "edit-distance"
    """The kind of model that these settings are for."""
    iterations: int = bounded(30, low=1)
    """Steps of EM at most."""
    tolerance: float = bounded(1e-5, low=0)
    """Stop when a step improves the log-likelihood by less than this share of it."""
    smoothing: float = bounded(1e-3, low=0, high=1)
    """Share of the probability spread evenly over all operations, so that unseen ones are possible."""
    relative: bool = False
    """Score a pair by log p(s, t) / (p(s) p(t)): how much likelier it is than two strings by chance. This is what tells
    matches from others; the joint probability itself falls with every symbol and mostly tells short strings from long
    ones."""
    batch_cells: int = bounded(2**17, low=1)
    """Lattice cells worked on together; more needs more memory and is not faster for long."""
    max_cells: int = bounded(2**25, low=1)
    """Lattice cells of a single pair at most; a pair of 5,000-symbol strings has 25 million."""
    backend: str = "auto"
    """Who computes the lattices: auto, torch or reference."""
