"""Scores in bulk are those of the lattices."""

import numpy as np
import pytest
import torch
from nsed.networks.string_vectors import Strings

from nsed.encoders import ENCODERS, EncoderConfig
from nsed.encoders.string_encoder import Side
from nsed.networks import bulk_scores as bulk
from nsed.networks.matcher import MatcherNetwork, lattice_of
from nsed.text import EncodedStrings

SYMBOLS, LANGUAGES = 9, 6


def make(kind, positions=True, **options):
    torch.manual_seed(4)
    encoder = EncoderConfig(kind=kind, dim=16, layers=1, heads=2, dropout=0.3, max_length=20, positions=positions)
    network = MatcherNetwork(encoder, source_symbols=SYMBOLS, target_symbols=SYMBOLS, **options)
    return network.eval().requires_grad_(False)


def strings(count, longest, seed):
    random = np.random.default_rng(seed)
    return [random.integers(4, SYMBOLS, random.integers(0, longest + 1)).tolist() for _ in range(count)]


def one_by_one(network, source, target, pairs, languages=None):
    scores = []
    for row, column in zip(*pairs, strict=True):
        sides = []
        for side, (texts, place) in enumerate(((source, row), (target, column))):
            symbols = torch.tensor(texts[place], dtype=torch.long)[None]
            category = None if languages is None else torch.tensor([languages[side][place]])
            sides.append(Side(symbols, torch.tensor([symbols.shape[1]]), category))
        scores.append(float(lattice_of(network(*sides), sides[0].lengths, sides[1].lengths).log_prob))
    return scores


@pytest.mark.parametrize("options", [{}, {"shared": True}, {"categories": LANGUAGES}], ids=str)
@pytest.mark.parametrize("kind", list(ENCODERS))
def test_scores_are_those_of_the_lattices(kind, options):
    network, source, target = make(kind, **options), strings(7, 9, 0), strings(5, 6, 1)
    random = np.random.default_rng(2)
    pairs = random.integers(7, size=150), random.integers(5, size=150)
    languages = [random.integers(4, LANGUAGES, size) for size in (7, 5)] if "categories" in options else (None, None)
    sides = [Strings(EncodedStrings(s), given) for s, given in zip((source, target), languages, strict=True)]
    seen = []
    found = bulk.bulk_scores(network, *sides, pairs, on_batch=seen.append)
    expected = one_by_one(network, source, target, pairs, None if languages[0] is None else languages)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert sum(seen) == 150


@pytest.mark.parametrize("positions", [True, False])
def test_with_and_without_a_table(positions, monkeypatch):
    network, source, target = make("unigram", positions), strings(20, 9, 0), strings(20, 9, 1)
    pairs = np.repeat(np.arange(20), 20), np.tile(np.arange(20), 20)
    sides = [Strings(EncodedStrings(texts)) for texts in (source, target)]
    by_table = bulk.bulk_scores(network, *sides, pairs)
    np.testing.assert_allclose(by_table, one_by_one(network, source, target, pairs), rtol=1e-4, atol=1e-5)
    monkeypatch.setattr(bulk, "LARGEST_TABLE", 0)
    np.testing.assert_allclose(by_table, bulk.bulk_scores(network, *sides, pairs), rtol=1e-5, atol=1e-6)


def test_nothing_to_score():
    nobody = Strings(EncodedStrings([])), Strings(EncodedStrings([]))
    empty = np.zeros(0, dtype=np.int64)
    for kind in ENCODERS:
        assert bulk.bulk_scores(make(kind), *nobody, (empty, empty)).shape == (0,)


def test_networks_without_a_kernel_are_known():
    assert bulk.can_score_in_bulk(make("cnn"))
    assert not bulk.can_score_in_bulk(make("cnn", interaction=2))
