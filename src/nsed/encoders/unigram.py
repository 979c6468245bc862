"""Unigram encoder: no context, a symbol and its position only, as readable as a table of operations."""

from jaxtyping import Float
from torch import Tensor

from nsed.encoders.base import Attended, Encoder, EncoderConfig, State, Vectors
from nsed.types import Lengths


class UnigramEncoder(Encoder):
    """Context-free encoder, the identity: every symbol stays as it is. Paper: section 4, the context-free encoder."""

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
