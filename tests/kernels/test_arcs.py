"""Arcs of both normalisations: every implementation against its twin."""

import pytest
import torch
from torch.autograd import grad

from nsed.kernels.dispatch import ARCS, PAIR_SCORES
from nsed.kernels.torch import arcs as twin
from nsed.lattice import Arcs, EditLattice
from nsed.lattice.arcs import usable
from nsed.types import END, UNKNOWN
from support.kernels import LOOSE, TIGHT, every_way, numba_only, shapes


def tolerances(dtype):
    return (TIGHT, LOOSE) if dtype == torch.float32 else ({"rtol": 1e-10, "atol": 1e-10},) * 2


def lengths_for(batch, n, m, device):
    return tuple(torch.randint(0, size, (batch,)).to(device) for size in (n, m))


@every_way
@shapes((3, 5, 4, 7), (2, 1, 6, 9), (4, 6, 1, 5), (5, 3, 4, 43), (1, 1, 1, 6), large=((150, 3, 3, 43), (5, 9, 8, 43)))
def test_outgoing_arcs_ends_and_gradients_are_the_twins(shape, way):
    torch.manual_seed(0)
    batch, n, m, symbols = shape
    for dtype in way.dtypes:
        z = (torch.randn(batch, n, m, 2 * symbols + 1, dtype=dtype) * 3).to(way.device).requires_grad_()
        target = torch.randint(1, symbols, (batch, m - 1)).to(way.device)  # some can never be written
        target[target == END] = UNKNOWN
        lengths = lengths_for(batch, n, m, way.device)
        *arcs, expected_end = twin.outgoing_arcs(z, target, lengths)
        expected = usable(Arcs(*arcs), *lengths)
        way.poison()
        *arcs, end = way.of(ARCS).outgoing_arcs(z, target, lengths)
        ours, (tight, loose) = torch.stack(arcs).permute(0, 2, 3, 1), tolerances(dtype)
        torch.testing.assert_close(ours, expected, **tight)
        torch.testing.assert_close(end, expected_end, **tight)
        by_arcs, by_end = torch.randn_like(expected) * (expected > -1e29), torch.randn_like(end)
        (mine,) = grad((ours * by_arcs).sum() + (end * by_end).sum(), z)
        (theirs,) = grad((expected * by_arcs).sum() + (expected_end * by_end).sum(), z)
        torch.testing.assert_close(mine, theirs, **loose)


@every_way
@shapes((3, 5, 4), (2, 1, 6), (4, 6, 1), (65, 9, 8), (1, 1, 1), (0, 2, 2), large=((150, 3, 3),))
def test_match_arcs_and_gradients_are_the_twins(shape, way):
    torch.manual_seed(0)
    for dtype in way.dtypes:
        z = (torch.randn(*shape, 4, dtype=dtype) * 5).to(way.device).requires_grad_()
        if way.refuses(ARCS, z):
            assert 0 in shape
            continue
        theirs = twin.match_arcs(z)
        way.poison()
        ours, (tight, loose) = way.of(ARCS).match_arcs(z), tolerances(dtype)
        for one, other in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, other, **tight)
        by_tables = [torch.randn_like(table) * (table > -1e29) for table in theirs]
        torch.testing.assert_close(grad(ours, z, by_tables), grad(theirs, z, by_tables), **loose)


@every_way
def test_arcs_of_pairs_do_not_depend_on_their_neighbours(way):
    torch.manual_seed(0)
    z, order = torch.randn(200, 4, 5, 4).to(way.device), torch.randperm(200)
    for one, other in zip(way.of(ARCS).match_arcs(z), way.of(ARCS).match_arcs(z[order]), strict=True):
        assert torch.equal(one[order], other)
    z, target = torch.randn(20, 4, 5, 13).to(way.device), torch.randint(4, 6, (20, 4)).to(way.device)
    lengths, order = lengths_for(20, 4, 5, way.device), torch.randperm(20)
    arcs = way.of(ARCS).outgoing_arcs(z, target, lengths)
    others = way.of(ARCS).outgoing_arcs(z[order], target[order], tuple(length[order] for length in lengths))
    for one, other in zip(arcs, others, strict=True):
        torch.testing.assert_close(one[order], other, **TIGHT)


@every_way
def test_padding_changes_nothing(way):
    torch.manual_seed(0)
    lengths, z = lengths_for(6, 4, 5, way.device), torch.randn(6, 4, 5, 13).to(way.device)
    target = torch.randint(4, 6, (6, 4)).to(way.device)
    wider = torch.nn.functional.pad(z, (0, 0, 0, 2, 0, 3), value=9.0)
    symbols = torch.nn.functional.pad(target, (0, 2))
    given = (way.of(ARCS).outgoing_arcs(*some, lengths) for some in ((z, target), (wider, symbols)))
    (*arcs, end), (*more, same_end) = given
    torch.testing.assert_close(same_end, end, **TIGHT)
    stacks = (usable(Arcs(*some), *lengths) for some in (arcs, [table[:, :4, :5] for table in more]))
    torch.testing.assert_close(*stacks, **TIGHT)


@numba_only
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_no_number_is_not_hidden_and_stays_with_its_pair(dtype):
    vectors, weight = torch.randn(2, 3, 16, dtype=dtype), torch.randn(4, 16, dtype=dtype)
    vectors[0, 1, 3] = torch.nan
    scores = PAIR_SCORES.named("numba").pair_scores(
        vectors, torch.randn(2, 3, 16, dtype=dtype), weight, weight[:, 0], eps=1e-5
    )
    ours = ARCS.named("numba").match_arcs(scores)
    for one, other in zip(ours, twin.match_arcs(scores), strict=True):
        assert torch.equal(one.isnan(), other.isnan())
        assert one[0].isnan().any()
        assert not one[1].isnan().any()
    lengths = torch.tensor([2, 2])
    assert EditLattice(*ours[:3], lengths, lengths, backend="numba").log_prob.isnan().tolist() == [True, False]
