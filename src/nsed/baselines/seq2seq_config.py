"""Settings of the sequence-to-sequence baselines."""

from dataclasses import dataclass
from typing import Literal

from nsed.config import bounded
from nsed.encoders import EncoderConfig, attending_kinds
from nsed.errors import ConfigError
from nsed.models.transduction import SearchConfig
from nsed.train.config import TrainConfig


@dataclass(frozen=True)
class Seq2SeqConfig(SearchConfig):
    """What a sequence-to-sequence model is made of, how it is trained and how it decodes."""

    model: Literal["seq2seq"] = "seq2seq"
    """The kind of model that these settings are for."""
    encoder: EncoderConfig = EncoderConfig()
    """Of the source, and of the target, which looks at the source in every layer: rnn or transformer."""
    label_smoothing: float = bounded(0.0, low=0, high=1)
    """Share of each target symbol that is spread over all symbols in training; above 0, scores are too modest."""
    train: TrainConfig = TrainConfig()
    """How the network is trained."""

    def __post_init__(self) -> None:
        super().__post_init__()
        faults, encoder = [], self.encoder
        if encoder.kind not in attending_kinds():
            able = " or ".join(attending_kinds())
            faults.append(f"encoder.kind: got {encoder.kind!r}, expected one that can look at the source: {able}")
        if encoder.dim % encoder.heads:
            faults.append(f"encoder.heads: got {encoder.heads}, expected a divisor of encoder.dim ({encoder.dim})")
        if faults:
            raise ConfigError("Seq2SeqConfig", faults)
