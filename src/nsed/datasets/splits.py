"""Pairs of words in three parts: to learn from, to choose by, to report."""

from typing import NamedTuple

import numpy as np

from nsed.datasets.word_list import Word
from nsed.text import Pairs


class Splits(NamedTuple):
    """Pairs to learn from, to choose by, and to report."""

    training: Pairs
    validation: Pairs
    test: Pairs


def pairs_of(words: list[Word], rows: np.ndarray, labels: np.ndarray | None = None) -> Pairs:
    """The sounds and languages of pairs of words, which are given by their places in the list; perhaps with labels.

    >>> words = [Word("Dutch", "hand", "h ɑ n t", "1"), Word("German", "hand", "h a n t", "1")]
    >>> pairs_of(words, np.array([[0, 1]]), np.array([True]))
    Pairs(sources=['h ɑ n t'], targets=['h a n t'], labels=[True], source_languages=['Dutch'], ...)
    """
    sources, targets = ([words[row] for row in column] for column in rows.T.tolist())
    return Pairs(
        [word.tokens for word in sources],
        [word.tokens for word in targets],
        None if labels is None else labels.tolist(),
        [word.language for word in sources],
        [word.language for word in targets],
    )
