"""Settings of the Matcher."""

from dataclasses import dataclass
from typing import Literal

from nsed.config import bounded
from nsed.encoders import EncoderConfig
from nsed.models.labelled_config import LabelledConfig
from nsed.train.config import TrainConfig


@dataclass(frozen=True)
class MatcherConfig(LabelledConfig):
    """What a Matcher is made of and how it is trained. The loss weights are the paper's."""

    model: Literal["matcher"] = "matcher"
    """The kind of model that these settings are for."""
    encoder: EncoderConfig = EncoderConfig()
    """How much of its string a symbol knows."""
    interaction: int = bounded(0, low=0)
    """Similarity heads between source and target symbols; a few help much where equal symbols matter."""
    feature_dropout: float = bounded(0.1, low=0, high=1)
    """Share of the features of pairs of symbols that are dropped in training."""
    em: float = bounded(1.0, low=0)
    """Weight of the EM loss, over positive pairs."""
    non_match: float = bounded(1.0, low=0)
    """Weight of the non-match loss, over negative pairs."""
    match: float = bounded(1.0, low=0)
    """Weight of the binary cross-entropy."""
    distortion: float = bounded(0.0, low=0)
    """Weight of the interpretability loss."""
    train: TrainConfig = TrainConfig()
    """How the network is trained."""
