"""Settings of the learnable edit distance."""

from dataclasses import dataclass

from nsed.config import Config, bounded
from nsed.text import SymbolKind, UnicodeForm


@dataclass(frozen=True)
class EditDistanceConfig(Config):
    """How a learnable edit distance is trained."""

    source_symbols: SymbolKind = "graphemes"
    """What the sources are made of: graphemes, or tokens between spaces."""
    target_symbols: SymbolKind = "graphemes"
    """What the targets are made of: graphemes, or tokens between spaces."""
    unicode_form: UnicodeForm = "NFC"
    """Unicode normalisation of all strings: NFC, NFD or none."""
    iterations: int = bounded(30, low=1)
    """Steps of EM at most."""
    tolerance: float = bounded(1e-5, low=0)
    """Stop when a step improves the log-likelihood by less than this share of it."""
    smoothing: float = bounded(1e-3, low=0, high=1)
    """Share of the probability spread evenly over all operations, so that unseen ones are possible."""
    batch_cells: int = bounded(2**17, low=1)
    """Lattice cells worked on together; more needs more memory and is not faster for long."""
    max_cells: int = bounded(2**25, low=1)
    """Lattice cells of a single pair at most; a pair of 5,000-symbol strings has 25 million."""
    backend: str = "auto"
    """Who computes the lattices: auto, torch or reference."""
