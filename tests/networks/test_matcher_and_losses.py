"""The Matcher's distribution, and every term of the loss against its formula."""

import math

import numpy as np
import pytest
import torch

from nsed.encoders import EncoderConfig
from nsed.errors import TooLongError
from nsed.kernels import use_backend
from nsed.lattice import Arcs, EditLattice
from nsed.networks import bulk_scores as bulk
from nsed.networks.bulk_scores import bulk_scores
from nsed.networks.losses import (
    distortion_loss,
    em_loss,
    likelihood_loss,
    log1mexp,
    match_loss,
    next_symbol_nll,
    non_match_loss,
    real_cells,
)
from nsed.networks.matcher import MatcherNetwork, lattice_of
from nsed.networks.pair_features import SIMILARITY_DIM, NormedProjection, PairFeatures, pair_scores
from nsed.networks.transducer import TransducerNetwork
from nsed.text.batch import EncodedStrings, PaddedStrings
from nsed.types import END


def sides(seed=0, batch=6, n=5, m=4, categories=False):
    generator = torch.Generator().manual_seed(seed)

    def one(width):
        lengths = torch.cat([torch.tensor([0, width]), torch.randint(0, width + 1, (batch - 2,), generator=generator)])
        symbols = torch.randint(4, 8, (batch, width), generator=generator) * (torch.arange(width) < lengths[:, None])
        return PaddedStrings(symbols, lengths, torch.arange(batch) % 3 if categories else None)

    return one(n), one(m)


def matcher(kind="rnn", **options):
    torch.manual_seed(1)
    config = EncoderConfig(kind=kind, dim=8, layers=1, heads=2, max_length=9)
    return MatcherNetwork(config, source_symbols=8, target_symbols=8, **options).double().eval()


@pytest.mark.parametrize("kind", ["unigram", "cnn", "rnn", "transformer"])
@pytest.mark.parametrize("options", [{}, {"shared": True}, {"interaction": 2}, {"categories": 3}])
def test_what_enters_a_cell_sums_to_one_and_alpha_stays_below_one(kind, options):
    source, target = sides(categories="categories" in options)
    scores = matcher(kind, **options)(source, target)
    total = sum(table.exp() for table in (*scores.arcs, scores.non_match))
    torch.testing.assert_close(total, torch.ones_like(total))
    lattice = lattice_of(scores, source.lengths, target.lengths)
    assert (lattice.log_prob <= 1e-12).all()
    assert (lattice.log_alpha.exp() <= 1 + 1e-12).all()


def test_padding_changes_no_match():
    source, target = sides()
    network = matcher()
    wider = [side._replace(symbols=torch.nn.functional.pad(side.symbols, (0, 3))) for side in (source, target)]
    small, large = (
        lattice_of(network(*pair), source.lengths, target.lengths).log_prob for pair in ((source, target), wider)
    )
    torch.testing.assert_close(large, small)


def test_shared_encoders_are_one():
    network = matcher(shared=True)
    assert network.source_encoder is network.target_encoder


@pytest.mark.parametrize("attention", [False, True])
def test_folded_projection_equals_layer_norm_then_linear(attention):
    torch.manual_seed(0)
    features = PairFeatures(8, attention=attention, heads=2, interaction=2).double()
    projection = NormedProjection(8, 5, attends=attention).double()
    torch.nn.init.normal_(projection.norm.weight)
    torch.nn.init.normal_(projection.norm.bias)
    source, target = torch.randn(3, 4, 8).double(), torch.randn(3, 5, 8).double()
    factors = features.factors(features.of_source(source, torch.ones(3, 4, dtype=torch.bool)), target)
    rectified = features.rectified(factors)
    whole = rectified
    if factors.attended is not None:
        whole = torch.cat([rectified, factors.attended[:, None].expand(-1, 4, -1, -1)], dim=-1)
    expected = projection.linear(projection.norm(whole))
    scores = pair_scores(features, projection, torch.nn.Dropout(0.5).eval(), factors)
    torch.testing.assert_close(scores, expected)


