"""Kinship of symbols: which are the same, or have a letter in common; what a Matcher in odds form says of new ones."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

import numpy as np

from nsed_lite.symbols import MODIFIERS, SPECIALS, UNKNOWN, plainer

KINSHIP = ("other", "kin", "identical")
"""Classes of substitutions, by how the two symbols are akin."""
UNSAID = frozenset({"SHORT", "FINAL", "SMALL", "CAPITAL", "FARSI", "UKRAINIAN"})
"""Words in the names of letters that say nothing of the letter."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
SOUNDS = {"ə": "E", "ɚ": "E", "ɝ": "E", "ʌ": "A", "ɯ": "U", "ɤ": "O", "œ": "O", "ʃ": "S", "ʒ": "Z", "ŋ": "N", "ð": "D"}
"""Letters of the IPA whose names are no help."""
STEEPNESS = 2.0
"""Logarithm of how much less a neighbour counts for each feature that is at the other end of its range."""


class SymbolFeatures:
    """Features of symbols, a table, by which symbols never seen are known."""

    def __init__(self, symbols: Sequence[str], values: np.ndarray) -> None:
        if values.ndim != 2 or len(values) != len(symbols):
            raise ValueError(f"symbol_features: got a tensor of shape {values.shape}, expected a row per symbol")
        self.rows, self.values = {symbol: row for row, symbol in enumerate(symbols)}, values.astype(float)

    def shares(self, known: Sequence[str], more: Sequence[str]) -> np.ndarray:
        """Shares of known symbols in what is expected of more: new ones are their neighbours, or `<unk>`."""
        old, places = SPECIALS + len(known), [place for place, one in enumerate(known) if self._row(one) is not None]
        rows = [row for one in known if (row := self._row(one)) is not None]
        found = np.zeros((SPECIALS + len(more), old))
        np.fill_diagonal(found[:old], 1)
        for number, symbol in enumerate(more[len(known) :], old):
            row = self._row(symbol)
            if row is None or not rows:
                found[number, UNKNOWN] = 1
                continue
            distances = np.abs(self.values[rows] - self.values[row]).sum(1)
            near = np.exp(-STEEPNESS * (distances - distances.min())) if distances.min() else distances == 0
            found[number, SPECIALS + np.array(places)] = near / near.sum()
        return found

    def _row(self, symbol: str) -> int | None:
        """Row of a symbol, or else of what is left of it without its stress and its last marks."""
        spelled = unicodedata.normalize("NFD", symbol)
        return next((self.rows[one] for one in plainer(spelled, MODIFIERS | {"Mn"}) if one in self.rows), None)


def kinship_of(source: Sequence[str], target: Sequence[str]) -> np.ndarray:
    """Classes of substitutions of two vocabularies, special symbols first."""
    tables = []
    for side in (source, target):
        table = np.zeros((SPECIALS + len(side), len(LETTERS)))
        for number, symbol in enumerate(side, SPECIALS):
            table[number, [LETTERS.index(letter) for letter in letters_of(symbol)]] = 1
        tables.append(table)
    found = (tables[0] @ tables[1].T > 0).astype(float)
    numbers = {symbol: number for number, symbol in enumerate(target, SPECIALS)}
    for number, symbol in enumerate(source, SPECIALS):
        if symbol in numbers:
            found[number, numbers[symbol]] = KINSHIP.index("identical")
    return found


def letter_features(source: Sequence[str], target: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Features of symbols: which code points (NFD) they consist of, each row of length one."""
    spelled = [[unicodedata.normalize("NFD", symbol) for symbol in side] for side in (source, target)]
    known = sorted(set(chain.from_iterable(chain.from_iterable(spelled))))
    points = {point: number for number, point in enumerate(known)}
    found = []
    for side in spelled:
        features = np.zeros((SPECIALS + len(side), len(points)))
        for number, symbol in enumerate(side, SPECIALS):
            features[number, [points[point] for point in symbol]] = 1
        lengths = np.sqrt((features**2).sum(1, keepdims=True))
        found.append(features / np.maximum(lengths, 1e-12))
    return found[0], found[1]


@lru_cache(maxsize=2**16)
def letters_of(symbol: str) -> frozenset[str]:
    """Latin letters that the names of a symbol's characters begin with: those of b, B, be and beta are all B.

    >>> [*letters_of("b")], [*letters_of("б")], [*letters_of("é")], [*letters_of("م")]
    (['B'], ['B'], ['E'], ['M'])
    """
    return frozenset(filter(None, map(_letter_of, unicodedata.normalize("NFD", symbol))))


def _letter_of(character: str) -> str:
    name = unicodedata.name(character, "").partition(" LETTER ")[2].split(" WITH ")[0]
    return SOUNDS.get(character) or _letter(name.split())


def _letter(words: list[str]) -> str:
    """Letter that a letter's name stands for: that of OPEN O is O, of EM (Cyrillic) M, of BEH (Arabic) B."""
    single = [word for word in words if len(word) == 1]
    words = single or [word for word in words if word not in UNSAID]
    if not words:
        return ""
    letter = words[0][-1] if len(words[0]) == 2 and words[0][0] in "EI" else words[0][0]
    return letter if letter in LETTERS else ""
