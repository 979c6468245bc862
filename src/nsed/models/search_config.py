"""Settings of every model that writes targets: how it looks for them."""

from dataclasses import dataclass

from nsed.config import bounded
from nsed.train.config import NetworkConfig


@dataclass(frozen=True)
class SearchConfig(NetworkConfig):
    """How targets are found. Abstract: the models' settings add to it."""

    beam: int = bounded(5, low=1)
    """Prefixes that are followed at once in decoding."""
    length_penalty: float = bounded(0.0, low=0)
    """Power of the length that log-probabilities are divided by before they are compared."""
    longest_output: int = bounded(64, low=1)
    """Target symbols at most in decoding."""
