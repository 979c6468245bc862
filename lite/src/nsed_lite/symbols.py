"""Symbols: how the strings of either side are cut into symbols, and symbols become numbers."""

import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

from nsed_lite.graphemes import split_graphemes
from nsed_lite.sound_classes import dolgopolsky, sound_classes

PAD, UNKNOWN, START, END = range(4)
"""Numbers of the symbols that every vocabulary begins with: padding, `<unk>`, `<s>` and `</s>`."""
SPECIALS = 4
STRESS = frozenset("\u02c8\u02cc")
"""Stress marks, which stand before the letter that they are of; other modifier letters stand after it."""
MODIFIERS = frozenset({"Lm", "Sk"})
"""Unicode categories of modifier letters and tone letters."""
MARKS = MODIFIERS | {"Mn", "Mc", "Me", "Cf"}
"""Unicode categories of all that may be taken off a letter: marks too, and joiners."""
LONGEST_KIN = 64
"""Code points of a symbol that has kin, at most: a letter may have any number of marks."""
TIES = ("\u0361", "\u035c")
"""Tie bars, which make one phone of two letters."""


class UnknownSymbolWarning(UserWarning):
    """Symbols that the model never saw in training; what writes targets reads known kin for them, or `<unk>`."""


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

    def number(self, symbols: Sequence[str], *, kin: bool = False) -> list[int]:
        """Numbers of symbols; for those never seen that of `<unk>`, or with `kin` that of known kin, if any."""
        known = self.kin(symbols) if kin else {}
        read = [known.get(symbol, symbol) for symbol in symbols] if known else symbols
        return list(map(self.numbers.get, read, repeat(UNKNOWN)))

    def kin(self, symbols: Iterable[str]) -> dict[str, str]:
        """Nearest known symbol of each new one that has any, see `kin_of`: one symbol for one symbol.

        >>> Tokenizer.of("graphemes", "NFC", "keep", "ae").kin(["a", "é", "Ạ", "ł"])
        {'é': 'e', 'Ạ': 'a'}
        """
        new = dict.fromkeys(symbol for symbol in symbols if symbol not in self.numbers)
        near = {symbol: next(filter(self.numbers.__contains__, kin_of(symbol)), None) for symbol in new}
        return {symbol: known for symbol, known in near.items() if known is not None}

    def encode(self, texts: Sequence[str], side: str = "", *, kin: bool = False) -> list[list[int]]:
        """Strings as numbers of symbols; of a named side, one warning has all symbols that are new.

        With `kin` these are read as the nearest known ones, those that have any.
        """
        strings = [self.number(self.split(text)) for text in texts]
        strange = {row: self.split(texts[row]) for row, string in enumerate(strings) if UNKNOWN in string}
        new = sorted(set(chain.from_iterable(strange.values())).difference(self.numbers))
        known = self.kin(new) if kin else {}
        for row, symbols in strange.items() if known else ():
            strings[row] = self.number(symbols, kin=True)
        if side and new:
            warnings.warn(_unknown(side, new, known), UnknownSymbolWarning, stacklevel=4)
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


def _unknown(side: str, new: Sequence[str], kin: Mapping[str, str]) -> str:
    """Message: which symbols are unknown, and what those that have kin are read as."""
    read = [f"which reads {', '.join(f'{one} as {known}' for one, known in [*kin.items()][:20])}"] if kin else []
    others = [symbol for symbol in new if symbol not in kin]
    count = f"1 {side} symbol is" if len(new) == 1 else f"{len(new)} {side} symbols are"
    message = ", ".join([f"{count} unknown to the model", *read])
    return message + (f"{', and <unk> for' * bool(kin)}: {' '.join(others[:20])}" if others else "")


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


def kin_of(symbol: str) -> Iterator[str]:
    """Spellings of a symbol that say nearly the same, nearest first: without marks, in another case, compatible ones.

    They are in NFC and in NFD. What stands for two letters, a ligature say, is spelled with both of them; a symbol of
    very many code points has no such spellings.

    >>> [*dict.fromkeys(one for one in kin_of("É") if len(one) == 1)]
    ['É', 'E', 'é', 'e']
    >>> {*kin_of("ł")} == {*"łŁlL"}, "e" in kin_of("ｅ"), "f" in kin_of("ﬁ")
    (True, True, False)
    """
    cased = (symbol, symbol.upper(), symbol.upper().lower()) if len(symbol) <= LONGEST_KIN else ()
    compatible = (unicodedata.normalize("NFKC", one) for one in cased)
    for spelled in chain.from_iterable(map(_without_marks, chain(cased, compatible))):
        if spelled.isspace() == symbol.isspace():  # an accent alone is compatible with a space that has it
            yield unicodedata.normalize("NFC", spelled)
            yield unicodedata.normalize("NFD", spelled)


def _without_marks(symbol: str) -> Iterator[str]:
    """A symbol, then without its marks, the last one first, as it is composed and decomposed; then without strokes."""
    for form in ("NFC", "NFD"):
        plain = symbol = unicodedata.normalize(form, symbol)
        for plain in plainer(symbol, MARKS):
            yield plain
    yield _without_stroke(plain)


def _without_stroke(symbol: str) -> str:
    """Letter without what Unicode does not take for a mark, but names: l of `LATIN SMALL LETTER L WITH STROKE`."""
    name, found, _ = (unicodedata.name(symbol, "") if len(symbol) == 1 else "").partition(" WITH ")
    if not found or " LETTER " not in name:
        return symbol
    try:
        return unicodedata.lookup(name)
    except KeyError:
        return symbol


def plainer(symbol: str, marks: Collection[str]) -> Iterator[str]:
    """A symbol, then without stress, then without what is of these Unicode categories at its end, the last first."""
    yield symbol
    symbol = symbol.lstrip("".join(STRESS))
    yield symbol
    while len(symbol) > 1 and unicodedata.category(symbol[-1]) in marks:
        symbol = symbol[:-1]
        yield symbol


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
