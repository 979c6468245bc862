"""Train: from pairs to models."""

from nsed.train.classifier import PairClassifier
from nsed.train.classifier_config import CrossEncoderConfig, StanceConfig
from nsed.train.matcher import Matcher
from nsed.train.matcher_config import MatcherConfig
from nsed.train.transducer import Transducer, Transduction
from nsed.train.transducer_config import TransducerConfig

__all__ = [
    "CrossEncoderConfig",
    "Matcher",
    "MatcherConfig",
    "PairClassifier",
    "StanceConfig",
    "Transducer",
    "TransducerConfig",
    "Transduction",
]
