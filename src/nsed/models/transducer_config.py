"""Settings of the Transducer."""

from dataclasses import dataclass
from typing import Literal

from nsed.config import bounded
from nsed.encoders import EncoderConfig, attending_kinds
from nsed.errors import ConfigError
from nsed.models.transduction import SearchConfig
from nsed.train.config import TrainConfig


@dataclass(frozen=True)
class TransducerConfig(SearchConfig):
    """What a Transducer is made of, how it is trained and how it decodes.

    The defaults are exact mode without attention. Paper mode: `normalisation: incoming`, `attention: true`, weights 1
    for `em` and `next_symbol` and 0 for `likelihood`; with `distortion: 0.1`, `likelihood: 1` compensates.
    """

    model: Literal["transducer"] = "transducer"
    """The kind of model that these settings are for."""
    encoder: EncoderConfig = EncoderConfig()
    """How much of its string a symbol knows."""
    normalisation: Literal["outgoing", "incoming"] = "outgoing"
    """outgoing: exact conditional probabilities; incoming: as in the paper."""
    attention: bool = False
    """Whether a cell also sees the whole source; without any attention, the lattice is the only way to the target."""
    target_attention: bool = False
    """Whether the layers of the target's encoder look at the source; rnn and transformer only."""
    interaction: int = bounded(0, low=0)
    """Similarity heads between source and target symbols."""
    feature_dropout: float = bounded(0.1, low=0, high=1)
    """Share of the features of pairs of symbols that are dropped in training."""
    likelihood: float = bounded(1.0, low=0)
    """Weight of -log p(target | source)."""
    em: float = bounded(0.0, low=0)
    """Weight of the EM loss."""
    next_symbol: float = bounded(0.0, low=0)
    """Weight of the next-symbol loss; exact mode has no use for it, its likelihood is that."""
    distortion: float = bounded(0.0, low=0)
    """Weight of the interpretability loss."""
    train: TrainConfig = TrainConfig()
    """How the network is trained."""

    def __post_init__(self) -> None:
        super().__post_init__()
        faults = self._attention_faults()
        if not self.likelihood + self.em + self.next_symbol:
            faults.append("likelihood, em, next_symbol: got 0, expected one above 0")
        if faults:
            raise ConfigError("TransducerConfig", faults)

    def _attention_faults(self) -> list[str]:
        faults, encoder = [], self.encoder
        if self.target_attention and encoder.kind not in attending_kinds():
            able = ", ".join(attending_kinds())
            faults.append(f"target_attention: got True, expected False with encoder.kind {encoder.kind}; {able} can")
        if (self.attention or self.target_attention) and encoder.dim % encoder.heads:
            faults.append(f"encoder.heads: got {encoder.heads}, expected a divisor of encoder.dim ({encoder.dim})")
        return faults
