"""Cross-attention: the symbols of one string attend to (look at) those of another, the target's to the source's."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders.base import Attended, Attention, EncoderConfig, Vectors


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
