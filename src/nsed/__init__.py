"""Neural String Edit Distance: learn how strings turn into other strings, and show the work."""

from nsed.baselines import EditDistanceConfig, LearnableEditDistance
from nsed.errors import NsedError, UnknownSymbolWarning
from nsed.explain import Edit, EditScript, Explanation
from nsed.lattice import EditLattice
from nsed.models import load
from nsed.text import Exceptions, Pairs, read_pairs
from nsed.train import (
    CrossEncoderConfig,
    Matcher,
    MatcherConfig,
    PairClassifier,
    Seq2Seq,
    Seq2SeqConfig,
    StanceConfig,
    Transducer,
    TransducerConfig,
    transduce_with_exceptions,
)

__version__ = "0.1.0"

__all__ = [
    "CrossEncoderConfig",
    "Edit",
    "EditDistanceConfig",
    "EditLattice",
    "EditScript",
    "Exceptions",
    "Explanation",
    "LearnableEditDistance",
    "Matcher",
    "MatcherConfig",
    "NsedError",
    "PairClassifier",
    "Pairs",
    "Seq2Seq",
    "Seq2SeqConfig",
    "StanceConfig",
    "Transducer",
    "TransducerConfig",
    "UnknownSymbolWarning",
    "__version__",
    "load",
    "read_pairs",
    "transduce_with_exceptions",
]
