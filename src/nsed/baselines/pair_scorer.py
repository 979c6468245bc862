"""Score-only baselines, what they have in common: a number, a decision, a probability, and no operations."""

from typing import NoReturn

from nsed.capabilities import Capability
from nsed.errors import NotExplainableError
from nsed.models.decisions import UNCALIBRATED, Criterion, DecidingModel, labels_of
from nsed.text import StringConfig, Tokenizers, Vocabulary

__all__ = ["UNCALIBRATED", "Criterion", "PairScorer", "labels_of", "plain_tokenizers"]


class PairScorer(DecidingModel):
    """Score-only baseline: gives pairs a score, a decision and a probability, but no edit operations.

    Scores are higher for what is more likely to match, but no logarithms of probabilities.
    """

    capabilities = frozenset({Capability.SCORE, Capability.MATCH})

    def _refuse(self, what: str) -> NoReturn:
        raise NotExplainableError(f"{self.kind}: this baseline gives pairs a number, it has no edit operations to show")


def plain_tokenizers(config: StringConfig) -> Tokenizers:
    """Tokenizers without vocabularies, of a model that cuts strings into symbols but does not number them."""
    return Tokenizers.of(config, {"source": Vocabulary(()), "target": Vocabulary(())})
