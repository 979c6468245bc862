"""Grapheme clusters against an independent implementation, `\\X` of the `regex` package.

It lacks one rule of the annex, GB9c on Indic conjuncts; that one is tested on the annex's own kind of examples.
"""

import time
from importlib.util import module_from_spec, spec_from_file_location

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nsed.text import graphemes
from nsed.text.grapheme_data import RANGES
from nsed.text.graphemes import split_graphemes


def listed_characters():
    """Two characters from every range of every property: the ones that make clusters."""
    for name, ranges in RANGES.items():
        for item in ranges.split() if not name.startswith("CONJUNCT") else []:
            first, _, last = item.partition("-")
            yield chr(int(first, 16))
            yield chr(int(last or first, 16))


TRICKY = sorted({*listed_characters(), *"aZ é\t가각힣", *"کشミไ"})


@pytest.mark.slow
@settings(max_examples=3000, deadline=None)
@given(st.text(st.sampled_from(TRICKY), max_size=8))
@example("\r\n\n\r")
@example("👩‍👩‍👧‍👦🏳️‍🌈🇨🇿🇩🇪🇦")
@example("각ᄀ각")
@example("t͡sɔ̃ɪ̯ˈʃʷ")
def test_clusters_equal_those_of_the_regex_package(text):
    assert split_graphemes(text) == regex.findall(r"\X", text)


@pytest.mark.parametrize(
    "clusters",
    [
        ["न", "म", "स्ते", " ", "क्ष", "त्रि", "य"],
        ["क्\u200dत"],
        ["क\u094d", "a"],
        ["क", "त"],
        ["\u094d", "क"],
        ["ক্ষ", "র"],
    ],
)
def test_consonants_tied_by_a_virama_are_one_cluster(clusters):
    assert split_graphemes("".join(clusters)) == clusters


@settings(max_examples=500, deadline=None)
@given(st.text())
def test_joined_clusters_are_the_text(text):
    assert "".join(split_graphemes(text)) == text


@pytest.mark.slow
def test_every_pair_of_characters_of_the_fast_path_breaks():
    plain = [chr(c) for c in range(0x700) if split_graphemes(chr(c) * 2) == [chr(c)] * 2]
    for left in plain[::7]:
        text = "".join(left + right for right in plain)
        assert split_graphemes(text) == regex.findall(r"\X", text)


def test_no_text_has_no_clusters():
    assert split_graphemes("") == []


def test_a_flag_is_two_letters_and_the_next_one_begins_another():
    assert split_graphemes("🇨🇿🇦🇹🇩") == ["🇨🇿", "🇦🇹", "🇩"]


@pytest.mark.parametrize("chain", ["👩\u200d" * 100_000, "👩" + "\u0301" * 200_000 + "\u200d👩", "क\u094d" * 100_000])
def test_long_chains_of_joiners_take_linear_time(chain):
    plain = spec_from_file_location("plain", graphemes.__file__)  # without the checks of types, which take most time
    module = module_from_spec(plain)
    plain.loader.exec_module(module)
    before = time.process_time()
    assert module.split_graphemes(chain) == [chain]
    assert time.process_time() - before < 2  # a quarter of a second; with a copy of the cluster for each joiner, 11
