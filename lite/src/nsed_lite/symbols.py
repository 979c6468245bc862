"""Symbols: how the strings of either side are cut into symbols, and symbols become numbers."""

import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

from nsed_lite.graphemes import split_graphemes
from nsed_lite.sound_classes import dolgopolsky, sound_classes

PAD, UNKNOWN, START, END = range(4)
"""Numbers of the symbols that every vocabulary begins with: padding, `<unk>`, `<s>` and `</s>`."""
SPECIALS = 4
STRESS = frozenset("\u02c8\u02cc")
"""Stress marks, which stand before the letter that they are of; other modifier letters stand after it."""
MODIFIERS = ("Lm", "Sk")
"""Unicode categories of modifier letters and tone letters."""
TIES = ("\u0361", "\u035c")
"""Tie bars, which make one phone of two letters."""


class UnknownSymbolWarning(UserWarning):
    """Symbols that the model never saw in training; a network reads `<unk>` for each of them."""


class Tokenizer(NamedTuple):
    """Tokenizer of one side: what its symbols are, its Unicode form and case, and its vocabulary.

    >>> Tokenizer.of("graphemes", "NFC", "lower", "abn").encode(["Ban", "can"])
    [[5, 4, 6], [1, 4, 6]]
    """

    kind: str
    form: str
    case: str
    vocabulary: tuple[str, ...]
    numbers: Mapping[str, int]

    @classmethod
    def of(cls, kind: str, form: str, case: str, vocabulary: Iterable[str]) -> "Tokenizer":
        """Tokenizer whose symbols have the numbers from 4 on."""
        if kind not in SPLIT:
            raise ValueError(f"symbols {kind!r} are not known here, expected one of {', '.join(SPLIT)}")
        known = tuple(vocabulary)
        return cls(kind, form, case, known, {symbol: number for number, symbol in enumerate(known, SPECIALS)})

    def split(self, text: str) -> list[str]:
        """Symbols of a string."""
        if self.form != "none":
            text = unicodedata.normalize("NFD" if self.form == "NFD" else "NFC", text)
        return SPLIT[self.kind](text.lower() if self.case == "lower" else text)

    def join(self, symbols: Iterable[str]) -> str:
        """String of symbols; decomposed code points are composed again, as text is written."""
        text = (" " if self.kind == "tokens" else "").join(symbols)
        return unicodedata.normalize("NFC", text) if (self.kind, self.form) == ("codepoints", "NFD") else text

    def number(self, symbols: Iterable[str]) -> list[int]:
        """Numbers of symbols; that of `<unk>` for those never seen."""
        return list(map(self.numbers.get, symbols, repeat(UNKNOWN)))

    def encode(self, texts: Sequence[str], side: str = "") -> list[list[int]]:
        """Strings as numbers of symbols; of a named side, one warning has all symbols that are new."""
        strings = [self.number(self.split(text)) for text in texts]
        if side and any(UNKNOWN in string for string in strings):
            new = sorted({symbol for text in texts for symbol in self.split(text)}.difference(self.numbers))
            message = f"{len(new)} {side} symbols are unknown to the model: {' '.join(new[:20])}"
            warnings.warn(message, UnknownSymbolWarning, stacklevel=4)
        return strings

    def extended(self, symbols: Iterable[str]) -> "Tokenizer":
        """Tokenizer that knows more symbols, after those that have their numbers already."""
        new = sorted(set(symbols).difference(self.vocabulary))
        return Tokenizer.of(self.kind, self.form, self.case, (*self.vocabulary, *new))


def tokenizers(config: Mapping[str, Any], vocabularies: Mapping[str, Sequence[str]]) -> tuple[Tokenizer, Tokenizer]:
    """Tokenizers of sources and targets, as a model's settings describe them."""
    forms = config.get("unicode_form", "NFC").replace("auto", "NFC").split("/")
    source, target = (
        Tokenizer.of(
            config[f"{side}_symbols"].replace("auto", "graphemes"),
            form,
            config.get(f"{side}_case", "keep"),
            vocabularies[side],
        )
        for side, form in (("source", forms[0]), ("target", forms[-1]))
    )
    return source, target


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


SPLIT: dict[str, Callable[[str], list[str]]] = {
    "graphemes": split_graphemes,
    "codepoints": list,
    "tokens": str.split,
    "letters": lambda text: list(chain.from_iterable(map(split_graphemes, text.split()))),
    "phones": lambda text: list(chain.from_iterable(map(split_phones, text.split()))),
    "sound-classes": lambda text: list(chain.from_iterable(map(sound_classes, text.split()))),
    "dolgopolsky": lambda text: list(chain.from_iterable(map(dolgopolsky, text.split()))),
}
"""Functions that cut a normalised string into symbols, by name."""
