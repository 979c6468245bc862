"""Settings of the baselines that classify pairs: the cross-encoder and STANCE."""

from dataclasses import dataclass
from typing import Literal

from nsed.config import bounded
from nsed.encoders import EncoderConfig, TransformerConfig
from nsed.models.labelled_config import LabelledConfig
from nsed.train.config import TrainConfig


@dataclass(frozen=True)
class CrossEncoderConfig(LabelledConfig):
    """What a cross-encoder is made of and how it is trained."""

    model: Literal["cross-encoder"] = "cross-encoder"
    """The kind of model that these settings are for."""
    encoder: TransformerConfig = TransformerConfig()
    """The Transformer that reads both strings at once."""
    train: TrainConfig = TrainConfig()
    """How the network is trained."""


@dataclass(frozen=True)
class StanceConfig(LabelledConfig):
    """What STANCE is made of and how it is trained."""

    model: Literal["stance"] = "stance"
    """The kind of model that these settings are for."""
    encoder: EncoderConfig = EncoderConfig()
    """How much of its string a symbol knows."""
    temperature: float = bounded(1.0, low=1e-3)
    """Of the transport plan: the lower, the closer to one symbol for one symbol."""
    iterations: int = bounded(20, low=1)
    """Sinkhorn iterations, always as many."""
    channels: int = bounded(64, low=1)
    """Of the CNN that reads the aligned similarities."""
    convolutions: int = bounded(3, low=1)
    """Layers of that CNN, 3 x 3 cells each."""
    train: TrainConfig = TrainConfig()
    """How the network is trained."""


ClassifierConfig = CrossEncoderConfig | StanceConfig
