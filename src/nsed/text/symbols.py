"""Symbol segmentation, from a string to symbols and back: grapheme clusters, tokens, or the graphemes of tokens."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from nsed.config import Config, bounded
from nsed.text.graphemes import split_graphemes

SymbolKind = Literal["graphemes", "tokens", "letters"]
UnicodeForm = Literal["NFC", "NFD", "none"]
Case = Literal["keep", "lower"]


@dataclass(frozen=True)
class SymbolSplitter:
    """Symbol splitter: how one side of the pairs is cut into symbols.

    >>> SymbolSplitter("graphemes").split("naïve")
    ('n', 'a', 'ï', 'v', 'e')
    >>> SymbolSplitter("tokens").split("N AY IY V")
    ('N', 'AY', 'IY', 'V')
    >>> SymbolSplitter("letters").split("ˈtʰ eː n")
    ('ˈ', 't', 'ʰ', 'e', 'ː', 'n')
    >>> SymbolSplitter(case="lower").split("DéJÀ")
    ('d', 'é', 'j', 'à')
    """

    kind: SymbolKind = "graphemes"
    """`graphemes`: what a reader calls characters; `tokens`: whatever stands between spaces, say phones; `letters`: the
    graphemes of tokens, without the spaces, so that a long vowel has its vowel in common with a short one."""
    form: UnicodeForm = "NFC"
    """Unicode normalisation, done first, so that two encodings of one letter are one symbol; `none` leaves it out."""
    case: Case = "keep"
    """Case folding: `lower` makes capitals small, so that both are one symbol."""

    def normal(self, text: str) -> str:
        """Normalised string, in its Unicode form and case, so that two ways to write it are one."""
        if self.form != "none":
            text = unicodedata.normalize(self.form, text)
        return text.lower() if self.case == "lower" else text

    def split(self, text: str) -> tuple[str, ...]:
        """The symbols of a string."""
        text = self.normal(text)
        if self.kind == "graphemes":
            return tuple(split_graphemes(text))
        tokens = text.split()
        return tuple(tokens if self.kind == "tokens" else chain.from_iterable(map(split_graphemes, tokens)))

    def join(self, symbols: Iterable[str]) -> str:
        """The string of some symbols; of letters, without the spaces that there may have been."""
        return (" " if self.kind == "tokens" else "").join(symbols)


TOKEN_LENGTH, TOKEN_SHARE, SAMPLE = 2.5, 0.9, 1000
"""Graphemes of a token at most, on average, in strings of segments; how many of the strings have a space; how many are
looked at."""


def looks_segmented(texts: Iterable[str]) -> bool:
    """Segment detection: whether strings are tokens between spaces, say phones, rather than words or names.

    So they are where nearly all that have more than one grapheme have a space, and their tokens are short.

    >>> looks_segmented(["h ɑ n t", "v u t", "ɛ j"]), looks_segmented(["N AY IY1 V"]), looks_segmented(["Anna Lee"])
    (True, True, False)
    """
    long = [text.split() for text in islice(texts, SAMPLE) if len(split_graphemes(text)) > 1]
    tokens = list(chain.from_iterable(long))
    spaced = sum(len(text) > 1 for text in long)
    if not spaced or spaced < TOKEN_SHARE * len(long):
        return False
    return sum(len(split_graphemes(token)) for token in tokens) <= TOKEN_LENGTH * len(tokens)


@dataclass(frozen=True)
class StringConfig(Config):
    """Tokenization settings: how sources and targets become symbols. Abstract: the models' settings add to it."""

    source_symbols: SymbolKind = "graphemes"
    """Source segmentation: graphemes, tokens between spaces, or letters, the graphemes of tokens."""
    target_symbols: SymbolKind = "graphemes"
    """Target segmentation: graphemes, tokens between spaces, or letters, the graphemes of tokens."""
    unicode_form: UnicodeForm = "NFC"
    """Unicode normalisation of all strings: NFC, NFD or none."""
    source_case: Case = "keep"
    """Source case folding; lower: capitals and small letters of sources are the same."""
    target_case: Case = "keep"
    """Target case folding; lower: capitals and small letters of targets are the same."""

    @property
    def model(self) -> str:
        """The kind of model that these settings are for."""
        raise NotImplementedError  # a field of the settings themselves


@dataclass(frozen=True)
class AlphabetConfig(StringConfig):
    """Vocabulary settings: how an alphabet is learned. Abstract: the models' settings add to it."""

    min_count: int = bounded(1, low=1, most=10**9)
    """Symbols that are rarer than this in the training pairs are read as <unk>. Above 1 the model is smaller, and it
    learns what a symbol that it has never seen may stand for."""
