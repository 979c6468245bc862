"""Symbols, vocabularies and pairs."""

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsed.errors import ArgumentError
from nsed.text import Pairs, StringConfig, SymbolSplitter, Vocabulary, choose_symbols
from nsed.types import END, PAD, START, UNKNOWN


def test_two_encodings_of_a_letter_are_one_symbol():
    composed, decomposed = "\u00e9", "e\u0301"
    assert SymbolSplitter("graphemes").split(composed) == SymbolSplitter("graphemes").split(decomposed) == (composed,)
    assert SymbolSplitter("graphemes", "NFD").split(composed) == (decomposed,)
    assert SymbolSplitter("graphemes", "none").split(decomposed) == (decomposed,)


def test_tokens_are_what_stands_between_spaces():
    assert SymbolSplitter("tokens").split("  t͡s  ɔ̃ˑ ") == ("t͡s", "ɔ̃ˑ")
    assert SymbolSplitter("letters").split("  t͡s  ɔ̃ˑ ") == ("t͡", "s", "ɔ̃", "ˑ")
    assert SymbolSplitter("letters").split(" a  \u0300b") == ("a", "\u0300", "b")  # tokens stay apart
    assert SymbolSplitter("letters").join(("a", "ː")) == "aː"
    for kind in ("tokens", "graphemes", "letters", "phones", "codepoints"):
        assert SymbolSplitter(kind).split("") == ()


def test_rare_symbols_are_left_out():
    vocabulary = Vocabulary.of("abracadabra", min_count=2)
    assert vocabulary.symbols == ("a", "b", "r")
    assert vocabulary.encode("cab") == [UNKNOWN, 4, 5]
    assert vocabulary.extended("cczz!b", min_count=2).symbols == ("a", "b", "r", "c", "z")


@given(st.lists(st.text(min_size=1, max_size=2)))
def test_vocabulary_encodes_and_decodes(symbols):
    vocabulary = Vocabulary.of(symbols)
    assert [vocabulary.names[number] for number in vocabulary.encode(symbols)] == symbols
    assert all(number > END for number in vocabulary.encode(symbols))
    assert len(vocabulary) == 4 + len(set(symbols))


def test_special_numbers_cannot_be_written_in_text():
    vocabulary = Vocabulary.of(["<pad>", "<unk>"])
    assert vocabulary.encode(["<pad>", "<unk>", "new"]) == [4, 5, UNKNOWN]
    assert [vocabulary.names[number] for number in (PAD, UNKNOWN, START, END)] == ["<pad>", "<unk>", "<s>", "</s>"]


def test_positives_are_the_pairs_with_label_one():
    pairs = Pairs.of([("a", "A"), ("b", "X")], [True, False])
    assert list(pairs.positives()) == [("a", "A")]
    assert Pairs.of(pairs) is pairs


