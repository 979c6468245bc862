"""Neural String Edit Distance: learn how strings turn into other strings, and show the work."""

from nsed.baselines.classifier import PairClassifier
from nsed.baselines.classifier_config import CrossEncoderConfig, StanceConfig
from nsed.baselines.seq2seq import Seq2Seq
from nsed.baselines.seq2seq_config import Seq2SeqConfig
from nsed.errors import NsedError, UnknownSymbolWarning
from nsed.explain.explanation import Explanation
from nsed.lattice import EditLattice
from nsed.models.corrected import transduce_with_exceptions
from nsed.models.edit_distance import EditDistanceConfig, LearnableEditDistance
from nsed.models.matcher import Matcher
from nsed.models.matcher_config import MatcherConfig
from nsed.models.persistence import load
from nsed.models.transducer import Transducer
from nsed.models.transducer_config import TransducerConfig
from nsed.text import Edit, EditScript, Exceptions, Pairs, read_pairs

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
