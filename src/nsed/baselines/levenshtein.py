"""The normalised Levenshtein similarity, as a model."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein as Distance

from nsed.baselines.coded_strings import coded_columns
from nsed.baselines.similarity import Similarity
from nsed.models.persistence import MODEL_KINDS
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs, StringConfig
from nsed.text.pairs import PairsLike


@dataclass(frozen=True)
class LevenshteinConfig(StringConfig):
    """What the edits are counted in."""

    model: Literal["levenshtein"] = "levenshtein"
    """The kind of model that these settings are for."""


class Levenshtein(Similarity):
    """1 - edits / symbols of the longer string.

    >>> model = Levenshtein.fit([("gray", "grey"), ("gray", "blue")], [1, 0])
    >>> model.score([("colour", "color"), ("", "")]), model.match([("odour", "odor")])
    (array([0.83333333, 1. ]), array([ True]))
    """

    kind = "levenshtein"
    settings = LevenshteinConfig

    def score(self, pairs: PairsLike, *, on_batch: OnBatch = ignore) -> np.ndarray:
        """See `Similarity.score`."""
        pairs = Pairs.of(pairs)
        on_batch(len(pairs))
        columns = coded_columns(pairs, self.coders)
        return process.cpdist(*columns, scorer=Distance.normalized_similarity, dtype=np.float64)


MODEL_KINDS.register(Levenshtein.kind, Levenshtein.from_saved)
