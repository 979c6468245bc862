"""Registry of encoders by name. A new one is one file and one line here."""

from nsed.encoders.base import ENCODERS, AttendingEncoder, UnigramEncoder
from nsed.encoders.cnn import CnnEncoder
from nsed.encoders.rnn import RnnEncoder
from nsed.encoders.transformer import TransformerEncoder

ENCODERS.register("unigram", UnigramEncoder)
ENCODERS.register("cnn", CnnEncoder)
ENCODERS.register("rnn", RnnEncoder)
ENCODERS.register("transformer", TransformerEncoder)

__all__ = ["ENCODERS", "attending_kinds"]


def attending_kinds() -> list[str]:
    """Names of the encoders with cross-attention, those that can look at another string."""
    return [kind for kind in ENCODERS if issubclass(ENCODERS[kind], AttendingEncoder)]
