"""The interface of an encoder: vectors of symbols in, vectors of symbols in context out."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from nsed.config import Config, bounded, named
from nsed.errors import ConfigError
from nsed.registry import Registry
from nsed.types import Lengths

Vectors = Float[Tensor, "batch length dim"]
Attention = Float[Tensor, "batch length seen"]
"""Shares that sum to one over the symbols that are seen."""
State = tuple[Tensor, ...]
"""What a left-to-right encoder remembers of a prefix: tensors whose first axis is the batch."""

ENCODERS: "Registry[type[Encoder]]" = Registry("encoder.kind")
"""All encoders by name; `registry.py` fills it."""


class Attended(NamedTuple):
    """Another string that a string may look at: its symbols in context, and where there is only padding."""

    vectors: Float[Tensor, "batch seen dim"]
    padding: Bool[Tensor, "batch seen"]


@dataclass(frozen=True)
class EncoderConfig(Config):
    """Which encoder, and how large. Paper: appendix "Model Hyperparameters"."""

    kind: str = named("rnn", ENCODERS)
    """unigram (no context), cnn (neighbours), rnn or transformer (whole string)."""
    dim: int = bounded(256, low=1)
    """Size of all vectors."""
    layers: int = bounded(2, low=1)
    """Layers of cnn, rnn and transformer; the paper's CNN has 1, a deep one more."""
    kernel: int = bounded(3, low=1)
    """Symbols that a cnn layer sees at once."""
    heads: int = bounded(4, low=1)
    """Attention heads of the transformer, and where the target or a cell looks at the source."""
    feed_forward: int = bounded(4, low=1)
    """Width of the transformer's feed-forward networks, as a multiple of `dim`."""
    norm: Literal["pre", "post"] = "pre"
    """Layer normalisation of the transformer: before its blocks, or after them as in BERT."""
    dropout: float = bounded(0.1, low=0, high=1)
    """Share of the numbers that are dropped in training."""
    hidden: float = bounded(0.0, low=0, high=1)
    """Share of the symbols that are hidden, seen as unknown, in training."""
    positions: bool = True
    """Whether unigram and cnn know where a symbol stands; without, a unigram is a table of symbols and no more."""
    max_length: int = bounded(128, low=1)
    """Symbols of a string at most, where positions are learned: unigram, cnn and transformer."""

    def __post_init__(self) -> None:
        super().__post_init__()
        faults = []
        if self.kind == "transformer" and self.dim % self.heads:
            faults.append(f"heads: got {self.heads}, expected a divisor of dim ({self.dim})")
        if self.kind == "transformer" and not self.positions:
            faults.append("positions: got False, expected True with kind transformer, which knows no order without")
        if faults:
            raise ConfigError("encoder", faults)


@dataclass(frozen=True)
class TransformerConfig(EncoderConfig):
    """How large a transformer is, where nothing else will do."""

    kind: Literal["transformer"] = "transformer"
    """transformer: the one that looks everywhere at once."""


class Encoder(nn.Module, ABC):
    """Puts each symbol's vector into context; padding after a string never changes it.

    A `causal` encoder sees only what stands to the left, and can go symbol by symbol: `begin` and then `step` give, one
    by one, the vectors that `forward` gives for the whole string. What is `attended` only an `AttendingEncoder` sees.
    """

    needs_positions: bool
    """Whether the symbols' vectors tell where they stand, if the settings do not say otherwise."""
    sees_context: bool = True
    """Whether a symbol's vector depends on other symbols."""
    wants_kinds: bool = False
    """Whether `forward` and `step` also take the `Kinds` of their vectors, and save work by them."""

    @abstractmethod
    def forward(self, vectors: Vectors, lengths: Lengths, attended: Attended | None = None) -> Vectors:
        """The vectors of whole strings."""

    @abstractmethod
    def begin(self, like: Float[Tensor, "batch dim"]) -> State:
        """What is known before the first symbol."""

    @abstractmethod
    def step(
        self, vector: Float[Tensor, "batch dim"], state: State, attended: Attended | None = None
    ) -> tuple[Float[Tensor, "batch dim"], State]:
        """The next symbol's vector in context, and what to remember."""


class AttendingEncoder(Encoder):
    """One that, if causal and made with `attends=True`, also looks at another string, the same in every call."""

    @abstractmethod
    def attention(self, vectors: Vectors, lengths: Lengths, attended: Attended) -> Attention:
        """How much each symbol looks at each symbol of the other string, in the last layer, on average over heads."""


def inside(lengths: Lengths, width: int) -> Bool[Tensor, "batch width"]:
    """True for a string's own symbols, False for padding."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def reordered(state: State, rows: Int[Tensor, " chosen"]) -> State:
    """The states of chosen members of the batch."""
    return tuple(part.index_select(0, rows) for part in state)