def random_lattice(seed=0, requires_grad=False):
    source, target = sides(seed)
    scores = matcher()(source, target)
    arcs = Arcs(*(table.detach().requires_grad_(requires_grad) for table in scores.arcs))
    lattice = EditLattice(*arcs, source.lengths, target.lengths)
    return arcs, lattice, source.lengths, target.lengths, real_cells(source.lengths, target.lengths, arcs.delete)


def test_em_target_equals_the_formula_with_beta_kept_in():
    """Paper: alpha at the start * P * beta at the end, normalised within the cell."""
    _, lattice, *_, cells = random_lattice()
    alpha, beta = lattice.log_alpha, lattice.log_beta
    pad = torch.nn.functional.pad
    starts = (pad(alpha[:, :-1], (0, 0, 1, 0), value=-1e30), pad(alpha[:, :, :-1], (1, 0), value=-1e30))
    starts = (*starts, pad(alpha[:, :-1, :-1], (1, 0, 1, 0), value=-1e30))
    joint = torch.stack([s + w + beta for s, w in zip(starts, lattice.arcs, strict=True)])
    expected = joint.softmax(0)
    for ours, theirs in zip(lattice.expected_operations(), expected, strict=True):
        torch.testing.assert_close(ours[cells], theirs[cells])


def test_em_loss_is_the_divergence_of_the_formula():
    arcs, lattice, *_, cells = random_lattice()
    for weighting in ("cell", "posterior"):
        loss = em_loss(arcs, lattice, cells, weighting=weighting)
        for pair in range(len(loss)):
            total = weight_sum = 0.0
            for i, j in cells[pair].nonzero().tolist():
                q = [float(table[pair, i, j]) for table in lattice.expected_operations()]
                p = [float(table[pair, i, j]) for table in arcs]
                weight = float(lattice.occupancy[pair, i, j]) if weighting == "posterior" else 1.0
                total += weight * sum(a * (math.log(a) - b) for a, b in zip(q, p, strict=True) if a > 0)
                weight_sum += weight
            assert float(loss[pair]) == pytest.approx(total / max(weight_sum, 1e-9), abs=1e-9)


def test_gradient_of_posterior_em_is_that_of_the_likelihood():
    """Fisher's identity: both point the same way, cell weights aside."""
    arcs, lattice, *_, cells = random_lattice(requires_grad=True)
    weights = (lattice.occupancy.detach() * cells).sum((1, 2)).clamp(min=1e-9)
    em = torch.autograd.grad(
        (em_loss(arcs, lattice, cells, weighting="posterior") * weights).sum(), arcs, retain_graph=True
    )
    likelihood = torch.autograd.grad(likelihood_loss(lattice.log_prob).sum(), arcs)
    for one, other in zip(em, likelihood, strict=True):
        torch.testing.assert_close(one, other)


def test_expected_operations_are_a_target_and_get_no_gradient():
    """By the posterior they would get none anyway (it is their best value), by cells they would."""
    arcs, lattice, *_, cells = random_lattice(requires_grad=True)
    found = torch.autograd.grad(em_loss(arcs, lattice, cells).sum(), arcs)
    count = cells.sum((1, 2)).clamp(min=1)[:, None, None]
    for one, expected in zip(found, lattice.expected_operations(), strict=True):
        torch.testing.assert_close(one, -expected.detach() * cells / count)


