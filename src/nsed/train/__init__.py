"""Train: from pairs to models."""

from nsed.train.transducer import Transducer, Transduction
from nsed.train.transducer_config import TransducerConfig

__all__ = ["Transducer", "TransducerConfig", "Transduction"]