WRONG = {
    "a string": (["ab"], "pairs: got 'ab' at place 0, expected .* A single pair goes into a list"),
    "three": ([("a", "A"), ("b", "B", 1)], "pairs: got .* at place 1, .* Labels go into their own argument"),
    "numbers": ([("a", 1)], r"pairs: got \('a', 1\) at place 0, expected \(source, target\), two strings"),
    "none": ([("a", None)], "two strings"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_pairs_are_pointed_at(case):
    pairs, message = WRONG[case]
    with pytest.raises(ArgumentError, match=message):
        Pairs.of(pairs)


def test_rows_of_arrays_and_labels_of_any_kind_will_do():
    pairs = Pairs.of(np.array([["a", "A"], ["b", "B"]]), (label for label in (np.int64(1), np.bool_(False))))
    assert list(pairs) == [("a", "A"), ("b", "B")]
    assert pairs.labels == [True, False]


def test_wrong_labels_and_columns_are_pointed_at():
    with pytest.raises(ArgumentError, match="labels: got 'x' at place 1, expected one of 1, true, yes"):
        Pairs.of([("a", "A"), ("b", "B")], [1, "x"])
    with pytest.raises(ArgumentError, match="sources: got 'ab', expected a list of strings"):
        Pairs("ab", "cd")
    with pytest.raises(ArgumentError, match="targets: got 3 rows, expected 2"):
        Pairs(["a", "b"], ["c", "d", "e"])


def test_columns_of_different_length_are_refused():
    with pytest.raises(ArgumentError, match="labels: got 1 rows, expected 2, as many as sources"):
        Pairs.of([("a", "A"), ("b", "B")], [True])


def test_symbols_are_numbered_in_sorted_order_whatever_order_they_come_in():
    letters = "zyxwvutsrqponmlkjihgfedcba"
    assert Vocabulary.of(letters).symbols == tuple(reversed(letters))
    assert Vocabulary.of("b").extended(letters).symbols == ("b", "a", *reversed(letters[:-2]))


WRITTEN = {
    "Khmer": "ខ្មែរ",
    "Devanagari": "क्षत्रिय",
    "Hangul": "한국어",
    "combining marks": "e\u0323\u0302 ɛ̃ː",
    "right to left": "שָׁלוֹם",
    "Arabic": "كِتَابٌ",
    "Latin": "naïve",
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_code_points_are_joined_to_the_same_text_again(text, form):
    splitter = SymbolSplitter("codepoints", form)
    symbols = splitter.split(text)
    assert all(len(symbol) == 1 for symbol in symbols)
    assert splitter.join(symbols) == unicodedata.normalize("NFC", text)
    assert splitter.split(splitter.join(symbols)) == symbols


@given(st.text())
def test_any_text_is_the_same_after_code_points(text):
    for form in ("NFC", "NFD"):
        splitter = SymbolSplitter("codepoints", form)
        assert splitter.join(splitter.split(text)) == unicodedata.normalize("NFC", text)


def test_a_khmer_cluster_is_one_grapheme_and_several_code_points():
    assert len(SymbolSplitter("graphemes").split("ខ្មែរ")) == 2
    assert SymbolSplitter("codepoints").split("ខ្មែរ") == ("ខ", "្", "ម", "ែ", "រ")
    assert len(SymbolSplitter("codepoints").split("한국")) == 2
    assert len(SymbolSplitter("codepoints", "NFD").split("한국")) == 6


KHMER = [a + "្" + b + v for a in "កខគចជដតថ" for b in "រលវយ" for v in "ាិីុូេែ"]
POINTED = [a + m + b + n for a in "بتثجح" for b in "خدذرز" for m in "َُِ" for n in "ًٌّ"]
CHOSEN = {
    "Latin with accents": (["été", "naïve", "garçon"], "graphemes", "NFC"),
    "decomposed accents": (["e\u0301te\u0301", "nai\u0308ve"], "graphemes", "NFC"),
    "Cyrillic": (["матрос", "йод"], "graphemes", "NFC"),
    "Chinese": (["汉字", "北京"], "graphemes", "NFC"),
    "phones": (["k ɑ̃ d", "d e f ɛ"], "tokens", "NFC"),
    "Khmer": (KHMER, "codepoints", "NFC"),
    "Devanagari": ([c + v + d for c in "कखगघचछज" for v in "ािीुू" for d in "तथदधन"], "codepoints", "NFC"),
    "Hangul": (["한국어", "서울", "부산"], "codepoints", "NFD"),
    "pointed Arabic": (POINTED, "codepoints", "NFC"),
    "one Korean among many": (["seoul", "paris", "london", "berlin", "서울"], "graphemes", "NFC"),
    "nothing": ([""], "graphemes", "NFC"),
}


@pytest.mark.parametrize("case", CHOSEN)
def test_symbols_of_a_script_are_chosen_from_the_training_pairs(case):
    texts, kind, form = CHOSEN[case]
    config = choose_symbols(StringConfig(), Pairs(texts, ["k a t"] * len(texts)))
    expected = form if form == "NFC" else f"{form}/NFC"
    assert (config.source_symbols, config.target_symbols, config.unicode_form) == (kind, "tokens", expected)
    assert config.symbols_note.startswith(f"sources as {kind}")
    assert config.symbols_note.endswith("targets as tokens (segments with spaces between them)")


def test_of_few_words_each_is_held_out_and_not_none_of_them():
    thai = ["กรุงเทพ", "เชียงใหม่", "ภูเก็ต", "น้ำ", "ที่นี่"]
    config = choose_symbols(StringConfig(), Pairs(thai, ["k a t"] * len(thai)))
    assert config.source_symbols == "codepoints"
    assert "17 characters of 21 code points; 25.0% against 54.8% of held-out symbols known" in config.symbols_note


def test_symbols_that_are_given_are_not_chosen():
    pairs = Pairs(KHMER, KHMER)
    given = StringConfig(source_symbols="graphemes", target_symbols="letters", unicode_form="none")
    assert choose_symbols(given, pairs) is given
    half = choose_symbols(StringConfig(target_symbols="graphemes", unicode_form="NFD"), pairs)
    assert (half.source_symbols, half.target_symbols, half.unicode_form) == ("codepoints", "graphemes", "NFD")
    assert "target" not in half.symbols_note


def test_two_sides_in_one_script_have_the_same_symbols():
    few = Pairs(KHMER, [text[0] for text in KHMER])
    config = choose_symbols(StringConfig(), few)
    assert (config.source_symbols, config.target_symbols) == ("codepoints", "codepoints")


def test_sounds_of_one_script_are_phones_on_both_sides_where_one_side_alone_would_have_them():
    pairs = Pairs(["p a", "a p"], ["a ʊ aʊ p", "p a ʊ p"])
    config = choose_symbols(StringConfig(), pairs, phones=True)
    assert (config.source_symbols, config.target_symbols) == ("phones", "phones")
    assert config.symbols_note.startswith("sources as phones (as the other side, in the same script)")
    apart = choose_symbols(StringConfig(), Pairs(["п а", "а п"], pairs.targets), phones=True)
    assert (apart.source_symbols, apart.target_symbols) == ("tokens", "phones")
    named = Pairs(["tʃ i z h a t a n", "h i t ʃ a n a"], ["ch iy z hh aa t aa n", "hh iy t sh aa n aa"])
    beside = choose_symbols(StringConfig(), named, phones=True)
    assert (beside.source_symbols, beside.target_symbols) == ("phones", "tokens")


def test_two_sides_may_have_two_forms():
    config = StringConfig("codepoints", "codepoints", "NFD/NFC")
    source, target = config.splitters
    assert (len(source.split("한")), len(target.split("한"))) == (3, 1)


KIN = {
    "a mark": ("é", "e", "e"),
    "several marks, the last first": ("ấ", "âa", "â"),
    "several marks, none known": ("ấ", "a", "a"),
    "a stroke, which is no mark of Unicode": ("ł", "l", "l"),
    "a stroke and a mark": ("ǿ", "o", "o"),
    "short vowels": ("مَّ", "م", "م"),
    "a short vowel beside a mark that is known": ("أَ", "أا", "أ"),
    "a hamza": ("إ", "ا", "ا"),
    "a joiner": ("ب\u200c", "ب", "ب"),
    "a vowel sign": ("कि", "क", "क"),
    "a tone of skin": ("👍🏽", "👍", "👍"),
    "aspiration": ("tʰ", "t", "t"),
    "stress and length": ("ˈaː", "a", "a"),
    "without its mark rather than in another case": ("É", "Eé", "E"),
    "in another case with its mark": ("É", "eé", "é"),
    "in another case without its mark": ("É", "e", "e"),
    "a final letter": ("ς", "σ", "σ"),
    "a dotted and a dotless letter": ("İ", "i", "i"),
    "full width": ("Ｅ", "e", "e"),
    "a space that does not break": ("\u00a0", " ", " "),
    "decomposed": ("é", ["e\u0301"], "e\u0301"),
    "composed": ("e\u0301", "é", "é"),
    "two letters in one": ("ﬁ", "fi", None),
    "an accent alone is no space": ("´", " ", None),
    "another letter": ("中", "國", None),
    "a lone surrogate": ("\ud800", "a", None),
    "more marks than letters have": ("e" + "\u0301" * 100, "e", None),
}


@pytest.mark.parametrize("case", KIN)
def test_a_new_symbol_is_read_as_the_nearest_known_one(case):
    symbol, known, expected = KIN[case]
    assert Vocabulary.of(known).kin([symbol]) == ({symbol: expected} if expected else {})


def test_known_symbols_are_read_as_themselves_and_others_as_unknown():
    vocabulary = Vocabulary.of("Eém")
    assert vocabulary.kin("éE") == {}
    assert vocabulary.encode("ÉEé中", kin=True) == [4, 4, 6, UNKNOWN]
    assert vocabulary.encode("ÉEé中") == [UNKNOWN, 4, 6, UNKNOWN]
