"""What every network that only classifies pairs has in common: two strings in, one number out."""

from abc import ABC, abstractmethod
from typing import NamedTuple

from torch import nn

from nsed.encoders import EncoderConfig, StringEncoder
from nsed.text.batch import PaddedStrings
from nsed.types import PerPair


class Alphabets(NamedTuple):
    """How many symbols each side has, the special ones included, and how many categories of strings there are."""

    source: int
    target: int
    shared: bool = False
    """Both sides have the same symbols: what is learned of one side is known of the other."""
    categories: int = 0

    def encoders(self, config: EncoderConfig) -> tuple[StringEncoder, StringEncoder]:
        """An encoder for each side; the same one twice, where the alphabets are shared."""
        source = StringEncoder(config, self.source, causal=False, categories=self.categories)
        if self.shared:
            return source, source
        return source, StringEncoder(config, self.target, causal=False, categories=self.categories)


class PairNetwork(nn.Module, ABC):
    """Gives each pair a logit: above 0, the strings rather belong together. Padding never changes it."""

    @abstractmethod
    def forward(self, source: PaddedStrings, target: PaddedStrings) -> PerPair:
        """The logit of each pair."""
