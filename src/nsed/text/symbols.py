"""Symbol segmentation, from a string to symbols and back: graphemes, code points, tokens, their letters or phones."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from nsed.config import Config, bounded
from nsed.text.graphemes import split_graphemes

SymbolKind = Literal["graphemes", "codepoints", "tokens", "letters", "phones"]
SymbolChoice = Literal["auto", "graphemes", "codepoints", "tokens", "letters", "phones"]
"""Symbol kind in settings; auto: chosen from the training pairs, see `symbol_choice.py`."""
UnicodeForm = Literal["NFC", "NFD", "none"]
FormChoice = Literal["auto", "NFC", "NFD", "none", "NFD/NFC", "NFC/NFD"]
"""Unicode form in settings, of both sides, or of sources / of targets."""
Case = Literal["keep", "lower"]
STRESS = frozenset("\u02c8\u02cc")
"""Marks that stand before the letter that they are of; other modifier letters (length, aspiration) stand after it."""
TIES = ("\u0361", "\u035c")
"""Tie bars, which make one phone of two letters."""
MODIFIERS = frozenset({"Lm", "Sk"})
"""Unicode categories of modifier letters and tone letters."""


@dataclass(frozen=True)
class SymbolSplitter:
    """Symbol splitter: how one side of the pairs is cut into symbols.

    >>> SymbolSplitter("graphemes").split("naïve")
    ('n', 'a', 'ï', 'v', 'e')
    >>> SymbolSplitter("tokens").split("N AY IY V")
    ('N', 'AY', 'IY', 'V')
    >>> SymbolSplitter("letters").split("ˈtʰ eː n")
    ('ˈ', 't', 'ʰ', 'e', 'ː', 'n')
    >>> SymbolSplitter("phones").split("ˈtʰ oa eː n")
    ('ˈtʰ', 'o', 'a', 'eː', 'n')
    >>> SymbolSplitter("codepoints", "NFD").split("né")
    ('n', 'e', '\u0301')
    >>> SymbolSplitter(case="lower").split("DéJÀ")
    ('d', 'é', 'j', 'à')
    """

    kind: SymbolKind = "graphemes"
    """`graphemes`: what a reader calls characters; `codepoints`: of Unicode, so that marks, and in NFD the jamo of
    Hangul, are symbols of their own; `tokens`: whatever stands between spaces, say phones; `letters`: the graphemes of
    tokens, without the spaces, so that a long vowel has its vowel in common with a short one; `phones`: the same, each
    with its modifier letters, so that a long vowel is one symbol and a diphthong is two."""
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
        if self.kind == "codepoints":
            return tuple(text)
        return tuple(chain.from_iterable(map(self.split_token, text.split())))

    def split_token(self, token: str) -> list[str]:
        """The symbols of what stands between two spaces of a normal string; of `tokens`, that is one."""
        if self.kind == "tokens":
            return [token]
        return split_phones(token) if self.kind == "phones" else split_graphemes(token)

    def join(self, symbols: Iterable[str]) -> str:
        """The string of some symbols; of letters and phones, without the spaces that there may have been.

        That of decomposed code points is composed again (NFC), as text is written.
        """
        text = (" " if self.kind == "tokens" else "").join(symbols)
        return unicodedata.normalize("NFC", text) if self.kind == "codepoints" and self.form == "NFD" else text


def split_phones(token: str) -> list[str]:
    """Phones of a token: its graphemes, each with the stress marks before and the modifier letters after it.

    >>> split_phones("ˈt͡sʰaːɪ")
    ['ˈt͡sʰ', 'aː', 'ɪ']
    """
    phones: list[str] = []
    before = ""
    for grapheme in split_graphemes(token):
        modifies = unicodedata.category(grapheme[0]) in MODIFIERS
        if grapheme in STRESS:
            before += grapheme
        elif phones and not before and (modifies or phones[-1].endswith(TIES)):
            phones[-1] += grapheme
        else:
            phones.append(before + grapheme)
            before = ""
    return [*phones, before] if before else phones


@dataclass(frozen=True)
class StringConfig(Config):
    """Tokenization settings: how sources and targets become symbols. Abstract: the models' settings add to it."""

    source_symbols: SymbolChoice = "auto"
    """Source segmentation: graphemes, codepoints, tokens between spaces, letters, the graphemes of tokens, or phones,
    letters with their modifiers; auto: chosen from the training pairs."""
    target_symbols: SymbolChoice = "auto"
    """Target segmentation: graphemes, codepoints, tokens between spaces, letters, the graphemes of tokens, or phones,
    letters with their modifiers; auto: chosen from the training pairs."""
    unicode_form: FormChoice = "auto"
    """Unicode normalisation of all strings: NFC, NFD, none, or NFD/NFC, of sources / of targets; auto: NFC, unless auto
    chooses code points that are better decomposed."""
    source_case: Case = "keep"
    """Source case folding; lower: capitals and small letters of sources are the same."""
    target_case: Case = "keep"
    """Target case folding; lower: capitals and small letters of targets are the same."""
    symbols_note: str = ""
    """Why `auto` chose the symbols that it chose; the training writes this."""

    @property
    def model(self) -> str:
        """The kind of model that these settings are for."""
        raise NotImplementedError  # a field of the settings themselves

    @property
    def splitters(self) -> tuple[SymbolSplitter, SymbolSplitter]:
        """Symbol splitters of sources and targets; `auto`, where nothing was learned, is graphemes in NFC."""
        forms = self.unicode_form.split("/")
        return (
            SymbolSplitter(_kind(self.source_symbols), _form(forms[0]), self.source_case),
            SymbolSplitter(_kind(self.target_symbols), _form(forms[-1]), self.target_case),
        )


def _kind(choice: SymbolChoice) -> SymbolKind:
    return "graphemes" if choice == "auto" else choice


def _form(choice: str) -> UnicodeForm:
    return {"NFD": "NFD", "none": "none"}.get(choice, "NFC")  # type: ignore[return-value]  # one of the three


@dataclass(frozen=True)
class AlphabetConfig(StringConfig):
    """Vocabulary settings: how an alphabet is learned. Abstract: the models' settings add to it."""

    min_count: int = bounded(1, low=1, most=10**9)
    """Symbols that are rarer than this in the training pairs are read as <unk>. Above 1 the model is smaller, and it
    learns what a symbol that it has never seen may stand for."""
