"""Alignments by eflomal, where it is installed."""

import importlib.util
import sys
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pytest

from nsed.datasets.rule_language import transduction_pairs
from nsed.errors import NsedError
from nsed.evaluate import alignment
from nsed.evaluate.alignment import intersection, statistical_links
from nsed.text import Pairs, SymbolSplitter

BECOMES = {"a": "x", "A": "X", "b": "y", "c": "Z"}
needs_eflomal = pytest.mark.skipif(importlib.util.find_spec("eflomal") is None, reason="needs the extra align")


@needs_eflomal
def test_most_letters_are_aligned_with_what_they_become():
    pairs = transduction_pairs(500, seed=1)
    both_ways = statistical_links(pairs, source=SymbolSplitter(), target=SymbolSplitter())
    found = [
        source[i].lower() == target[j]
        for (source, target), links in zip(pairs, both_ways.symmetrised(intersection), strict=True)
        for i, j in links
    ]
    assert len(found) > 1000
    assert sum(found) > 0.9 * len(found)


@needs_eflomal
def test_symbols_may_have_spaces_and_capitals_and_strings_may_be_empty():
    full = [(f"{one} {other}", f"{BECOMES[one]} {BECOMES[other]}") for one, other in product(BECOMES, repeat=2)] * 20
    pairs = Pairs.of([pair for some in full for pair in (some, ("", "x"), ("b A", ""))])
    forward, reverse = statistical_links(pairs, source=SymbolSplitter(), target=SymbolSplitter())
    assert len(forward) == len(reverse) == len(pairs)
    assert not any(forward[1::3] + forward[2::3] + reverse[1::3] + reverse[2::3])
    right = [(2, 2) in links for links in forward[::3]]  # the space between the letters is a symbol
    assert sum(right) > 0.8 * len(right)


def test_nothing_to_align(monkeypatch):
    monkeypatch.setattr(alignment, "has_eflomal", lambda: True)
    assert statistical_links(Pairs([], []), source=SymbolSplitter(), target=SymbolSplitter()) == ([], [])


def test_the_aligner_is_called_as_eflomal_has_it(monkeypatch):
    """Also where eflomal is not installed: a stand-in with its names, which aligns the first symbols."""

    class Aligner:
        def align(self, sources, targets, *, links_filename_fwd, links_filename_rev):
            for path in (links_filename_fwd, links_filename_rev):
                Path(path).write_text("0-0\n" * len(sources), encoding="utf-8")

    monkeypatch.setitem(sys.modules, "eflomal", SimpleNamespace(Aligner=Aligner))
    monkeypatch.setattr(alignment, "has_eflomal", lambda: True)
    splitter = SymbolSplitter()
    found = statistical_links(Pairs(["ab", "c"], ["x", "yz"]), source=splitter, target=splitter)
    assert found.forward == found.reverse == [frozenset({(0, 0)})] * 2


def test_a_missing_eflomal_is_named(monkeypatch):
    monkeypatch.setattr(alignment, "has_eflomal", lambda: False)
    with pytest.raises(NsedError, match=r"`eflomal` is not installed: pip install .*\[align\]"):
        statistical_links(Pairs(["a"], ["b"]), source=SymbolSplitter(), target=SymbolSplitter())
