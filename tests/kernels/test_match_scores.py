"""Scores in bulk: every implementation against its twin, by a table and by vectors, and all against the lattices."""

import numpy as np
import pytest
import torch

from nsed.encoders import ENCODERS, EncoderConfig
from nsed.errors import TooLongError
from nsed.kernels import use_backend
from nsed.kernels.contracts import StringVectors
from nsed.kernels.dispatch import MATCH_SCORES
from nsed.kernels.switch import interprets_triton
from nsed.networks import bulk_scores as bulk
from nsed.networks.matcher import MatcherNetwork, lattice_of
from nsed.text import EncodedStrings
from nsed.text.batch import PaddedStrings
from support.kernels import LOOSE, WAYS, every_way, shapes

SYMBOLS, LANGUAGES = 9, 6
FEW, MANY, LONGEST = (8, 8, 4) if interprets_triton() else (30, 150, 9)
"""Pairs of a test and symbols of its longest strings: an interpreter takes a while for each cell."""
BACKENDS = ["torch", *(way.backend for way in WAYS)]
DEVICES = {"torch": torch.device("cpu"), **{way.backend: way.device for way in WAYS}}


def make(kind, positions=True, **options):
    torch.manual_seed(4)
    encoder = EncoderConfig(kind=kind, dim=16, layers=1, heads=2, dropout=0.3, max_length=20, positions=positions)
    network = MatcherNetwork(encoder, source_symbols=SYMBOLS, target_symbols=SYMBOLS, **options)
    return network.eval().requires_grad_(False)


def strings(count, longest, seed):
    random = np.random.default_rng(seed)
    return [random.integers(4, SYMBOLS, random.integers(0, longest + 1)).tolist() for _ in range(count)]


def one_by_one(network, source, target, pairs, languages=None):
    network = network.cpu()
    scores = []
    for row, column in zip(*pairs, strict=True):
        sides = []
        for side, (texts, place) in enumerate(((source, row), (target, column))):
            symbols = torch.tensor(texts[place], dtype=torch.long)[None]
            category = None if languages is None else torch.tensor([languages[side][place]])
            sides.append(PaddedStrings(symbols, torch.tensor([symbols.shape[1]]), category))
        with use_backend("torch"):
            scores.append(float(lattice_of(network(*sides), sides[0].lengths, sides[1].lengths).log_prob))
    return scores


def random_strings(count, longest, dim, device, heads=0):
    """Strings by ten different vectors."""
    lengths = torch.randint(1, longest + 2, (count,))
    starts = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
    vectors, flat = torch.randn(10, dim), torch.randint(0, 10, (int(starts[-1]),))
    similar = torch.randn(10, heads, 16).to(device) / 4 if heads else None
    return StringVectors(*(part.to(device) for part in (vectors, flat, starts)), similar)


@every_way
@pytest.mark.parametrize("largest", [None, 0], ids=["by a table", "by vectors"])
@pytest.mark.parametrize("heads", [0, 3] if interprets_triton() else [0, 1, 3], ids="{} heads".format)
@pytest.mark.parametrize("dim", [21] if interprets_triton() else [16, 21])
@shapes((4, 6, 3, 5), (1, 0, 1, 0), (5, 0, 4, 8), large=((7, 9, 5, 6), (4, 17, 3, 20)))
def test_scores_are_the_twins(shape, dim, heads, largest, way, monkeypatch):
    torch.manual_seed(0)
    sides = [random_strings(*size, dim, way.device, heads) for size in (shape[:2], shape[2:])]
    weight, constant = torch.randn(4, dim).to(way.device), torch.randn(4).to(way.device)
    folded = weight - weight.mean(1, keepdim=True), constant
    given = {"eps": 1e-5, "pairs": FEW, "heads": torch.randn(heads, dim).to(way.device) if heads else None}
    pairs = [torch.randint(0, count, (FEW,)).to(way.device) for count in (shape[0], shape[2])]
    expected = way.twin(MATCH_SCORES).scorer(*sides, *folded, **given)(*pairs)
    if largest is not None:
        monkeypatch.setattr(f"nsed.kernels.{way.backend}.match_scores.LARGEST_TABLE", largest)
    way.poison()
    ours = way.of(MATCH_SCORES).scorer(*sides, *folded, **given)(*pairs)
    torch.testing.assert_close(ours.float(), expected, **LOOSE)
    order = torch.randperm(FEW)
    permuted = way.of(MATCH_SCORES).scorer(*sides, *folded, **given)(*(side[order] for side in pairs))
    torch.testing.assert_close(permuted, ours[order], **LOOSE)


