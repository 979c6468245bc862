"""The Jaro-Winkler similarity, as a model."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler as Distance

from nsed.baselines.coded_strings import coded_columns
from nsed.baselines.similarity import Similarity
from nsed.models.persistence import MODEL_KINDS
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, StringConfig
from nsed.text.pairs import PairsLike


@dataclass(frozen=True)
class JaroWinklerConfig(StringConfig):
    """What is compared."""

    model: Literal["jaro-winkler"] = "jaro-winkler"
    """The kind of model that these settings are for."""


class JaroWinkler(Similarity):
    """Shared symbols near each other, few of them out of order, and more so where the beginnings are alike.

    >>> model = JaroWinkler.fit([("gray", "grey"), ("gray", "blue")], [1, 0])
    >>> model.score([("martha", "marhta")])
    array([0.961...])
    """

    kind = "jaro-winkler"
    settings = JaroWinklerConfig

    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """See `Similarity.score`."""
        pairs = Pairs.of(pairs)
        on_batch(len(pairs))
        return process.cpdist(*coded_columns(pairs, self.coders), scorer=Distance.similarity, dtype=np.float64)


MODEL_KINDS.register(JaroWinkler.kind, JaroWinkler.from_saved)
