"""Many strings encoded at once: as one by one, whatever is in them."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsed.errors import UnknownSymbolWarning
from nsed.text import EncodedStrings, SymbolSplitter, Tokenizer, Vocabulary
from nsed.text.symbols import SymbolKind
from nsed.text.texts import Texts
from nsed.text.tokenizer import encode_many, encode_one_by_one, new_symbols
from nsed.types import UNKNOWN

KINDS = get_args(SymbolKind)
FORMS = ("NFC", "NFD", "none")
CHARACTERS = "ˈʰː\u0361ab\u0301\u0327éÉ ΣσΑİ\u0130ß \t\u2028\u00a0कि्षते👩\u200d🚀🇨🇿한ᄒ\u11ab\r\n\ud800٣"
TEXTS = [
    "",
    "étude",
    "e\u0301tude",
    "ΟΔΟΣ",
    "ΟΔΟΣ ΑΣ",
    "\u0301a",
    "",
    "क्षि",
    "👩\u200d🚀🇨🇿",
    "한국",
    "a\tb  c ",
    "ˈt͡sʰaːɪ ˌn",
    " ",
    "x",
]


def splitters():
    return [SymbolSplitter(kind, form, case) for kind in KINDS for form in FORMS for case in ("keep", "lower")]


def numbers_for(splitter, texts):
    """Numbers of every second symbol, so that others are new."""
    found = sorted({symbol for text in texts for symbol in splitter.split(text)})
    return Vocabulary(tuple(found[::2])).numbers


def same(one, other):
    return np.array_equal(one.flat, other.flat) and np.array_equal(one.starts, other.starts)


def check(texts, splitter):
    numbers = numbers_for(splitter, texts)
    assert same(encode_many(texts, splitter, numbers), encode_one_by_one(texts, splitter, numbers))
    symbols = {symbol for text in texts for symbol in splitter.split(text)}
    assert new_symbols(texts, splitter, numbers) == sorted(symbols - numbers.keys())


@pytest.mark.parametrize("splitter", splitters(), ids=str)
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[::-1], ["plain", "strings"], ["a\0b", "c"], [""], ["", ""]], ids=str)
def test_strings_are_encoded_as_one_by_one(texts, splitter):
    check(texts, splitter)


@settings(max_examples=150, deadline=None)
@given(
    texts=st.lists(st.text(st.sampled_from(CHARACTERS), max_size=6), min_size=1, max_size=6),
    splitter=st.sampled_from(splitters()),
)
def test_any_strings_are_encoded_as_one_by_one(texts, splitter):
    check(texts, splitter)


def test_nothing_to_encode():
    assert len(encode_many([], SymbolSplitter(), {})) == 0
    assert new_symbols([], SymbolSplitter(), {}) == []


def test_strings_chosen_followed_and_replaced():
    strings = EncodedStrings([[4, 5], [], [6], [7, 8, 9]])
    chosen = strings.chosen(np.array([3, 0, 1, 3]))
    assert [chosen[row] for row in range(4)] == [[7, 8, 9], [4, 5], [], [7, 8, 9]]
    assert chosen.longest == 3
    replaced = strings.replaced(np.array([1, 3]), EncodedStrings([[1, 1, 1, 1], []]))
    assert [replaced[row] for row in range(4)] == [[4, 5], [1, 1, 1, 1], [6], []]
    assert len(strings.chosen(np.zeros(0, dtype=np.int64))) == 0


@pytest.mark.parametrize("splitter", splitters(), ids=str)
def test_strings_are_encoded_as_one_by_one_with_kin_too(splitter):
    texts = [*TEXTS, "ÉTUDE", "ｅ", "étùdé ab"]
    vocabulary = Vocabulary(tuple(numbers_for(splitter, TEXTS)))
    kin = vocabulary.kin(new_symbols(texts, splitter, vocabulary.numbers))
    numbers = vocabulary.numbers_with(kin)
    assert not kin.keys() & vocabulary.numbers.keys()
    assert same(encode_many(texts, splitter, numbers), encode_one_by_one(texts, splitter, numbers))
    read = [vocabulary.encode(splitter.split(text), kin=True) for text in texts]
    assert same(EncodedStrings(read), encode_one_by_one(texts, splitter, numbers))


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
@pytest.mark.parametrize("texts_of", [list, Texts.of])
def test_what_is_read_of_a_string_does_not_depend_on_its_company(texts_of, monkeypatch):
    tokenizer = Tokenizer("source", SymbolSplitter(), Vocabulary.of("abcé"))
    texts = ["abc", "áb", "", "ÉC中", "áb", "ca\u0323"] * 3
    alone = EncodedStrings(tokenizer.encode([text], kin=True)[0] for text in texts)
    assert alone.flat[:8].tolist() == [4, 5, 6, 4, 5, 7, 6, UNKNOWN]
    assert same(tokenizer.encode(texts_of(texts), kin=True), alone)
    monkeypatch.setattr("nsed.text.tokenizer.MANY", 1)
    assert same(tokenizer.encode(texts_of(texts), kin=True), alone)
    assert tokenizer.encode(texts_of(texts))[1] == [UNKNOWN, 5]


def test_strings_without_new_symbols_are_never_asked_for_kin(monkeypatch):
    monkeypatch.setattr(Vocabulary, "kin", lambda *_: pytest.fail("asked"))
    tokenizer = Tokenizer("source", SymbolSplitter(), Vocabulary.of("abc"))
    for texts in (["ab", "", "c"], ["ab", "c"] * 600):
        assert same(tokenizer.encode(texts, kin=True), tokenizer.encode(texts))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("á", "1 source symbol is unknown to the model, which reads á as a"),
        ("áÉ", "2 source symbols are unknown to the model, which reads É as é, á as a"),
        ("中", "1 source symbol is unknown to the model, which reads <unk>: 中"),
        ("á中x", "3 source symbols are unknown to the model, which reads á as a, and reads <unk>: x 中"),
    ],
)
def test_a_warning_says_what_is_read_as_what(text, said):
    tokenizer = Tokenizer("source", SymbolSplitter(), Vocabulary.of("aé"))
    with pytest.warns(UnknownSymbolWarning) as given:
        tokenizer.encode([text, "a"], kin=True)
    assert [str(one.message) for one in given] == [said]


def test_unknown_rows_are_those_of_strings_with_unknown_symbols():
    strings = EncodedStrings([[], [4, 1], [], [], [5], [1, 1], []])
    assert strings.unknown_rows.tolist() == [1, 5]
    assert EncodedStrings([[4], []]).unknown_rows.tolist() == []
