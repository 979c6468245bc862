"""Encoder interface and settings: embeddings of symbols in, contextual vectors of symbols out; and cross-attention.

Cross-attention is what encoders share: the symbols of one string attend to (look at) those of another, the target's to
the source's.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional

from nsed.config import Config, bounded, named
from nsed.errors import ConfigError
from nsed.registry import Registry
from nsed.types import Lengths

Vectors = Float[Tensor, "batch length dim"]
Attention = Float[Tensor, "batch length seen"]
"""Attention weights: shares that sum to one over the symbols that are seen."""
State = tuple[Tensor, ...]
"""Recurrent state: what a left-to-right encoder remembers of a prefix, tensors whose first axis is the batch."""

ENCODERS: "Registry[type[Encoder]]" = Registry("encoder.kind")
"""Encoder registry by name; `registry.py` fills it."""


class Attended(NamedTuple):
    """Attention context: another string that a string may look at, as contextual vectors, with its padding mask.

    >>> attended = Attended(torch.zeros(2, 3, 8), padding=~inside(torch.tensor([3, 1]), 3))
    >>> attended.padding.tolist()
    [[False, False, False], [False, True, True]]
    """

    vectors: Float[Tensor, "batch seen dim"]
    padding: Bool[Tensor, "batch seen"]


@dataclass(frozen=True)
class EncoderConfig(Config):
    """Encoder hyperparameters: which encoder, and how large. Paper: appendix "Model Hyperparameters"."""

    kind: str = named("rnn", ENCODERS)
    """Encoder architecture: unigram (no context), cnn (neighbours), rnn or transformer (whole string)."""
    dim: int = bounded(256, low=1, most=2**14)
    """Hidden dimension: size of all vectors."""
    layers: int = bounded(2, low=1, most=256)
    """Layers of cnn, rnn and transformer; the paper's CNN has 1, a deep one more."""
    kernel: int = bounded(3, low=1, most=1023)
    """Kernel width of a cnn layer: symbols that it sees at once."""
    heads: int = bounded(4, low=1, most=1024)
    """Attention heads: of the transformer, and where the target or a cell looks at the source."""
    feed_forward: int = bounded(4, low=1, most=64)
    """Feed-forward width of the transformer, as a multiple of `dim`."""
    norm: Literal["pre", "post"] = "pre"
    """Layer normalisation of the transformer: before its blocks, or after them as in BERT."""
    dropout: float = bounded(0.1, low=0, high=1)
    """Dropout rate: share of the numbers that are dropped in training."""
    hidden: float = bounded(0.0, low=0, high=1)
    """Symbol dropout rate: share of the symbols that are hidden, seen as unknown, in training."""
    positions: bool = True
    """Position embeddings of unigram and cnn: where a symbol stands; without, a unigram is a table of symbols only."""
    max_length: int = bounded(128, low=1, most=10**6)
    """Maximum length: symbols of a string at most, where positions are learned: unigram, cnn and transformer."""

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
    """Transformer hyperparameters, for models that take no other encoder.

    >>> TransformerConfig(dim=6, heads=4)
    Traceback (most recent call last):
    nsed.errors.ConfigError: encoder: 1 fault - heads: got 4, expected a divisor of dim (6)
    """

    kind: Literal["transformer"] = "transformer"
    """Encoder architecture: transformer, whose symbols attend to all others at once."""


class Encoder(nn.Module, ABC):
    """Encoder base class: puts each symbol's vector into context; padding after a string never changes it.

    A `causal` encoder sees only what stands to the left, and can go symbol by symbol: `begin` and then `step` give, one
    by one, the vectors that `forward` gives for the whole string. What is `attended` only an `AttendingEncoder` sees.
    """

    needs_positions: bool
    """Position embeddings by default: whether vectors tell where symbols stand, if the settings say nothing else."""
    sees_context: bool = True
    """Context dependence: whether a symbol's vector depends on other symbols."""
    wants_kinds: bool = False
    """Deduplicated input: whether `forward` and `step` also take the `Kinds` of their vectors, to save work."""

    @abstractmethod
    def forward(self, vectors: Vectors, lengths: Lengths, attended: Attended | None = None) -> Vectors:
        """Contextual vectors of whole strings."""

    @abstractmethod
    def begin(self, like: Float[Tensor, "batch dim"]) -> State:
        """Initial state: what is known before the first symbol."""

    @abstractmethod
    def step(
        self, vector: Float[Tensor, "batch dim"], state: State, attended: Attended | None = None
    ) -> tuple[Float[Tensor, "batch dim"], State]:
        """Incremental step: the next symbol's contextual vector, and the new state."""


class UnigramEncoder(Encoder):
    """Unigram encoder, the identity: no context, a symbol and its position only, as readable as a table of operations.

    Paper: section 4, the context-free encoder.
    """

    needs_positions, sees_context = True, False

    def __init__(self, config: EncoderConfig, *, causal: bool) -> None:
        super().__init__()

    def forward(self, vectors: Vectors, lengths: Lengths, attended: Attended | None = None) -> Vectors:
        """See `Encoder.forward`."""
        return vectors

    def begin(self, like: Float[Tensor, "batch dim"]) -> State:
        """See `Encoder.begin`."""
        return ()

    def step(
        self, vector: Float[Tensor, "batch dim"], state: State, attended: Attended | None = None
    ) -> tuple[Float[Tensor, "batch dim"], State]:
        """See `Encoder.step`."""
        return vector, state


