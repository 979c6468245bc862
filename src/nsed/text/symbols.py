"""From a string to symbols and back: grapheme clusters, tokens between spaces, or the graphemes of tokens."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from nsed.text.graphemes import split_graphemes

SymbolKind = Literal["graphemes", "tokens", "letters"]
UnicodeForm = Literal["NFC", "NFD", "none"]
Case = Literal["keep", "lower"]


@dataclass(frozen=True)
class Symboliser:
    """How one side of the pairs is cut into symbols.

    >>> Symboliser("graphemes").split("naïve")
    ('n', 'a', 'ï', 'v', 'e')
    >>> Symboliser("tokens").split("N AY IY V")
    ('N', 'AY', 'IY', 'V')
    >>> Symboliser("letters").split("ˈtʰ eː n")
    ('ˈ', 't', 'ʰ', 'e', 'ː', 'n')
    >>> Symboliser(case="lower").split("DéJÀ")
    ('d', 'é', 'j', 'à')
    """

    kind: SymbolKind = "graphemes"
    """`graphemes`: what a reader calls characters; `tokens`: whatever stands between spaces, say phones; `letters`: the
    graphemes of tokens, without the spaces, so that a long vowel has its vowel in common with a short one."""
    form: UnicodeForm = "NFC"
    """Unicode normalisation done first, so that two encodings of one letter are one symbol; `none` leaves it out."""
    case: Case = "keep"
    """`lower` makes capitals small, so that both are one symbol."""

    def normal(self, text: str) -> str:
        """The string in its Unicode form and case, so that two ways to write it are one."""
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
