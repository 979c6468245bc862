"""RNN encoder: gated recurrent units (GRU) over the whole string, read from one side or from both."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from nsed.encoders.base import Attended, AttendingEncoder, Attention, CrossAttention, EncoderConfig, State, Vectors
from nsed.kernels.contracts import Kinds
from nsed.kernels.dispatch import GRU
from nsed.types import Lengths


class RnnEncoder(AttendingEncoder):
    """GRU layers with residual connections and layer normalisation. Paper: appendix, following Chen et al. 2018.

    With `attends`, what a layer found in the other string goes into the next layer, and the last layer's into the
    result; theirs comes from the first layer and goes into all others.
    """

    needs_positions = False
    wants_kinds = True

    def __init__(self, config: EncoderConfig, *, causal: bool, attends: bool = False) -> None:
        super().__init__()
        assert causal or not attends
        one_way = AttendingGruLayer if attends else OneWayLayer
        make = one_way if causal else TwoWayLayer
        self.layers = nn.ModuleList(make(config) for _ in range(config.layers))

    def forward(
        self, vectors: Vectors, lengths: Lengths, attended: Attended | None = None, kinds: Kinds | None = None
    ) -> Vectors:
        """See `Encoder.forward`."""
        back = _reversal(lengths, vectors.shape[1])
        for layer in self.layers:
            vectors, kinds = layer(vectors, back, attended, kinds), None
        return vectors

    def attention(self, vectors: Vectors, lengths: Lengths, attended: Attended) -> Attention:
        """See `AttendingEncoder.attention`."""
        back = _reversal(lengths, vectors.shape[1])
        *before, last = self.layers
        for layer in before:
            vectors = layer(vectors, back, attended, None)
        assert isinstance(last, AttendingGruLayer)
        return last.looking.weights(last.reading(vectors, back, None, None), attended)

    def begin(self, like: Float[Tensor, "batch dim"]) -> State:
        """See `Encoder.begin`: each layer's hidden state."""
        return tuple(torch.zeros_like(like) for _ in self.layers)

    def step(
        self,
        vector: Float[Tensor, "batch dim"],
        state: State,
        attended: Attended | None = None,
        kinds: Kinds | None = None,
    ) -> tuple[Float[Tensor, "batch dim"], State]:
        """See `Encoder.step`."""
        remembered = []
        for layer, hidden in zip(self.layers, state, strict=True):
            assert isinstance(layer, OneWayLayer | AttendingGruLayer)
            (vector, after), kinds = layer.step(vector, hidden, attended, kinds), None
            remembered.append(after)
        return vector, tuple(remembered)


class OneWayLayer(nn.Module):
    """Unidirectional GRU layer, from left to right."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.gru = nn.GRU(config.dim, config.dim, batch_first=True)
        self.norm = nn.LayerNorm(config.dim)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, vectors: Vectors, back: Int[Tensor, "batch length"], attended: Attended | None, kinds: Kinds | None
    ) -> Vectors:
        """GRU over whole strings: each symbol with everything to its left."""
        normed: Tensor = self.norm(
            vectors + self.dropout(GRU.choose(vectors, self.gru).code.read_onward(self.gru, vectors, kinds))
        )
        return normed

    def step(
        self,
        vector: Float[Tensor, "batch dim"],
        hidden: Float[Tensor, "batch dim"],
        attended: Attended | None,
        kinds: Kinds | None,
    ) -> tuple[Float[Tensor, "batch dim"], Float[Tensor, "batch dim"]]:
        """GRU step: one more symbol."""
        after = GRU.choose(vector, self.gru).code.read_next(self.gru, vector, hidden, kinds)
        return self.norm(vector + self.dropout(after)), after


class AttendingGruLayer(nn.Module):
    """Unidirectional GRU layer with cross-attention: its symbols then look at another string."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.reading = OneWayLayer(config)
        self.looking = CrossAttention(config)

    def forward(
        self, vectors: Vectors, back: Int[Tensor, "batch length"], attended: Attended | None, kinds: Kinds | None
    ) -> Vectors:
        """GRU, then cross-attention: each symbol with everything to its left, and with the other string."""
        assert attended is not None
        looked: Tensor = self.looking(self.reading(vectors, back, None, kinds), attended)
        return looked

    def step(
        self,
        vector: Float[Tensor, "batch dim"],
        hidden: Float[Tensor, "batch dim"],
        attended: Attended | None,
        kinds: Kinds | None,
    ) -> tuple[Float[Tensor, "batch dim"], Float[Tensor, "batch dim"]]:
        """GRU step with cross-attention: one more symbol."""
        assert attended is not None
        read, after = self.reading.step(vector, hidden, None, kinds)
        return self.looking(read[:, None], attended)[:, 0], after


class TwoWayLayer(nn.Module):
    """Bidirectional GRU layer: one from either end, projected back to the vectors' size."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.onward = nn.GRU(config.dim, config.dim, batch_first=True)
        self.backward_ = nn.GRU(config.dim, config.dim, batch_first=True)
        self.merge = nn.Linear(2 * config.dim, config.dim)
        self.norm = nn.LayerNorm(config.dim)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self, vectors: Vectors, back: Int[Tensor, "batch length"], attended: Attended | None, kinds: Kinds | None
    ) -> Vectors:
        """Bidirectional GRU over whole strings: each symbol with everything around it.

        The string is turned round by its own length, so that the second GRU begins at the last symbol, not at padding.
        """
        units = self.onward, self.backward_
        both = GRU.choose(vectors, self.onward).code.read_both_ways(units, vectors, back, kinds)
        normed: Tensor = self.norm(vectors + self.dropout(self.merge(both)))
        return normed


def _reversal(lengths: Lengths, width: int) -> Int[Tensor, "batch width"]:
    """Reversal index: where each symbol goes when its string is read backwards; padding stays in place."""
    places = torch.arange(width, device=lengths.device)
    turned = lengths[:, None] - 1 - places
    return torch.where(turned >= 0, turned, places)
