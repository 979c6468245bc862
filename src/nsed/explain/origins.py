"""Where each target symbol came from."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Origin(NamedTuple):
    """How probably a target symbol was inserted, and how probably it stands for each source symbol; all sum to 1."""

    symbol: str
    inserted: float
    sources: tuple[float, ...]

    @property
    def best(self) -> int | None:
        """The source symbol (from 0) that it most probably stands for; None if it was rather inserted."""
        place = max(range(len(self.sources)), key=self.sources.__getitem__, default=None)
        return None if place is None or self.sources[place] < self.inserted else place


def origins_of(
    target: tuple[str, ...], insert: Float[np.ndarray, "src tgt"], substitute: Float[np.ndarray, "src tgt"]
) -> tuple[Origin, ...]:
    """The origin of each target symbol, from the posteriors of insertions and substitutions."""
    inserted = insert.sum(0)
    return tuple(
        Origin(symbol, float(inserted[j]), tuple(substitute[1:, j].tolist())) for j, symbol in enumerate(target, 1)
    )
