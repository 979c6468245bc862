"""Pair classification networks, what they have in common: two strings in, one logit out."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import nn

from nsed.encoders import EncoderConfig, StringEncoder
from nsed.text.batch import PaddedStrings
from nsed.types import PerPair


class Alphabets(NamedTuple):
    """Vocabulary sizes of both sides, the special symbols included, and the number of categories of strings."""

    source: int
    target: int
    shared: bool = False
    """Shared vocabulary: both sides have the same symbols; what is learned of one side is known of the other."""
    categories: int = 0

    def encoders(self, config: EncoderConfig) -> tuple[StringEncoder, StringEncoder]:
        """Encoder for each side; the same one twice, where the alphabets are shared."""
        source = StringEncoder(config, self.source, causal=False, categories=self.categories)
        if self.shared:
            return source, source
        return source, StringEncoder(config, self.target, causal=False, categories=self.categories)


class PairNetwork(nn.Module, ABC):
    """Pair classification network: a logit per pair, above 0 for a match. Padding never changes it."""

    @abstractmethod
    def forward(self, source: PaddedStrings, target: PaddedStrings) -> PerPair:
        """Logit of each pair."""
