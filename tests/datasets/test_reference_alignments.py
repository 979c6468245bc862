"""Alignments by eflomal, where it is installed."""

import importlib.util

import pytest

from nsed.datasets import reference_alignments
from nsed.datasets.reference_alignments import statistical_links
from nsed.datasets.rule_language import transduction_pairs
from nsed.errors import NsedError
from nsed.evaluate.symmetrisation import intersection
from nsed.text import Pairs, Symboliser

needs_eflomal = pytest.mark.skipif(importlib.util.find_spec("eflomal") is None, reason="needs the extra align")


@needs_eflomal
def test_most_letters_are_aligned_with_what_they_become():
    pairs = transduction_pairs(500, seed=1)
    both_ways = statistical_links(pairs, source=Symboliser(), target=Symboliser())
    found = [
        source[i].lower() == target[j]
        for (source, target), links in zip(pairs, both_ways.symmetrised(intersection), strict=True)
        for i, j in links
    ]
    assert len(found) > 1000
    assert sum(found) > 0.9 * len(found)


@needs_eflomal
def test_symbols_may_have_spaces_and_capitals_and_strings_may_be_empty():
    pairs = Pairs(["aA b", "", "b aA"] * 40, ["xX y", "x", ""] * 40)
    forward, reverse = statistical_links(pairs, source=Symboliser(), target=Symboliser())
    assert len(forward) == len(reverse) == 120
    assert not any(forward[1::3] + forward[2::3] + reverse[1::3] + reverse[2::3])
    assert max(j for links in forward for _, j in links) == 3  # the space between X and y is a symbol


def test_nothing_to_align(monkeypatch):
    monkeypatch.setattr(reference_alignments, "has_eflomal", lambda: True)
    assert statistical_links(Pairs([], []), source=Symboliser(), target=Symboliser()) == ([], [])


def test_a_missing_eflomal_is_named(monkeypatch):
    monkeypatch.setattr(reference_alignments, "has_eflomal", lambda: False)
    with pytest.raises(NsedError, match=r"`eflomal` is not installed: pip install .*\[align\]"):
        statistical_links(Pairs(["a"], ["b"]), source=Symboliser(), target=Symboliser())
