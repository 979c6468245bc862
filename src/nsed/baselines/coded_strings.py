"""Strings of symbols as strings of characters, with which rapidfuzz is fastest."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Levenshtein

from nsed.text import Coders, Pairs
from nsed.text.texts import Texts

FIRST_CODE = 0xE000  # where no surrogate follows
COMPARED_AT_ONCE = 2**26


class StringCodes:
    """A character for each symbol, the same for both sides.

    >>> codes = StringCodes()
    >>> codes.of(["AE", "T"]) == codes.of(["T", "AE"])[::-1]
    True
    """

    def __init__(self) -> None:
        self._codes: dict[str, str] = {}

    def of(self, symbols: Iterable[str]) -> str:
        """The symbols as a string of as many characters."""
        codes = self._codes
        return "".join([codes.setdefault(symbol, chr(FIRST_CODE + len(codes))) for symbol in symbols])


def coded_columns(pairs: Pairs, coders: Coders) -> tuple[list[str], list[str]]:
    """Sources and targets, a character per symbol; every different string is cut once."""
    codes = StringCodes()
    sources = Texts.of(pairs.sources).mapped(lambda text: codes.of(coders.source.split(text)))
    return list(sources), list(Texts.of(pairs.targets).mapped(lambda text: codes.of(coders.target.split(text))))


def nearest(strings: Sequence[str], choices: Sequence[str]) -> Iterator[int]:
    """For each string, which of the choices has the fewest edits per symbol of the longer one; the first of several."""
    step = max(COMPARED_AT_ONCE // max(len(choices), 1), 1)
    for start in range(0, len(strings), step):
        some = strings[start : start + step]
        table = process.cdist(some, choices, scorer=Levenshtein.normalized_similarity, dtype=np.float32, workers=-1)
        yield from table.argmax(axis=1).tolist()