def test_the_twin_has_the_same_scores_by_a_table_and_by_vectors(monkeypatch):
    torch.manual_seed(0)
    sides = [random_strings(5, 6, 16, "cpu") for _ in range(2)]
    weight, pairs = torch.randn(4, 16), [torch.randint(0, 5, (40,)) for _ in range(2)]
    given, twin = (*sides, weight - weight.mean(1, keepdim=True), torch.randn(4)), MATCH_SCORES.named("torch")
    by_table = twin.scorer(*given, eps=1e-5, pairs=40)(*pairs)
    monkeypatch.setattr(twin, "LARGEST_TABLE", 0)
    torch.testing.assert_close(twin.scorer(*given, eps=1e-5, pairs=40)(*pairs), by_table)
    monkeypatch.setattr(twin, "CELLS_AT_ONCE", 50)  # some pairs after the others
    torch.testing.assert_close(twin.scorer(*given, eps=1e-5, pairs=40)(*pairs), by_table)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("options", [{}, {"shared": True}, {"categories": LANGUAGES}, {"interaction": 3}], ids=str)
@pytest.mark.parametrize("kind", ["unigram", "cnn"] if interprets_triton() else list(ENCODERS))
def test_scores_are_those_of_the_lattices(kind, options, backend):
    network = make(kind, **options).to(DEVICES[backend])
    source, target = strings(7, LONGEST, 0), strings(5, LONGEST - 1, 1)
    random = np.random.default_rng(2)
    pairs = random.integers(7, size=MANY), random.integers(5, size=MANY)
    languages = [random.integers(4, LANGUAGES, size) for size in (7, 5)] if "categories" in options else (None, None)
    sides, seen = [EncodedStrings(side) for side in (source, target)], []
    with use_backend(backend):
        found = bulk.bulk_scores(network, *sides, pairs, languages=tuple(languages), on_batch=seen.append)
    expected = one_by_one(network, source, target, pairs, None if languages[0] is None else languages)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert sum(seen) == MANY


@pytest.mark.parametrize("options", [{"shared": True}, {"categories": LANGUAGES}, {"interaction": 3}], ids=str)
def test_pairs_whose_vectors_do_not_fit_are_scored_some_after_the_others(options, monkeypatch):
    network, source, target = make("cnn", **options), strings(30, 9, 0), strings(20, 9, 1)
    random = np.random.default_rng(2)
    pairs = random.integers(30, size=200), random.integers(20, size=200)
    languages = [random.integers(4, LANGUAGES, size) for size in (30, 20)] if "categories" in options else (None, None)
    sides, seen = [EncodedStrings(side) for side in (source, target)], []
    whole = bulk.bulk_scores(network, *sides, pairs, languages=tuple(languages))
    monkeypatch.setattr(bulk, "_most_symbols", lambda network: 60)
    parts = bulk.affordable_parts(network, *sides, pairs)
    assert len(parts) > 3
    assert [row for part in parts for row in range(200)[part]] == list(range(200))
    for part in parts:
        used = [side.lengths[np.unique(rows[part])] + 1 for side, rows in zip(sides, pairs, strict=True)]
        assert sum(map(np.sum, used)) <= 60
    found = bulk.bulk_scores(network, *sides, pairs, languages=tuple(languages), on_batch=seen.append)
    np.testing.assert_allclose(found, whole, rtol=1e-4, atol=1e-5)
    assert sum(seen) == 200
    monkeypatch.setattr(bulk, "MANY_STRINGS", 1)  # then each side is read alone
    alone = bulk.bulk_scores(network, *sides, pairs, languages=tuple(languages))
    np.testing.assert_allclose(alone, whole, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("positions", [True, False])
def test_networks_with_and_without_a_table(positions, monkeypatch):
    network, source, target = make("unigram", positions), strings(20, 9, 0), strings(20, 9, 1)
    pairs = np.repeat(np.arange(20), 20), np.tile(np.arange(20), 20)
    sides = [EncodedStrings(texts) for texts in (source, target)]
    by_table = bulk.bulk_scores(network, *sides, pairs)
    np.testing.assert_allclose(by_table, one_by_one(network, source, target, pairs), rtol=1e-4, atol=1e-5)
    for backend in BACKENDS:
        monkeypatch.setattr(f"nsed.kernels.{backend}.match_scores.LARGEST_TABLE", 0)
    np.testing.assert_allclose(by_table, bulk.bulk_scores(network, *sides, pairs), rtol=1e-5, atol=1e-6)


def test_nothing_to_score():
    nobody = EncodedStrings([]), EncodedStrings([])
    empty = np.zeros(0, dtype=np.int64)
    for kind in ENCODERS:
        assert bulk.bulk_scores(make(kind), *nobody, (empty, empty)).shape == (0,)


def test_a_pair_that_needs_too_large_a_table_is_refused_by_torch(monkeypatch):
    monkeypatch.setattr(bulk, "MAX_CELLS", 20)
    sides, pairs = [EncodedStrings([[4, 5, 6], [7] * 5])] * 2, (np.array([0, 1]), np.array([0, 1]))
    with use_backend("torch"), pytest.raises(TooLongError, match="5 x 5 symbols at place 1"):
        bulk.bulk_scores(make("cnn"), *sides, pairs)
