"""Train: from pairs to models."""

from nsed.models.transduction import Transduction
from nsed.train.classifier import PairClassifier
from nsed.train.classifier_config import CrossEncoderConfig, StanceConfig
from nsed.train.corrected import transduce_with_exceptions
from nsed.train.matcher import Matcher
from nsed.train.matcher_config import MatcherConfig
from nsed.train.seq2seq import Seq2Seq
from nsed.train.seq2seq_config import Seq2SeqConfig
from nsed.train.transducer import Transducer
from nsed.train.transducer_config import TransducerConfig

__all__ = [
    "CrossEncoderConfig",
    "Matcher",
    "MatcherConfig",
    "PairClassifier",
    "Seq2Seq",
    "Seq2SeqConfig",
    "StanceConfig",
    "Transducer",
    "TransducerConfig",
    "Transduction",
    "transduce_with_exceptions",
]
