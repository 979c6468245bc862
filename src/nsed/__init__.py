"""Neural String Edit Distance: learn how strings turn into other strings, and show the work."""

from nsed.baselines.classifier import CrossEncoderConfig, PairClassifier, StanceConfig
from nsed.baselines.seq2seq import Seq2Seq, Seq2SeqConfig
from nsed.errors import NsedError, UnknownSymbolWarning
from nsed.explain.explanation import Explanation
from nsed.lattice import EditLattice
from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance
from nsed.models.matcher import Matcher, MatcherConfig
from nsed.models.persistence import load
from nsed.models.transducer import Transducer, TransducerConfig
from nsed.models.transduction import Overrides, transduce_with_exceptions
from nsed.text import Edit, EditScript, Pairs, read_pairs

__version__ = "0.1.0"

__all__ = [
    "CrossEncoderConfig",
    "Edit",
    "EditDistanceConfig",
    "EditLattice",
    "EditScript",
    "Explanation",
    "LearnableEditDistance",
    "Matcher",
    "MatcherConfig",
    "NsedError",
    "Overrides",
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
