"""The odds network: every term of its log-odds and of its prior against its formula."""

import math

import numpy as np
import pytest
import torch

from nsed.lattice import EditLattice
from nsed.networks.kinship import IDENTICAL, KIN, Shares
from nsed.networks.odds import (
    COHERENCE_SPREAD,
    FEATURE_SPREAD,
    FREE,
    IDENTITY,
    IDENTITY_SPREAD,
    LENGTHS,
    PLACE_FACTOR,
    PLACES,
    Odds,
    OddsNetwork,
    odds_of,
    places_of,
)
from nsed.networks.operation_table import OperationTable
from nsed.text.batch import EncodedPairs, EncodedStrings
from nsed.types import NEG, UNKNOWN

WORDS = [([4, 5, 6, 4, 5, 6], [4, 6]), ([], [5]), ([5], []), ([6, 5], [6, 5]), ([4, 5, 5], [4, 5, 6])]
EVERYTHING = {"place": True, "length": True, "languages": 6, "identity": True}


def network(seed=0, *, symmetric=False, size=7, **options):
    """A network whose every number is random; double precision, as where scores are computed."""
    torch.manual_seed(seed)
    features = (torch.rand(size, 3), torch.rand(size, 3)) if options.pop("features", True) else None
    options = {"place": False, "length": False, "languages": 0, "features": features} | options
    made = OddsNetwork(sources=size, targets=size, symmetric=symmetric, **options)
    for part in made.parameters():
        torch.nn.init.normal_(part, std=0.5)
    made.begin(Odds(*(torch.randn(shape) for shape in ((size,), (size,), (size, size), ()))), kinship(size))
    return made.eval().requires_grad_(False)


def kinship(size):
    akin = torch.zeros(size, size)
    akin[range(4, size), range(4, size)] = IDENTICAL
    akin[4, 5] = akin[5, 4] = KIN
    return akin


def batch_of(words, languages=None):
    sides = (EncodedStrings([pair[side] for pair in words]) for side in (0, 1))
    return EncodedPairs(*sides, languages=languages).batch(np.arange(len(words)))


def test_log_odds_are_where_they_began_plus_what_is_learned_of_operations_gaps_kin_and_features():
    made = network()
    source, target, odds = made.source_features.double(), made.target_features.double(), made.odds()
    features, gaps, kin = made.features.double(), made.gaps.double(), made.kin.double()
    for s in range(7):
        expected = made.start_delete[s] + made.delete[s] + gaps[0] + source[s] @ features.delete
        assert float(odds.delete[s]) == pytest.approx(float(expected), abs=1e-6)
        expected = made.start_insert[s] + made.insert[s] + gaps[1] + target[s] @ features.insert
        assert float(odds.insert[s]) == pytest.approx(float(expected), abs=1e-6)
        for t in range(7):
            shared = kin[int(made.kinship[s, t])] + source[s] @ features.substitute @ target[t]
            expected = made.start_substitute[s, t] + made.substitute[s, t] + shared
            assert float(odds.substitute[s, t]) == pytest.approx(float(expected), abs=1e-6)
    assert float(odds.bias) == pytest.approx(float(made.start_bias + made.bias), abs=1e-6)
    assert {part.dtype for part in odds} == {torch.float64}
    assert {part.dtype for part in made.train().odds()} == {torch.float32}


def test_an_operation_without_probability_is_impossible_and_a_symbol_without_one_is_nothing():
    table = OperationTable(*(torch.zeros(size, dtype=torch.float64) for size in ((6,), (6,), (6, 6), ())))
    table.substitute[[4, 4, 5], [4, 5, 5]] = 1.0
    table.delete[4] = table.insert[[4, 5]] = 1.0
    table.end.fill_(1.0)
    odds = odds_of(table.normalised())
    assert odds.delete.tolist()[4:] == [pytest.approx(math.log(1 / 3 * (1 - 2 / 7))), NEG]
    assert odds.substitute[5, 4] == NEG
    assert (odds.substitute[[4, 4, 5], [4, 5, 5]] > -2).all()
    assert not odds.delete[:4].any()
    assert not odds.substitute[:4].any()
    assert not odds.substitute[:, :4].any()
    assert float(odds.bias) == pytest.approx(math.log((1 - 2 / 7) * (1 - 1 / 7) * 7))


