"""Train: from pairs to models."""

from nsed.train.corrected import transduce_with_exceptions
from nsed.train.matcher import Matcher
from nsed.train.matcher_config import MatcherConfig
from nsed.train.transducer import Transducer, Transduction
from nsed.train.transducer_config import TransducerConfig

__all__ = ["Matcher", "MatcherConfig", "Transducer", "TransducerConfig", "Transduction", "transduce_with_exceptions"]
