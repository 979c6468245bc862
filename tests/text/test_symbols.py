"""Symbols, vocabularies and pairs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsed.errors import ArgumentError
from nsed.text import Pairs, Symboliser, Vocabulary
from nsed.text.vocabulary import END, PAD, START, UNKNOWN


def test_two_encodings_of_a_letter_are_one_symbol():
    composed, decomposed = "\u00e9", "e\u0301"
    assert Symboliser("graphemes").split(composed) == Symboliser("graphemes").split(decomposed) == (composed,)
    assert Symboliser("graphemes", "NFD").split(composed) == (decomposed,)
    assert Symboliser("graphemes", "none").split(decomposed) == (decomposed,)


def test_tokens_are_what_stands_between_spaces():
    assert Symboliser("tokens").split("  t͡s  ɔ̃ˑ ") == ("t͡s", "ɔ̃ˑ")
    assert Symboliser("tokens").join(("a", "b")) == "a b"
    assert Symboliser("tokens").split("") == Symboliser("graphemes").split("") == ()


@given(st.text())
def test_graphemes_join_to_the_text(text):
    symboliser = Symboliser("graphemes", "none")
    assert symboliser.join(symboliser.split(text)) == text


@given(st.lists(st.text(min_size=1, max_size=2)))
def test_vocabulary_encodes_and_decodes(symbols):
    vocabulary = Vocabulary.of(symbols)
    assert vocabulary.decode(vocabulary.encode(symbols)) == tuple(symbols)
    assert all(number > END for number in vocabulary.encode(symbols))
    assert len(vocabulary) == 4 + len(set(symbols))


def test_special_numbers_cannot_be_written_in_text():
    vocabulary = Vocabulary.of(["<pad>", "<unk>"])
    assert vocabulary.encode(["<pad>", "<unk>", "new"]) == [4, 5, UNKNOWN]
    assert vocabulary.decode([PAD, UNKNOWN, START, END]) == ("<pad>", "<unk>", "<s>", "</s>")


def test_positives_are_the_pairs_with_label_one():
    pairs = Pairs.of([("a", "A"), ("b", "X")], [True, False])
    assert list(pairs.positives()) == [("a", "A")]
    assert Pairs.of(pairs) is pairs


WRONG = {
    "a string": (["ab"], "pairs: got 'ab' at place 0, expected .* A single pair goes into a list"),
    "three": ([("a", "A"), ("b", "B", 1)], "pairs: got .* at place 1, .* Labels go into their own argument"),
    "numbers": ([("a", 1)], r"pairs: got \('a', 1\) at place 0, expected \(source, target\) with two strings"),
    "none": ([("a", None)], "with two strings"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_pairs_are_pointed_at(case):
    pairs, message = WRONG[case]
    with pytest.raises(ArgumentError, match=message):
        Pairs.of(pairs)


def test_columns_of_different_length_are_refused():
    with pytest.raises(ArgumentError, match="labels: got 1 rows, expected 2, as many as sources"):
        Pairs.of([("a", "A"), ("b", "B")], [True])