def test_log_odds_of_one_alphabet_are_the_means_of_both_ways():
    one, both = network(3), network(3, symmetric=True)
    both.load_state_dict({**one.state_dict(), "gaps": one.gaps[:1]})
    one.gaps[1] = one.gaps[0]
    apart, together = one.odds(), both.odds()
    torch.testing.assert_close(together.delete, (apart.delete + apart.insert) / 2)
    torch.testing.assert_close(together.insert, together.delete)
    torch.testing.assert_close(together.substitute, (apart.substitute + apart.substitute.T) / 2)


@pytest.mark.parametrize("symmetric", [False, True])
def test_places_scale_the_log_odds_of_both_symbols_and_add_to_them(symmetric):
    made = network(1, symmetric=symmetric, place=True)
    batch, odds, (factor, gap, pair) = batch_of(WORDS), made.odds(), made.place.parameters()
    arcs, other = made._arcs(odds, batch), 0 if symmetric else 1
    for row, (source, target) in enumerate(WORDS):
        of_source = places_of(batch.source, batch.source_lengths)[row].tolist()
        of_target = places_of(batch.target, batch.target_lengths)[row].tolist()
        for i, s in enumerate(source):
            expected = factor[0, of_source[i]].exp() * odds.delete[s] + gap[0, of_source[i]]
            assert arcs.delete[row, i + 1].tolist() == pytest.approx([float(expected)] * arcs.delete.shape[2], abs=1e-6)
            for j, t in enumerate(target):
                scale = (factor[0, of_source[i]] + factor[other, of_target[j]]).exp()
                expected = scale * odds.substitute[s, t] + pair[0, of_source[i]] + pair[other, of_target[j]]
                assert float(arcs.substitute[row, i + 1, j + 1]) == pytest.approx(float(expected), abs=1e-6)
        for j, t in enumerate(target):
            expected = factor[other, of_target[j]].exp() * odds.insert[t] + gap[other, of_target[j]]
            assert float(arcs.insert[row, 0, j + 1]) == pytest.approx(float(expected), abs=1e-6)


def test_the_bias_of_a_pair_is_of_lengths_languages_and_identity():
    made = network(2, **EVERYTHING)
    languages = np.array([[4, 5], [1, 4], [5, 5], [4, 4], [0, 5]])
    batch, odds, vectors = batch_of(WORDS, languages), made.odds(), made.languages.weight
    _, bias = made(batch)
    for row, (source, target) in enumerate(WORDS):
        n, m = len(source), len(target)
        features = torch.tensor([(n + m) / 10, abs(n - m), math.log(n + m)])
        expected = odds.bias + made.length @ features + vectors[languages[row, 0]] @ vectors[languages[row, 1]]
        if source == target:
            expected = expected + n * (IDENTITY + made.identity)
        assert float(bias[row]) == pytest.approx(float(expected), abs=1e-5)
    assert len(LENGTHS) == len(made.length)
    both_empty = made(batch_of([([], [])], np.array([[4, 5]])))[1]
    assert float(both_empty) == pytest.approx(float(odds.bias + vectors[4] @ vectors[5]), abs=1e-5)


def test_without_terms_of_pairs_the_bias_is_one_number():
    made = network(2)
    assert made(batch_of(WORDS))[1].tolist() == pytest.approx([float(made.odds().bias)] * len(WORDS))


def test_the_prior_is_gaussian_with_the_spread_of_each_part():
    made, spread = network(4, coherence=2, **EVERYTHING), 0.25
    widths = {
        **dict.fromkeys(("delete", "insert", "substitute"), spread),
        **dict.fromkeys(("scale", "bias", "gaps", "kin", "length", "languages.weight"), FREE),
        **dict.fromkeys(("place.gap", "place.substitute"), FREE),
        "place.factor": FREE / PLACE_FACTOR,
        "identity": IDENTITY_SPREAD,
    }
    expected = 0.0
    for name, part in made.named_parameters():
        width = {"features": FEATURE_SPREAD, "coherence": COHERENCE_SPREAD}.get(name.split(".")[0]) or widths[name]
        expected += float(part.square().sum()) / 2 / width**2
    assert float(made.prior(spread)) == pytest.approx(expected, rel=1e-5)
    plain = network(4, features=False)
    expected = sum(
        float(getattr(plain, name).square().sum()) / 2 / width**2
        for name, width in widths.items()
        if name in dict(plain.named_parameters())
    )
    assert float(plain.prior(spread)) == pytest.approx(expected, rel=1e-5)


