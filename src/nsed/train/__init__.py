"""Train: from pairs to models."""

from nsed.models.transduction import Transduction
from nsed.train.matcher import Matcher
from nsed.train.matcher_config import MatcherConfig
from nsed.train.transducer import Transducer
from nsed.train.transducer_config import TransducerConfig

__all__ = ["Matcher", "MatcherConfig", "Transducer", "TransducerConfig", "Transduction"]
