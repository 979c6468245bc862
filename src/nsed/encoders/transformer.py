"""Transformer encoder: self-attention over the whole string at once."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders.base import (
    Attended,
    AttendingEncoder,
    Attention,
    CrossAttention,
    EncoderConfig,
    State,
    Vectors,
    inside,
)
from nsed.types import Lengths

Mask = Bool[Tensor, "#batch 1 #length seen"]


class TransformerEncoder(AttendingEncoder):
    """Transformer encoder: self-attention, causal mask if causal. Paper: appendix, following BERT (with `norm: post`).

    With `attends`, every layer also looks at the other string, between self-attention and feed-forward network.
    """

    needs_positions = True

    def __init__(self, config: EncoderConfig, *, causal: bool, attends: bool = False) -> None:
        super().__init__()
        assert causal or not attends
        self.causal = causal
        make = AttendingTransformerLayer if attends else SelfAttentionLayer
        self.layers = nn.ModuleList(make(config) for _ in range(config.layers))
        self.final = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()

    def forward(self, vectors: Vectors, lengths: Lengths, attended: Attended | None = None) -> Vectors:
        """See `Encoder.forward`."""
        mask = self._mask(lengths, vectors.shape[1])
        for layer in self.layers:
            assert isinstance(layer, SelfAttentionLayer | AttendingTransformerLayer)
            vectors = layer(vectors, layer.context(vectors), mask, attended)
        finished: Tensor = self.final(vectors)
        return finished

    def attention(self, vectors: Vectors, lengths: Lengths, attended: Attended) -> Attention:
        """See `AttendingEncoder.attention`."""
        mask = self._mask(lengths, vectors.shape[1])
        *before, last = self.layers
        for layer in before:
            assert isinstance(layer, AttendingTransformerLayer)
            vectors = layer(vectors, layer.context(vectors), mask, attended)
        assert isinstance(last, AttendingTransformerLayer)
        return last.looking.weights(last.reading.mixed(vectors, last.context(vectors), mask), attended)

    def begin(self, like: Float[Tensor, "batch dim"]) -> State:
        """See `Encoder.begin`: each layer's inputs so far, after its first normalisation."""
        return tuple(like.new_zeros(len(like), 0, like.shape[1]) for _ in self.layers)

    def step(
        self, vector: Float[Tensor, "batch dim"], state: State, attended: Attended | None = None
    ) -> tuple[Float[Tensor, "batch dim"], State]:
        """See `Encoder.step`."""
        vectors, remembered = vector[:, None], []
        for layer, past in zip(self.layers, state, strict=True):
            assert isinstance(layer, SelfAttentionLayer | AttendingTransformerLayer)
            context = torch.cat([past, layer.context(vectors)], dim=1)
            remembered.append(context)
            vectors = layer(vectors, context, None, attended)
        return self.final(vectors)[:, 0], tuple(remembered)

    def _mask(self, lengths: Lengths, width: int) -> Mask:
        """Attention mask: where a symbol may look at another, to the left (causal) or anywhere but at padding."""
        if self.causal:
            return torch.ones(width, width, dtype=torch.bool, device=lengths.device).tril()[None, None]
        return inside(lengths, width)[:, None, None, :]


class SelfAttentionLayer(nn.Module):
    """Transformer layer: self-attention and feed-forward network, each residual, normalised before or after."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.heads, self.pre, self.rate = config.heads, config.norm == "pre", config.dropout
        self.norms = nn.ModuleList(nn.LayerNorm(config.dim) for _ in range(2))
        self.query = nn.Linear(config.dim, config.dim)
        self.key_value = nn.Linear(config.dim, 2 * config.dim)
        self.merge = nn.Linear(config.dim, config.dim)
        width = config.feed_forward * config.dim
        self.wide = nn.Sequential(nn.Linear(config.dim, width), nn.GELU(), nn.Linear(width, config.dim))
        self.dropout = nn.Dropout(config.dropout)

    def context(self, vectors: Vectors) -> Vectors:
        """Input of keys and values: what other symbols see of these."""
        seen: Tensor = self.norms[0](vectors) if self.pre else vectors
        return seen

    def forward(
        self,
        vectors: Vectors,
        context: Float[Tensor, "batch seen dim"],
        mask: Mask | None,
        attended: Attended | None = None,
    ) -> Vectors:
        """Transformer layer over some symbols, which attend to a context where the mask is True."""
        return self.widened(self.mixed(vectors, context, mask))

    def mixed(self, vectors: Vectors, context: Float[Tensor, "batch seen dim"], mask: Mask | None) -> Vectors:
        """Self-attention sublayer, the first half of the layer."""
        mixed: Tensor = vectors + self.dropout(self.attention(self.context(vectors), context, mask))
        return mixed if self.pre else torch.as_tensor(self.norms[0](mixed))

    def widened(self, vectors: Vectors) -> Vectors:
        """Feed-forward sublayer, the second half of the layer."""
        if self.pre:
            return vectors + torch.as_tensor(self.dropout(self.wide(self.norms[1](vectors))))
        return torch.as_tensor(self.norms[1](vectors + self.dropout(self.wide(vectors))))

    def attention(self, asking: Vectors, context: Float[Tensor, "batch seen dim"], mask: Mask | None) -> Vectors:
        """Multi-head scaled dot-product attention."""
        query, (key, value) = self._split(self.query(asking)), map(self._split, self.key_value(context).chunk(2, -1))
        rate = self.rate if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=rate)
        merged: Tensor = self.merge(mixed.transpose(1, 2).flatten(2))
        return merged

    def _split(self, vectors: Float[Tensor, "batch any dim"]) -> Float[Tensor, "batch heads any part"]:
        batch, length, dim = vectors.shape
        return vectors.view(batch, length, self.heads, dim // self.heads).transpose(1, 2)


class AttendingTransformerLayer(nn.Module):
    """Transformer layer with cross-attention to another string, between self-attention and feed-forward network."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.reading = SelfAttentionLayer(config)
        self.looking = CrossAttention(config, pre=config.norm == "pre")

    def context(self, vectors: Vectors) -> Vectors:
        """Input of keys and values: what other symbols see of these."""
        return self.reading.context(vectors)

    def forward(
        self,
        vectors: Vectors,
        context: Float[Tensor, "batch seen dim"],
        mask: Mask | None,
        attended: Attended | None,
    ) -> Vectors:
        """Transformer layer: some symbols attend to a context where the mask is True, and to the other string."""
        assert attended is not None
        return self.reading.widened(self.looking(self.reading.mixed(vectors, context, mask), attended))
