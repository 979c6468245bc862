"""The lattice's recursions: every backend against its twin. `tests/lattice` has what must hold of any of them."""

import torch

from nsed.kernels.dispatch import LATTICE
from nsed.kernels.semiring import LOG, MAX
from support.kernels import LOOSE, TIGHT, every_way, shapes


def random_weights(rows, columns, batch, device):
    torch.manual_seed(0)
    weights = torch.randn(3, rows, columns, batch) * 2 - 1
    weights[torch.rand_like(weights) < 0.1] = -1e30
    weights[::2, 0] = weights[1:, :, 0] = -1e30
    return weights.to(device)


@every_way
@shapes((1, 1, 1), (5, 4, 3), (1, 7, 2), (9, 1, 5), (3, 17, 9), (2, 2, 300), large=((12, 12, 33),))
def test_tables_sweeps_and_gradients_are_the_twins(shape, way):
    fast, slow, weights = way.of(LATTICE), way.twin(LATTICE), random_weights(*shape, way.device)
    expected = slow.forward(weights, LOG).clamp(min=-1e30)
    way.poison()
    torch.testing.assert_close(fast.forward(weights, LOG).clamp(min=-1e30), expected, **TIGHT)
    torch.testing.assert_close(fast.forward(weights, MAX).clamp(min=-1e30), slow.forward(weights, MAX).clamp(min=-1e30))
    injection, ratios = torch.randn(*shape).to(way.device), torch.rand(3, *shape).to(way.device)
    torch.testing.assert_close(*(one.gradient(injection, weights, expected, LOG) for one in (fast, slow)), **LOOSE)
    ratios[::2, 0] = ratios[1:, :, 0] = 0
    for reverse in (False, True):
        torch.testing.assert_close(*(one.sweep(injection, ratios, reverse) for one in (fast, slow)), **LOOSE)


@every_way
def test_pairs_do_not_see_their_neighbours(way):
    weights, order = random_weights(5, 4, 17, way.device), torch.randperm(17)
    alpha, other = (way.of(LATTICE).forward(some, LOG) for some in (weights, weights[..., order].contiguous()))
    torch.testing.assert_close(other, alpha[..., order], **TIGHT)
