"""Pairs to measure with: the paper's, where their folder is known, else random ones with the same lengths."""

from functools import cache
from itertools import starmap
from typing import NamedTuple

import numpy as np

from benchmarks.setting import Setting
from nsed.datasets.protocols import same_source_cognates
from nsed.datasets.word_list import read_word_list
from nsed.text import EncodedStrings, Pairs, read_pairs

LETTERS, PHONES, SOUNDS = "abcdefghijklmnopqrstuvwxyz'", 39, 817
WORD_LENGTHS = dict(enumerate((15, 53, 118, 178, 188, 155, 117, 79, 46, 26, 14, 6, 5), start=3))
PHONES_MORE_THAN_LETTERS = {-4: 14, -3: 69, -2: 247, -1: 394, 0: 259, 1: 17}
"""How many in a thousand training words of CMUDict have so many letters, and so many phones more than letters."""
COGNATE_LENGTHS = dict(enumerate((11, 69, 200, 249, 236, 135, 62, 22, 9, 7), start=1))
"""The same for the sounds of the Indo-European words."""
POSITIVES = 1 / 11


class Data(NamedTuple):
    """Pairs, and where they come from."""

    pairs: Pairs
    origin: str


@cache
def words(setting: Setting, part: str = "train") -> Data:
    """English words and their phones: those to train on, or those to test with."""
    if setting.data is not None and not setting.quick:
        return Data(read_pairs(setting.data / "g2p-cmudict" / f"{part}.dict"), f"CMUDict, {part} words")
    return Data(_random_words(2000 if setting.quick else 100_000), "random, lengths as in CMUDict")


@cache
def cognates(setting: Setting) -> Data:
    """Labelled pairs of words of Indo-European languages, as tokens; some of the one and a half million."""
    count = 2000 if setting.quick else 100_000
    if setting.data is None or setting.quick:
        return Data(_random_cognates(count), "random, lengths as in the Indo-European list")
    pairs = same_source_cognates(read_word_list(setting.data / "cognates" / "indo-european.tsv")).training
    return Data(pairs.chosen(range(count)), "Indo-European cognates, training pairs")


def random_strings(count: int, length: int, symbols: int, *, seed: int = 0) -> EncodedStrings:
    """All of the same length, as numbers below `symbols`."""
    return EncodedStrings(np.random.default_rng(seed).integers(4, symbols, (count, length)).tolist())


def _random_words(count: int) -> Pairs:
    random = np.random.default_rng(0)
    lengths = _drawn(WORD_LENGTHS, count, random)
    more = _drawn(PHONES_MORE_THAN_LETTERS, count, random)
    letters = random.integers(len(LETTERS), size=(count, max(WORD_LENGTHS)))
    phones = random.integers(PHONES, size=(count, max(WORD_LENGTHS) + 1))
    sources = ["".join(LETTERS[letter] for letter in row[:n]) for row, n in zip(letters, lengths, strict=True)]
    return Pairs(sources, list(starmap(_tokens, zip(phones, np.maximum(lengths + more, 1), strict=True))))


def _random_cognates(count: int) -> Pairs:
    random = np.random.default_rng(1)
    sounds = random.integers(SOUNDS, size=(2 * count, max(COGNATE_LENGTHS)))
    lengths = _drawn(COGNATE_LENGTHS, 2 * count, random)
    texts = list(starmap(_tokens, zip(sounds, lengths, strict=True)))
    return Pairs(texts[:count], texts[count:], (random.random(count) < POSITIVES).tolist())


def _tokens(numbers: np.ndarray, length: int) -> str:
    return " ".join(f"s{number}" for number in numbers[:length])


def _drawn(weights: dict[int, int], count: int, random: np.random.Generator) -> np.ndarray:
    shares = np.array(list(weights.values())) / sum(weights.values())
    return random.choice(list(weights), size=count, p=shares)