class AttendingEncoder(Encoder):
    """Encoder with cross-attention: if causal and made with `attends=True`, it also looks at another, fixed string.

    >>> from nsed.encoders import ENCODERS, Attended, AttendingEncoder, EncoderConfig
    >>> encoder = ENCODERS["rnn"](EncoderConfig(dim=8), causal=True, attends=True).eval()
    >>> symbols, other = torch.rand(1, 2, 8), Attended(torch.rand(1, 3, 8), torch.zeros(1, 3, dtype=torch.bool))
    >>> isinstance(encoder, AttendingEncoder), encoder.attention(symbols, torch.tensor([2]), other).shape
    (True, torch.Size([1, 2, 3]))
    """

    @abstractmethod
    def attention(self, vectors: Vectors, lengths: Lengths, attended: Attended) -> Attention:
        """Cross-attention weights of the last layer, over the other string's symbols, on average over heads."""


def inside(lengths: Lengths, width: int) -> Bool[Tensor, "batch width"]:
    """Length mask: True for a string's own symbols, False for padding."""
    return torch.arange(width, device=lengths.device) < lengths[:, None]


def reordered(state: State, rows: Int[Tensor, " chosen"]) -> State:
    """States reordered along the batch, for beam search: those of the chosen members."""
    return tuple(part.index_select(0, rows) for part in state)


class CrossAttention(nn.Module):
    """Multi-head cross-attention (scaled dot-product) to another string, residual, layer normalisation after or before.

    Keys and values are never made: `q (W_k s) = (q W_k) s`, and a mix of `W_v s` is W_v of the mix. So the queries of
    all heads go to where the vectors are, and one more symbol costs nothing that grows with n * dim * dim, although
    nothing is remembered of the other string.
    """

    def __init__(self, config: EncoderConfig, *, pre: bool = False) -> None:
        super().__init__()
        self.pre = pre
        self.heads, self.part, self.rate = config.heads, config.dim // config.heads, config.dropout
        self.query = nn.Linear(config.dim, config.dim)
        # A key's bias adds the same to all scores of a query, a value's adds a constant to what `merge` gets.
        self.key = nn.Linear(config.dim, config.dim, bias=False)
        self.value = nn.Linear(config.dim, config.dim, bias=False)
        self.merge = nn.Linear(config.dim, config.dim)
        self.norm = nn.LayerNorm(config.dim)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, asking: Vectors, attended: Attended) -> Vectors:
        """Residual cross-attention block: each symbol's vector plus what it attended to, normalised."""
        if self.pre:
            return asking + self._found(self.norm(asking), attended)
        normed: Tensor = self.norm(asking + self._found(asking, attended))
        return normed

    def weights(self, asking: Vectors, attended: Attended) -> Attention:
        """Attention weights: how much each symbol looks at each symbol of the other string, on average over heads."""
        asked = self._asked(self.norm(asking) if self.pre else asking)
        scores = torch.einsum("blhd,bsd->blhs", asked, attended.vectors) * self.part**-0.5
        shares: Tensor = scores.masked_fill(attended.padding[:, None, None], -torch.inf).softmax(-1)
        return shares.mean(2)

    def _found(self, asking: Vectors, attended: Attended) -> Vectors:
        """Attention output: what each symbol found in the other string, all heads merged, before the residual."""
        mixed = self._mixed(self._asked(asking), attended)
        values = torch.einsum("blhd,hpd->blhp", mixed, self._per_head(self.value))
        found: Tensor = self.dropout(self.merge(values.flatten(2)))
        return found

    def _asked(self, asking: Vectors) -> Float[Tensor, "batch length heads dim"]:
        """Queries times the key projection: what each head looks for, compared with the vectors themselves."""
        query = self.query(asking).view(*asking.shape[:2], self.heads, self.part)
        return torch.einsum("blhp,hpd->blhd", query, self._per_head(self.key))

    def _mixed(
        self, asked: Float[Tensor, "batch length heads dim"], attended: Attended
    ) -> Float[Tensor, "batch length heads dim"]:
        """Attention-weighted sum per head; to torch's kernel one head, whose queries are all symbols' and heads'."""
        vectors, seen = attended.vectors[:, None], ~attended.padding[:, None, None]
        mixed: Tensor = functional.scaled_dot_product_attention(
            asked.flatten(1, 2)[:, None],
            vectors,
            vectors,
            attn_mask=seen,
            dropout_p=self.rate if self.training else 0.0,
            scale=self.part**-0.5,
        )
        return mixed.view(asked.shape)

    def _per_head(self, projection: nn.Linear) -> Float[Tensor, "heads part dim"]:
        return projection.weight.view(self.heads, self.part, -1)
