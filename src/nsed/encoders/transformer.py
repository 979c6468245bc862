"""The whole string at once: self-attention."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders.base import Attended, Encoder, EncoderConfig, State, Vectors, inside
from nsed.types import Lengths


class TransformerEncoder(Encoder):
    """Self-attention layers, masked to the left if causal. Paper: appendix, following BERT (with `norm: post`)."""

    needs_positions = True

    def __init__(self, config: EncoderConfig, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.layers = nn.ModuleList(SelfAttentionLayer(config) for _ in range(config.layers))
        self.final = nn.LayerNorm(config.dim) if config.norm == "pre" else nn.Identity()

    def forward(self, vectors: Vectors, lengths: Lengths, attended: Attended | None = None) -> Vectors:
        """See `Encoder.forward`."""
        width = vectors.shape[1]
        seen = inside(lengths, width)[:, None, None, :]
        if self.causal:
            seen = torch.ones(width, width, dtype=torch.bool, device=vectors.device).tril()[None, None]
        for layer in self.layers:
            assert isinstance(layer, SelfAttentionLayer)
            vectors = layer(vectors, layer.context(vectors), seen)
        finished: Tensor = self.final(vectors)
        return finished

    def begin(self, like: Float[Tensor, "batch dim"]) -> State:
        """See `Encoder.begin`: each layer's inputs so far, after its first normalisation."""
        return tuple(like.new_zeros(len(like), 0, like.shape[1]) for _ in self.layers)

    def step(
        self, vector: Float[Tensor, "batch dim"], state: State, attended: Attended | None = None
    ) -> tuple[Float[Tensor, "batch dim"], State]:
        """See `Encoder.step`."""
        vectors, remembered = vector[:, None], []
        for layer, past in zip(self.layers, state, strict=True):
            assert isinstance(layer, SelfAttentionLayer)
            context = torch.cat([past, layer.context(vectors)], dim=1)
            remembered.append(context)
            vectors = layer(vectors, context, None)
        return self.final(vectors)[:, 0], tuple(remembered)


class SelfAttentionLayer(nn.Module):
    """Attention and a feed-forward network, each residual, with layer normalisation before or after."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.heads, self.pre, self.rate = config.heads, config.norm == "pre", config.dropout
        self.norms = nn.ModuleList(nn.LayerNorm(config.dim) for _ in range(2))
        self.query = nn.Linear(config.dim, config.dim)
        self.key_value = nn.Linear(config.dim, 2 * config.dim)
        self.merge = nn.Linear(config.dim, config.dim)
        wide = config.feed_forward * config.dim
        self.wide = nn.Sequential(nn.Linear(config.dim, wide), nn.GELU(), nn.Linear(wide, config.dim))
        self.dropout = nn.Dropout(config.dropout)

    def context(self, vectors: Vectors) -> Vectors:
        """What other symbols see of these."""
        seen: Tensor = self.norms[0](vectors) if self.pre else vectors
        return seen

    def forward(
        self,
        vectors: Vectors,
        context: Float[Tensor, "batch seen dim"],
        mask: Bool[Tensor, "#batch 1 #length seen"] | None,
    ) -> Vectors:
        """Some symbols, looking at a context in which the mask is True."""
        attended = vectors + self.dropout(self.attention(self.context(vectors), context, mask))
        if not self.pre:
            attended = self.norms[0](attended)
            normed: Tensor = self.norms[1](attended + self.dropout(self.wide(attended)))
            return normed
        widened: Tensor = attended + self.dropout(self.wide(self.norms[1](attended)))
        return widened

    def attention(
        self,
        asking: Vectors,
        context: Float[Tensor, "batch seen dim"],
        mask: Bool[Tensor, "#batch 1 #length seen"] | None,
    ) -> Vectors:
        """Multi-head scaled dot-product attention."""
        query, (key, value) = self._split(self.query(asking)), map(self._split, self.key_value(context).chunk(2, -1))
        rate = self.rate if self.training else 0.0
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, dropout_p=rate)
        merged: Tensor = self.merge(mixed.transpose(1, 2).flatten(2))
        return merged

    def _split(self, vectors: Float[Tensor, "batch any dim"]) -> Float[Tensor, "batch heads any part"]:
        batch, length, dim = vectors.shape
        return vectors.view(batch, length, self.heads, dim // self.heads).transpose(1, 2)
