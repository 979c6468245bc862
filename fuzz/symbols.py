"""Symbols: strings to symbols and back, tokenizers against their readable twins, nsed-lite's against nsed's."""

import unicodedata
from pathlib import Path
from typing import Literal, get_args

import numpy as np

import nsed_lite.symbols as lite
from fuzz.choices import Choices
from fuzz.targets import Execute
from nsed.text import EditScript, SymbolSplitter, Vocabulary
from nsed.text.edit_script import plain_script
from nsed.text.graphemes import split_graphemes
from nsed.text.symbols import Case, SymbolKind, UnicodeForm, decide_symbols
from nsed.text.tokenizer import encode_many, encode_one_by_one, new_symbols
from nsed.text.visible import in_columns, visible

KINDS: tuple[SymbolKind, ...] = get_args(SymbolKind)
FORMS: tuple[UnicodeForm, ...] = get_args(UnicodeForm)
CASES: tuple[Case, ...] = get_args(Case)
Encoding = Literal["utf-8", "utf-16-le", "utf-32-le"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)


def symbols(folder: Path) -> Execute:
    """Strings, one per line, cut into symbols of every kind."""

    def execute(content: bytes) -> None:
        choices = Choices(content)
        splitter = SymbolSplitter(choices.pick(KINDS), choices.pick(FORMS), choices.pick(CASES))
        encoding, vectorised, shown = choices.pick(ENCODINGS), choices.chance(0.02), choices.chance(0.1)
        texts = choices.rest().decode(encoding, "replace" if encoding == "utf-32-le" else "surrogatepass").split("\n")
        for text in texts:
            _check_one(splitter, text)
        if shown:
            _check_shown(splitter.split(texts[0]), splitter.split(texts[-1]))
            decide_symbols(texts, phones=len(texts) % 2 == 0)
        if vectorised:
            _check_encoded(splitter, texts)

    def tolerant(content: bytes) -> None:
        try:
            execute(content)
        except UnicodeDecodeError:  # no text, so no string
            return

    return tolerant


def _check_one(splitter: SymbolSplitter, text: str) -> None:
    """Symbols of a string are those of nsed-lite, none is empty, and together they are the string."""
    found, normal = splitter.split(text), splitter.normal(text)
    assert list(found) == lite.Tokenizer.of(splitter.kind, splitter.form, splitter.case, ()).split(text)
    assert all(found), found
    if splitter.kind in ("graphemes", "codepoints"):
        assert "".join(found) == normal
        assert splitter.form == "none" or splitter.case == "lower" or _same(splitter.join(found), text)
    elif splitter.kind == "tokens":
        assert splitter.join(found).split() == normal.split()
    elif splitter.kind in ("letters", "phones"):
        assert splitter.join(found) == "".join(normal.split())
    for grapheme in split_graphemes(normal):
        assert split_graphemes(grapheme) == [grapheme]


def _same(one: str, other: str) -> bool:
    """Whether two strings are canonically equivalent."""
    return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)


def _check_shown(source: tuple[str, ...], target: tuple[str, ...]) -> None:
    """An edit script comes back from JSON, and can be shown on a terminal."""
    script = plain_script(source, target)
    assert (script.source, script.target) == (source, target)
    assert EditScript.from_json(script.to_json()) == script
    assert not any(unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp") for one in source for char in visible(one))
    in_columns([[visible(one) for one in source]])


def _check_encoded(splitter: SymbolSplitter, texts: list[str]) -> None:
    """Vectorised tokenization gives what the readable one does, for known and unknown symbols."""
    known = sorted({symbol for text in texts for symbol in splitter.split(text)})
    vocabulary = Vocabulary.of(known[::2])
    kin = vocabulary.kin(known)
    assert kin.keys() <= set(known[1::2])
    for numbers in (vocabulary.numbers, vocabulary.numbers_with(kin)):
        many, one_by_one = encode_many(texts, splitter, numbers), encode_one_by_one(texts, splitter, numbers)
        assert np.array_equal(many.flat, one_by_one.flat)
        assert np.array_equal(many.starts, one_by_one.starts)
        assert new_symbols(texts, splitter, numbers) == sorted(set(known) - numbers.keys())
