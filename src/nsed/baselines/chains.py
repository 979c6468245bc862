"""Words that chains of pairs connect: what can be had by remembering classes of words."""

from collections.abc import Iterator, Sequence
from itertools import repeat

import numpy as np

from nsed.text import Pairs

Word = tuple[str, str]
"""A language and a string."""


class Chains:
    """The words of some pairs, sorted into those that are connected.

    A word is a string of a language where there are languages, else a string; each is connected with itself.

    >>> Chains(Pairs(["hand", "Hand"], ["Hand", "hånd"])).connect(Pairs(["hånd", "foot"], ["hand", "hand"]))
    array([ True, False])
    """

    def __init__(self, pairs: Pairs) -> None:
        above: dict[Word, Word] = {}
        for one, other in _words(pairs):
            above[_top(one, above)] = _top(other, above)
        self._tops = {word: _top(word, above) for word in above}

    def connect(self, pairs: Pairs) -> np.ndarray:
        """Whether the two words of each pair are connected."""
        tops = self._tops
        return np.array([tops.get(one, one) == tops.get(other, other) for one, other in _words(pairs)], dtype=bool)


def _words(pairs: Pairs) -> Iterator[tuple[Word, Word]]:
    sources = _column(pairs.source_languages, pairs.sources)
    return zip(sources, _column(pairs.target_languages, pairs.targets), strict=True)


def _column(languages: Sequence[str] | None, texts: Sequence[str]) -> Iterator[Word]:
    return zip(repeat("") if languages is None else languages, texts, strict=False)


def _top(word: Word, above: dict[Word, Word]) -> Word:
    """The word that stands for all those connected with this one; the way there is halved for the next time."""
    while (higher := above.setdefault(word, word)) != word:
        above[word] = word = above[higher]
    return word
