"""Settings of models with an alphabet: which symbols have a number of their own."""

from dataclasses import dataclass

from nsed.config import bounded
from nsed.text.string_config import StringConfig


@dataclass(frozen=True)
class AlphabetConfig(StringConfig):
    """How an alphabet is learned. Abstract: the models' settings add to it."""

    min_count: int = bounded(1, low=1)
    """Symbols that are rarer than this in the training pairs are read as <unk>. Above 1 the model is smaller, and it
    learns what a symbol that it has never seen may stand for."""
