"""Train: from pairs to models."""

from nsed.models.answers import Transduction
from nsed.train.matcher import Matcher
from nsed.train.matcher_config import MatcherConfig
from nsed.train.seq2seq import Seq2Seq
from nsed.train.seq2seq_config import Seq2SeqConfig
from nsed.train.transducer import Transducer
from nsed.train.transducer_config import TransducerConfig

__all__ = ["Matcher", "MatcherConfig", "Seq2Seq", "Seq2SeqConfig", "Transducer", "TransducerConfig", "Transduction"]
