"""CNN encoder: convolutions with gated linear units over neighbouring symbols."""

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from nsed.encoders.base import Attended, Encoder, EncoderConfig, State, Vectors, inside
from nsed.types import Lengths


class CnnEncoder(Encoder):
    """CNN encoder: gated convolutions, residual and normalised. Paper: appendix, following Gehring et al. 2017."""

    needs_positions = True

    def __init__(self, config: EncoderConfig, *, causal: bool) -> None:
        super().__init__()
        self.layers = nn.ModuleList(GatedConvolution(config, causal=causal) for _ in range(config.layers))

    def forward(self, vectors: Vectors, lengths: Lengths, attended: Attended | None = None) -> Vectors:
        """See `Encoder.forward`."""
        mask = inside(lengths, vectors.shape[1])[:, :, None].to(vectors.dtype)
        for layer in self.layers:
            vectors = layer(vectors * mask)
        return vectors

    def begin(self, like: Float[Tensor, "batch dim"]) -> State:
        """See `Encoder.begin`: for each layer, its last inputs."""
        return tuple(like.new_zeros(len(like), layer.kernel - 1, like.shape[1]) for layer in self._layers())

    def step(
        self, vector: Float[Tensor, "batch dim"], state: State, attended: Attended | None = None
    ) -> tuple[Float[Tensor, "batch dim"], State]:
        """See `Encoder.step`."""
        remembered = []
        for layer, past in zip(self._layers(), state, strict=True):
            window = torch.cat([past, vector[:, None]], dim=1)
            remembered.append(window[:, 1:])
            vector = layer.gated(window)[:, 0] + vector
            vector = layer.norm(vector)
        return vector, tuple(remembered)

    def _layers(self) -> list["GatedConvolution"]:
        return [layer for layer in self.layers if isinstance(layer, GatedConvolution)]


class GatedConvolution(nn.Module):
    """Gated convolution layer: convolution, gated linear unit, residual connection, layer normalisation."""

    def __init__(self, config: EncoderConfig, *, causal: bool) -> None:
        super().__init__()
        self.kernel = config.kernel
        self.left = config.kernel - 1 if causal else config.kernel // 2
        self.convolution = nn.Conv1d(config.dim, 2 * config.dim, config.kernel)
        self.norm = nn.LayerNorm(config.dim)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, vectors: Vectors) -> Vectors:
        """Convolution over whole strings: each symbol with its neighbours; outside the string stand zeros."""
        bordered = functional.pad(vectors, (0, 0, self.left, self.kernel - 1 - self.left))
        normed: Tensor = self.norm(self.gated(bordered) + vectors)
        return normed

    def gated(self, bordered: Float[Tensor, "batch wider dim"]) -> Vectors:
        """Gated linear unit over windows: one vector per window of `kernel` symbols."""
        convolved = self.convolution(bordered.transpose(1, 2)).transpose(1, 2)
        dropped: Tensor = self.dropout(functional.glu(convolved, dim=-1))
        return dropped