def test_a_new_symbol_is_unknown_but_among_kin():
    made = network(5)
    odds, larger = made.odds(), kinship(9)
    larger[4, 8] = KIN
    found = made.extended_odds(larger)
    assert found.delete.tolist() == [*odds.delete.tolist(), *[float(odds.delete[UNKNOWN])] * 2]
    assert found.insert.tolist() == [*odds.insert.tolist(), *[float(odds.insert[UNKNOWN])] * 2]
    assert torch.equal(found.substitute[:7, :7], odds.substitute)
    same = torch.stack([odds.substitute[s, s] for s in (4, 5, 6)]).mean()
    assert found.substitute[7, 7] == found.substitute[8, 8] == same
    assert float(found.substitute[4, 8]) == pytest.approx(float((odds.substitute[4, 5] + odds.substitute[5, 4]) / 2))
    assert found.substitute[5, 8] == odds.substitute[5, UNKNOWN]
    assert found.substitute[8, 4] == odds.substitute[UNKNOWN, 4]
    assert found.substitute[7, 8] == odds.substitute[UNKNOWN, UNKNOWN]
    assert found.bias == odds.bias


def test_a_new_symbol_with_shares_of_known_ones_has_their_mean_and_with_itself_that_of_identical_ones():
    made = network(5)
    odds, larger = made.odds(), kinship(9)
    larger[4, 8] = larger[7, 8] = KIN
    side = torch.eye(9, 7).double()
    side[7, 4], side[7, 5], side[8, UNKNOWN] = 0.25, 0.75, 1
    found, plain = made.extended_odds(larger, Shares(side, side)), made.extended_odds(larger)
    assert torch.equal(found.substitute[:7, :7], odds.substitute)
    assert float(found.delete[7]) == pytest.approx(float(odds.delete[4] / 4 + odds.delete[5] * 3 / 4))
    assert found.insert[8] == odds.insert[UNKNOWN]
    row = odds.substitute[4] / 4 + odds.substitute[5] * 3 / 4
    assert found.substitute[7, :7].tolist() == pytest.approx(row.tolist())
    same = (odds.substitute[4, 4] / 16 + odds.substitute[5, 5] * 9 / 16) / (10 / 16)
    assert float(found.substitute[7, 7]) == pytest.approx(float(same))
    assert float(found.substitute[8, 7]) == pytest.approx(
        float(odds.substitute[UNKNOWN, 4] / 4 + odds.substitute[UNKNOWN, 5] * 3 / 4)
    )
    for kin in ((4, 8), (7, 8), (8, 8)):
        assert found.substitute[kin] == plain.substitute[kin]


def test_a_network_that_begins_with_another_scores_as_that_one_does():
    known = network(6, coherence=2, **EVERYTHING)
    more = OddsNetwork(
        sources=9,
        targets=9,
        symmetric=False,
        coherence=2,
        features=(torch.rand(9, 4),) * 2,
        **EVERYTHING | {"languages": 8},
    )
    more.eval().requires_grad_(False).begin_with(known, kinship(9))
    batch = batch_of(WORDS, np.array([[4, 5]] * len(WORDS)))
    for one, other in zip(
        (known(batch)[0].log_prob, known(batch)[1]), (more(batch)[0].log_prob, more(batch)[1]), strict=True
    ):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-5)
    assert torch.equal(more.scale, known.scale)
    assert not more.delete.any()


def test_what_a_network_begins_with_is_nothing_but_languages_of_which_the_unknown_one_is_none():
    made = OddsNetwork(sources=6, targets=5, symmetric=False, **EVERYTHING)
    assert {name for name, part in made.named_parameters() if part.any()} == {"languages.weight"}
    assert not made.languages.weight[UNKNOWN].any()
    assert 0.05 < float(made.languages.weight.detach().std()) < 0.15
    assert made.place.factor.shape == (2, len(PLACES))
    assert OddsNetwork(sources=5, targets=5, symmetric=True, **EVERYTHING).place.factor.shape == (1, len(PLACES))
    assert made.no_table() == ""
    assert "coherence" in network(coherence=1).no_table()


def test_coherence_changes_the_arcs_of_the_table_and_can_be_left_out():
    made, batch = network(7, coherence=2), batch_of(WORDS)
    table = made._arcs(made.odds(), batch)
    in_context = EditLattice(*made.coherence(batch, table), *batch.lengths)
    torch.testing.assert_close(made(batch)[0].log_prob, in_context.log_prob)
    without = made(batch, in_context=False)[0].log_prob
    torch.testing.assert_close(without, EditLattice(*table, *batch.lengths).log_prob)
    assert not torch.allclose(without, in_context.log_prob)
