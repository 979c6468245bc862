"""SCA (List 2012): sounds are compared by their classes, as LingPy does (extra `cognates`)."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from nsed.baselines.lingpy_tools import lingpy_module, quietly
from nsed.baselines.similarity import Similarity
from nsed.models.persistence import MODEL_KINDS
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, StringConfig
from nsed.text.pairs import PairsLike

ALIGNED_AT_ONCE = 1000
Sounds = tuple[str, ...]


@dataclass(frozen=True)
class ScaConfig(StringConfig):
    """How LingPy aligns; symbols are sounds, mostly `tokens`."""

    model: Literal["sca"] = "sca"
    """The kind of model that these settings are for."""
    mode: Literal["global", "overlap"] = "overlap"
    """overlap: what hangs over at either end costs nothing, as in LingPy's search for cognates."""
    gap: float = -2.0
    """What opening a gap costs, as in LingPy's search for cognates."""


class Sca(Similarity):
    """1 - LingPy's distance of sound-class alignments; only the threshold is learned."""

    kind = "sca"
    settings = ScaConfig

    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """See `Similarity.score`; of two empty strings 1, of one 0."""
        pairs = Pairs.of(pairs)
        rows = [(self.coders.source.split(one), self.coders.target.split(other)) for one, other in pairs]
        distances: dict[tuple[Sounds, Sounds], float] = {row: float(row[0] != row[1]) for row in rows if not all(row)}
        different = [row for row in dict.fromkeys(rows) if all(row)]
        for start in range(0, len(different), ALIGNED_AT_ONCE):
            some = different[start : start + ALIGNED_AT_ONCE]
            distances.update(zip(some, self._distances(some), strict=True))
            on_batch(len(some) * len(rows) // len(different))
        return 1 - np.array([distances[row] for row in rows], dtype=float)

    def _distances(self, rows: list[tuple[Sounds, Sounds]]) -> list[float]:
        assert isinstance(self.config, ScaConfig)
        pairwise = lingpy_module("align.pairwise")
        with quietly():
            aligned = pairwise.Pairwise([(list(one), list(other)) for one, other in rows])
            aligned.align(distance=True, mode=self.config.mode, gop=self.config.gap)
        return [float(distance) for _, _, distance in aligned.alignments]


MODEL_KINDS.register(Sca.kind, Sca.from_saved)
