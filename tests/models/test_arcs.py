"""The compiled arcs of both normalisations against the readable ones."""

import pytest
import torch
from nsed.kernels.cpu_arcs import compiled_arcs
from nsed.kernels.cpu_match import compiled_match
from nsed.kernels.fused_scores import fused_scores
from torch.autograd import grad

from nsed.lattice import EditLattice
from nsed.lattice.arcs import usable
from nsed.networks.operations import TargetScores, competing
from nsed.networks.outgoing import blocked, weighed


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3, 5, 4, 7), (2, 1, 6, 9), (4, 6, 1, 5), (150, 3, 3, 43), (1, 1, 1, 6)])
def test_arcs_ends_and_gradients_are_the_readable_ones(shape, dtype):
    torch.manual_seed(0)
    batch, n, m, symbols = shape
    z = (torch.randn(batch, n, m, 2 * symbols + 1, dtype=dtype) * 3).requires_grad_()
    target = torch.randint(1, symbols, (batch, m - 1))  # symbols that can never be written among them
    lengths = torch.randint(0, n, (batch,)), torch.randint(0, m, (batch,))
    scores = TargetScores(z)
    expected = weighed(scores, target, lengths)
    stack = usable(expected.arcs, *lengths)
    arcs, end = compiled_arcs(z, blocked(scores), target, lengths)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close(arcs, stack, **close)
    torch.testing.assert_close(end, expected.end, **close)
    by_arcs, by_end = torch.randn_like(arcs) * (stack > -1e29), torch.randn_like(end)
    (ours,) = grad((arcs * by_arcs).sum() + (end * by_end).sum(), z)
    (theirs,) = grad((stack * by_arcs).sum() + (expected.end * by_end).sum(), z)
    torch.testing.assert_close(ours, theirs, **close)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(3, 5, 4), (2, 1, 6), (4, 6, 1), (150, 3, 3), (1, 1, 1), (0, 2, 2)])
def test_match_arcs_and_gradients_are_the_readable_ones(shape, dtype):
    torch.manual_seed(0)
    z = (torch.randn(*shape, 4, dtype=dtype) * 5).requires_grad_()
    readable = competing(z)
    ours, theirs = compiled_match(z), (*readable.arcs, readable.non_match)
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype == torch.float32 else {"rtol": 1e-10, "atol": 1e-10}
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, **close)
    by_tables = [torch.randn_like(table) for table in theirs]
    torch.testing.assert_close(grad(ours, z, by_tables), grad(theirs, z, by_tables), **close)


def test_match_arcs_of_pairs_do_not_depend_on_their_neighbours():
    torch.manual_seed(0)
    z, order = torch.randn(200, 4, 5, 4), torch.randperm(200)
    for one, other in zip(compiled_match(z), compiled_match(z[order]), strict=True):
        assert torch.equal(one[order], other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_what_is_no_number_is_not_hidden_and_stays_with_its_pair(dtype):
    vectors, weight = torch.randn(2, 3, 16, dtype=dtype), torch.randn(4, 16, dtype=dtype)
    vectors[0, 1, 3] = torch.nan
    scores = fused_scores(vectors, torch.randn(2, 3, 16, dtype=dtype), weight, weight[:, 0], eps=1e-5)
    ours, readable = compiled_match(scores), competing(scores)
    for one, other in zip(ours, (*readable.arcs, readable.non_match), strict=True):
        assert torch.equal(one.isnan(), other.isnan())
        assert one[0].isnan().any()
        assert not one[1].isnan().any()
    lengths = torch.tensor([2, 2])
    assert EditLattice(*ours[:3], lengths, lengths, backend="numba").log_prob.isnan().tolist() == [True, False]
