"""All encoders by name. A new one is one file and one line here."""

from nsed.encoders.base import ENCODERS
from nsed.encoders.cnn import CnnEncoder
from nsed.encoders.rnn import RnnEncoder
from nsed.encoders.transformer import TransformerEncoder
from nsed.encoders.unigram import UnigramEncoder

ENCODERS.register("unigram", UnigramEncoder)
ENCODERS.register("cnn", CnnEncoder)
ENCODERS.register("rnn", RnnEncoder)
ENCODERS.register("transformer", TransformerEncoder)

__all__ = ["ENCODERS"]
