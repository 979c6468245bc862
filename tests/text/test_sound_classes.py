"""Sound classes: every sound has one, whatever marks it wears."""

import unicodedata

import pytest

from nsed.text import SymbolSplitter
from nsed.text.symbols import CLASSES, COARSE, OTHER, dolgopolsky, sound_classes


def test_a_letter_is_in_one_class():
    letters = "".join(CLASSES.values())
    assert len(letters) == len(set(letters))


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    ("token", "expected"),
    [("ˈpʰ", "P"), ("ã", "A"), ("ɛ̃ː", "E"), ("t͡ʃ", "C"), ("ts", "C"), ("dʒ", "C"), ("ai", "A I"), ("ʔ", "H"),
     ("kʷ", "K"), ("⁵⁵", "1"), ("˥˩", "1"), ("21", "1"), ("!", OTHER), ("ж", OTHER), ("B", "P"), ("st", "S T")],
)  # fmt: skip
def test_marks_modifiers_and_case_say_nothing(token, expected, form):
    assert " ".join(sound_classes(unicodedata.normalize(form, token))) == expected


def test_dolgopolskys_classes_are_made_of_the_finer_ones():
    for name, letters in CLASSES.items():
        assert {dolgopolsky(letter) for letter in letters} == {(COARSE.get(name, name),)}


def test_strings_are_split_by_their_tokens():
    assert SymbolSplitter("sound-classes").split("ˈt͡s eː n ŋ") == ("C", "E", "N", "N")
    assert SymbolSplitter("dolgopolsky").split("ˈt͡s eː n ⁵⁵") == ("K", "V", "N", "1")
    assert SymbolSplitter("dolgopolsky").split("  ") == ()