def test_what_is_made_is_made_where_the_network_is(monkeypatch):
    """Elsewhere is, for once, a device whose tensors have no values: none of them fits the network's."""
    source, target = sides()
    network = matcher(interaction=2)
    distribution = torch.randn(6, 5, 8, dtype=torch.float64).log_softmax(-1)

    def found():
        scores = network(source, target)
        lattice = lattice_of(scores, source.lengths, target.lengths)
        cells = real_cells(source.lengths, target.lengths, scores.non_match)
        return (
            em_loss(scores.arcs, lattice, cells, weighting="posterior"),
            non_match_loss(scores.non_match, cells),
            match_loss(lattice.log_prob, source.lengths > 2),
            next_symbol_nll(distribution, target.symbols, target.lengths),
            distortion_loss(lattice, source.lengths, target.lengths, cells, diagonal="scaled", reduction="printed"),
        )

    expected = found()
    monkeypatch.setattr(torch, "as_tensor", lambda tensor: tensor)  # only says what it is, but would move it
    with torch.device("meta"):
        there = found()
    for one, other in zip(there, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_non_match_loss_averages_over_real_cells():
    source, target = sides()
    scores = matcher().requires_grad_(False)(source, target)
    cells = real_cells(source.lengths, target.lengths, scores.non_match)
    expected = [-scores.non_match[pair][cells[pair]].mean() if cells[pair].any() else 0.0 for pair in range(6)]
    torch.testing.assert_close(non_match_loss(scores.non_match, cells), torch.tensor(expected, dtype=torch.float64))


def test_match_loss_is_binary_cross_entropy_and_finite_at_the_ends():
    log_prob = torch.tensor([0.0, -1e-9, -0.3, -5.0, -200.0, -1e30], dtype=torch.float64, requires_grad=True)
    for label in (True, False):
        loss = match_loss(log_prob, torch.full((6,), label))
        (gradient,) = torch.autograd.grad(loss.sum(), log_prob)
        assert loss.isfinite().all()
        assert gradient.isfinite().all()
        p = math.exp(-0.3)
        assert float(loss[2].detach()) == pytest.approx(-math.log(p if label else 1 - p))
    torch.testing.assert_close(
        log1mexp(torch.tensor([-1e-3]).double()), torch.tensor([math.log(-math.expm1(-1e-3))]).double()
    )


def test_next_symbol_nll_counts_the_symbols_and_the_end():
    distribution = torch.randn(2, 4, 7, dtype=torch.float64).log_softmax(-1)
    target, lengths = torch.tensor([[4, 5, 6], [5, 0, 0]]), torch.tensor([3, 1])
    expected = [
        -sum(distribution[0, j, s] for j, s in enumerate([4, 5, 6, END])),
        -sum(distribution[1, j, s] for j, s in enumerate([5, END])),
    ]
    torch.testing.assert_close(next_symbol_nll(distribution, target, lengths), torch.stack(expected))


@pytest.mark.parametrize("diagonal", ["plain", "scaled"])
def test_distortion_loss_weights_alpha_by_distance(diagonal):
    _, lattice, n, m, cells = random_lattice()
    loss = distortion_loss(lattice, n, m, cells, diagonal=diagonal)
    for pair in range(len(loss)):
        scale = (max(int(n[pair]), 1), max(int(m[pair]), 1)) if diagonal == "scaled" else (1, 1)
        expected = sum(
            abs(i / scale[0] - j / scale[1]) * math.exp(float(lattice.log_alpha[pair, i, j]))
            for i, j in cells[pair].nonzero().tolist()
        )
        assert float(loss[pair]) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("attention", [False, True])
def test_wider_features_are_scored_like_narrow_ones(attention):
    torch.manual_seed(0)
    features = PairFeatures(8, attention=attention, heads=2, interaction=2, width=4).double()
    projection = NormedProjection(8, 5, attends=attention, width=4).double()
    source, target = torch.randn(2, 4, 8).double(), torch.randn(2, 3, 8).double()
    factors = features.factors(features.of_source(source, torch.ones(2, 4, dtype=torch.bool)), target)
    scores = pair_scores(features, projection, torch.nn.Dropout(0.0), factors)
    cells = features.rectified(factors)
    assert cells.shape[-1] == 32
    if attention:
        cells = torch.cat([cells, factors.attended[:, None].expand(-1, 4, -1, -1)], dim=-1)
    torch.testing.assert_close(scores, projection.linear(projection.norm(cells)))


def test_code_reduction_is_the_mean_of_every_term_and_printed_the_sum():
    arcs, lattice, *_, cells = random_lattice()
    count = cells.sum((1, 2))
    torch.testing.assert_close(em_loss(arcs, lattice, cells, reduction="code"), em_loss(arcs, lattice, cells))
    printed = em_loss(arcs, lattice, cells, reduction="printed")
    torch.testing.assert_close(printed, em_loss(arcs, lattice, cells) * count)
    table = -torch.rand(cells.shape, dtype=torch.float64)
    torch.testing.assert_close(non_match_loss(table, cells, reduction="code"), non_match_loss(table, cells))
    printed = non_match_loss(table, cells, reduction="printed")
    torch.testing.assert_close(printed, non_match_loss(table, cells) * count)
    distribution = torch.randn(2, 4, 7, dtype=torch.float64).log_softmax(-1)
    target, lengths = torch.tensor([[4, 5, 6], [5, 0, 0]]), torch.tensor([3, 1])
    summed = next_symbol_nll(distribution, target, lengths)
    torch.testing.assert_close(next_symbol_nll(distribution, target, lengths, reduction="printed"), summed)
    averaged = next_symbol_nll(distribution, target, lengths, reduction="code")
    torch.testing.assert_close(averaged, summed / torch.tensor([4, 2]))


@pytest.mark.parametrize("reduction", ["code", "printed"])
def test_distortion_loss_as_in_the_code_and_as_printed(reduction):
    _, lattice, n, m, cells = random_lattice()
    loss = distortion_loss(lattice, n, m, cells, reduction=reduction)
    for pair in range(len(loss)):
        alpha, own = lattice.log_alpha[pair].exp(), cells[pair].nonzero().tolist()
        if reduction == "code":
            expected = sum(max(0, abs(i - j) - 1) * float(alpha[i, j]) for i, j in own) / max(len(own), 1)
        else:
            expected = sum(abs(i - j) * float(alpha[i, j]) for i, j in own if i and j)
        assert float(loss[pair]) == pytest.approx(expected, abs=1e-9)


STRINGS = [[4, 5, 6], [5], [], [4, 5, 6], [7, 4], [6, 6, 4, 5]]


@pytest.mark.parametrize("kind", ["unigram", "rnn"])
@pytest.mark.parametrize("options", [{}, {"shared": True}, {"interaction": 2}, {"categories": 5, "shared": True}])
def test_bulk_scores_are_those_of_the_lattices(kind, options):
    """Every string with every other: they are encoded once, those on both sides of a shared encoder, too."""
    network, languages = matcher(kind, **options), np.array([0, 1, 2, 3, 3, 1])
    source, target = EncodedStrings(STRINGS), EncodedStrings(STRINGS[::-1])
    rows, columns = (side.ravel() for side in np.meshgrid(np.arange(6), np.arange(6)))
    known = (languages, languages[::-1].copy()) if "categories" in options else (None, None)
    done = []
    found = bulk_scores(network, source, target, (rows, columns), languages=known, on_batch=done.append)
    sides = [
        PaddedStrings(
            strings.padded(chosen),
            torch.from_numpy(strings.lengths[chosen]),
            None if of_each is None else torch.from_numpy(of_each[chosen]),
        )
        for strings, chosen, of_each in ((source, rows, known[0]), (target, columns, known[1]))
    ]
    with torch.no_grad():
        expected = lattice_of(network(*sides), *(side.lengths for side in sides)).log_prob
    assert found.tolist() == pytest.approx(expected.tolist(), abs=1e-4)
    assert sum(done) == len(found) == 36
    none = np.zeros(0, dtype=np.int64)
    assert len(bulk_scores(network, source, target, (none, none), languages=known)) == 0


@pytest.mark.parametrize("options", [{}, {"interaction": 2}, {"categories": 5}])
def test_pairs_whose_vectors_have_no_room_are_scored_some_after_the_others(options, monkeypatch):
    network, languages = matcher("rnn", feature_width=2, **options), np.array([0, 1, 2, 3, 3, 1])
    source, target = EncodedStrings(STRINGS), EncodedStrings(STRINGS[::-1])
    pairs = tuple(side.ravel() for side in np.meshgrid(np.arange(6), np.arange(6)))
    known = (languages, languages[::-1].copy()) if "categories" in options else (None, None)
    whole, done = bulk_scores(network, source, target, pairs, languages=known), []
    assert bulk.affordable_parts(network, source, target, pairs) == [slice(0, 36)]
    of_a_symbol = 4 * (2 * network.features.source.weight.shape[0] + options.get("interaction", 0) * SIMILARITY_DIM)
    monkeypatch.setattr(bulk, "VECTOR_BYTES", 20 * of_a_symbol + 1)
    found = bulk_scores(network, source, target, pairs, languages=known, on_batch=done.append)
    assert found.tolist() == pytest.approx(whole.tolist(), abs=1e-5)
    parts = bulk.affordable_parts(network, source, target, pairs)
    assert [row for part in parts for row in range(36)[part]] == list(range(36))
    for part in parts:
        needed = [np.unique(rows[part]) for rows in pairs]
        assert sum((side.lengths[own] + 1).sum() for side, own in zip((source, target), needed, strict=True)) <= 20
    assert len(done) == len(parts) > 2
    monkeypatch.setattr(bulk, "VECTOR_BYTES", 1)  # a pair at a time at least
    assert len(bulk.affordable_parts(network, source, target, pairs)) == 36


def test_a_pair_that_is_too_long_for_a_lattice_is_refused_by_the_row_that_it_is(monkeypatch):
    monkeypatch.setattr(bulk, "MAX_CELLS", 19)
    source, target = EncodedStrings(STRINGS), EncodedStrings(STRINGS[::-1])
    rows, columns = np.array([0, 0, 5]), np.array([0, 4, 2])  # 4 x 5, 4 x 2, and 5 x 4 cells
    with use_backend("torch"), pytest.raises(TooLongError, match="at place 0"):
        bulk_scores(matcher("rnn"), source, target, (rows, columns))
    with use_backend("torch"), pytest.raises(TooLongError, match="at place 1"):
        bulk_scores(matcher("rnn"), source, target, (rows[1:], columns[1:]))


def test_a_pair_that_is_too_long_is_refused_by_its_row_among_all_where_pairs_are_scored_in_parts(monkeypatch):
    monkeypatch.setattr(bulk, "MAX_CELLS", 19)
    monkeypatch.setattr(bulk, "VECTOR_BYTES", 1)
    source, target = EncodedStrings(STRINGS), EncodedStrings(STRINGS[::-1])
    rows, columns = np.array([0, 0, 5]), np.array([4, 4, 2])  # 4 x 2 twice, and 5 x 4 cells
    with use_backend("torch"), pytest.raises(TooLongError, match="at place 2"):
        bulk_scores(matcher("rnn"), source, target, (rows, columns))


def test_features_are_not_dropped_unless_asked_for():
    encoder = EncoderConfig(kind="unigram", dim=8, layers=1, heads=2, dropout=0.0, max_length=9)
    source, target = sides()
    for dropout, same in ((None, True), (0.5, False)):
        torch.manual_seed(0)
        given = {} if dropout is None else {"feature_dropout": dropout}
        network = MatcherNetwork(encoder, source_symbols=8, target_symbols=8, **given)
        writer = TransducerNetwork(encoder, source_symbols=8, target_symbols=8, **given)
        found = []
        for training in (True, False):
            network.train(training), writer.train(training)
            written = writer(writer.encode(source.symbols, source.lengths), target.symbols, target.lengths)
            found.append([network(source, target).non_match.detach(), written.classes.detach()])
        assert [torch.allclose(*one) for one in zip(*found, strict=True)] == [same, same]
