"""All encoders by name. A new one is one file and one line here."""

from collections.abc import Callable

from nsed.encoders.base import Encoder
from nsed.encoders.cnn import CnnEncoder
from nsed.encoders.rnn import RnnEncoder
from nsed.encoders.transformer import TransformerEncoder
from nsed.encoders.unigram import UnigramEncoder
from nsed.registry import Registry

ENCODERS: Registry[Callable[..., Encoder]] = Registry("encoder.kind")
ENCODERS.register("unigram", UnigramEncoder)
ENCODERS.register("cnn", CnnEncoder)
ENCODERS.register("rnn", RnnEncoder)
ENCODERS.register("transformer", TransformerEncoder)
