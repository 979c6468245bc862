"""What every Triton kernel must give: what torch gives. Run on a GPU by pytest, or interpreted as a script."""

import itertools
from unittest.mock import patch

import numpy as np
import torch
from nsed.encoders.recurrence import read_all
from nsed.kernels.gpu_arcs import match_arcs, outgoing_arcs
from nsed.kernels.gpu_scores import gpu_scores, pair_scores
from nsed.lattice.backends.torch import TorchBackend
from nsed.lattice.backends.triton import TritonBackend, lattice_forward, lattice_gradient
from nsed.lattice.semiring import LOG, MAX
from nsed.networks.string_vectors import LARGEST_TABLE, Strings
from torch import nn
from torch.autograd import grad

from nsed.encoders import EncoderConfig
from nsed.encoders.embedding import _Lookup
from nsed.encoders.string_encoder import Side
from nsed.lattice.arcs import usable
from nsed.networks.bulk_scores import bulk_scores
from nsed.networks.matcher import MatcherNetwork, lattice_of
from nsed.networks.operations import TargetScores, competing
from nsed.networks.outgoing import weighed
from nsed.text import EncodedStrings

TIGHT, LOOSE = {"rtol": 1e-5, "atol": 1e-4}, {"rtol": 1e-4, "atol": 1e-4}


def poison(device):
    """Freed memory full of NaN, so that a kernel that reads what nobody wrote is found out."""
    for size in (1 << 8, 1 << 12, 1 << 18):
        torch.full((size,), float("nan"), device=device)


def lattices(device):
    fast, slow = TritonBackend(), TorchBackend()
    for rows, columns, batch in ((1, 1, 1), (5, 4, 3), (1, 7, 2), (9, 1, 5), (3, 17, 9), (12, 12, 33), (2, 2, 300)):
        weights = torch.randn(3, rows, columns, batch, device=device) * 2 - 1
        weights[torch.rand_like(weights) < 0.1] = -1e30
        weights[::2, 0] = weights[1:, :, 0] = -1e30
        expected = slow.forward(weights, LOG).clamp(min=-1e30)
        poison(device)
        torch.testing.assert_close(fast.forward(weights, LOG), expected, **TIGHT)
        torch.testing.assert_close(fast.forward(weights, MAX), slow.forward(weights, MAX))
        injection = torch.randn(rows, columns, batch, device=device)
        gradients = (one.gradient(injection, weights, expected, LOG) for one in (fast, slow))
        torch.testing.assert_close(*gradients, **LOOSE)


def _sides(batch, n, m, dim, classes, device):
    source, target = (torch.randn(batch, size, dim, device=device) for size in (n, m))
    weight = torch.randn(classes, dim, device=device)
    weight = weight - weight.mean(1, keepdim=True)
    made = source, target, weight, torch.randn(classes, device=device)
    return [part.requires_grad_() for part in made]


def scores(device):
    for sizes in ((3, 5, 4, 24, 4), (2, 1, 7, 64, 9), (5, 9, 8, 40, 87), (1, 40, 3, 256, 4), (1, 2, 33, 16, 201)):
        given = _sides(*sizes, device)
        source, target, weight, constant = given
        poison(device)
        ours = gpu_scores(*given, eps=1e-5)
        x = (source[:, :, None] + target[:, None]).relu()
        expected = (x @ weight.T) * torch.rsqrt(x.var(-1, unbiased=False) + 1e-5)[..., None] + constant
        torch.testing.assert_close(ours, expected, **LOOSE)
        injection = torch.randn_like(ours)
        for one, other in zip(grad(ours, given, injection), grad(expected, given, injection), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)


def mixed(number):
    """The kernel's random numbers, in torch: 32 bits each."""
    number = ((number ^ (number >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    number = ((number ^ (number >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return number ^ (number >> 16)


def dropped_scores(device):
    """Forward and backward drop the same features, as many as they should; another seed drops others."""
    given, seed, rate = _sides(4, 3, 2, 64, 5, device), torch.tensor([2**31 - 5], device=device), 0.5
    source, target, weight, constant = given
    ours = pair_scores(source, target, weight.T.contiguous(), constant, seed, 1e-5, rate)[0]
    places = torch.arange(4 * 3 * 2 * 64, device=device).view(4, 3, 2, 64)
    kept = mixed((seed + places) & 0xFFFFFFFF) >= rate * 2**32
    assert 0.45 < kept.float().mean() < 0.55
    x = (source[:, :, None] + target[:, None]).relu() * kept / (1 - rate)
    expected = (x @ weight.T) * torch.rsqrt(x.var(-1, unbiased=False) + 1e-5)[..., None] + constant
    torch.testing.assert_close(ours, expected, **LOOSE)
    injection = torch.randn_like(ours)
    for one, other in zip(grad(ours, given, injection), grad(expected, given, injection), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-3)
    assert not torch.allclose(
        ours, pair_scores(source, target, weight.T.contiguous(), constant, seed + 1, 1e-5, rate)[0]
    )


def outgoing(device):
    for batch, n, m, symbols in ((3, 5, 4, 7), (2, 1, 6, 9), (4, 6, 1, 5), (5, 9, 8, 43), (1, 1, 1, 6)):
        z = torch.randn(batch, n, m, 2 * symbols + 1, device=device, requires_grad=True)
        target = torch.randint(4, symbols, (batch, m - 1), device=device)
        lengths = tuple(torch.randint(0, size, (batch,), device=device) for size in (n, m))
        expected = weighed(TargetScores(z), target, lengths)
        stack = usable(expected.arcs, *lengths)
        poison(device)
        arcs, end, _ = outgoing_arcs(z, target, *lengths)
        torch.testing.assert_close(arcs, stack, **TIGHT)
        torch.testing.assert_close(end, expected.end, **TIGHT)
        by_arcs, by_end = torch.randn_like(arcs) * (stack > -1e29), torch.randn_like(end)
        (ours,) = grad((arcs * by_arcs).sum() + (end * by_end).sum(), z)
        (theirs,) = grad((stack * by_arcs).sum() + (expected.end * by_end).sum(), z)
        torch.testing.assert_close(ours, theirs, **LOOSE)


def matching(device):
    for batch, n, m in ((3, 5, 4), (2, 1, 6), (4, 6, 1), (65, 9, 8), (1, 1, 1)):
        z = torch.randn(batch, n, m, 4, device=device, requires_grad=True)
        expected = competing(z)
        expected = torch.stack([*expected.arcs, expected.non_match]).permute(0, 2, 3, 1)
        poison(device)
        ours = match_arcs(z)
        torch.testing.assert_close(ours, expected, **TIGHT)
        injection = torch.randn_like(ours) * (ours > -1e29)
        torch.testing.assert_close(grad(ours, z, injection), grad(expected, z, injection), **LOOSE)


@torch.backends.cudnn.flags(allow_tf32=False)  # torch's own would be less exact than ours
def recurrences(device):
    for directions, batch, length, dim in ((2, 3, 5, 24), (1, 4, 1, 16), (2, 1, 7, 40)):
        units = [nn.GRU(dim, dim, batch_first=True, device=device) for _ in range(directions)]
        strings = [torch.randn(batch, length, dim, device=device, requires_grad=True) for _ in units]
        poison(device)
        ours = torch.stack(read_all(units, strings))
        expected = torch.stack([unit(string)[0] for unit, string in zip(units, strings, strict=True)])
        torch.testing.assert_close(ours, expected, **TIGHT)
        parts = [*itertools.chain(*(unit.parameters() for unit in units)), *strings]
        injection = torch.randn_like(ours)
        for one, other in zip(grad(ours, parts, injection), grad(expected, parts, injection), strict=True):
            torch.testing.assert_close(one, other, **LOOSE)


def lookups(device):
    table = nn.Embedding(7, 5, padding_idx=0, device=device)
    symbols, injection = torch.randint(0, 7, (4, 3), device=device), torch.randn(4, 3, 5, device=device)
    ours = _Lookup.apply(table.weight, symbols, 0)
    torch.testing.assert_close(ours, table(symbols))
    torch.testing.assert_close(grad(ours, table.weight, injection), grad(table(symbols), table.weight, injection))


def bulk(device):
    """Of networks with and without context, by a table and by vectors."""
    for largest in (LARGEST_TABLE, 0):
        with patch("nsed.networks.gpu_bulk.LARGEST_TABLE", largest):
            _bulk(device)


def _bulk(device):
    random = np.random.default_rng(3)
    texts = [[random.integers(4, 9, size).tolist() for size in sizes] for sizes in ((0, 1, 5, 9, 3), (6, 0, 2, 17))]
    strings = [EncodedStrings(side) for side in texts]
    pairs = random.integers(5, size=40), random.integers(4, size=40)
    for kind in ("unigram", "cnn"):
        encoder = EncoderConfig(kind=kind, dim=16, layers=1, max_length=20)
        network = MatcherNetwork(encoder, source_symbols=9, target_symbols=9).eval().requires_grad_(False).to(device)
        found = bulk_scores(network, *map(Strings, strings), pairs)
        sides = [
            Side(side.padded(rows).to(device), torch.from_numpy(side.lengths[rows]).to(device))
            for side, rows in zip(strings, pairs, strict=True)
        ]
        lattice = lattice_of(network(*sides), *(side.lengths for side in sides))
        torch.testing.assert_close(torch.from_numpy(found).float(), lattice.log_prob.cpu(), **LOOSE)


def permuted(device):
    """Pairs in another order have the same results, in that order; a pair does not see its neighbours."""
    batch, n, m, symbols = 7, 5, 4, 6
    order = torch.randperm(batch, device=device)
    source, target, weight, constant = (part.detach() for part in _sides(batch, n, m, 24, 2 * symbols + 1, device))
    z = gpu_scores(source, target, weight, constant, eps=1e-5)
    torch.testing.assert_close(gpu_scores(source[order], target[order], weight, constant, eps=1e-5), z[order], **TIGHT)
    labels = torch.randint(4, symbols, (batch, m - 1), device=device)
    lengths = tuple(torch.randint(0, size, (batch,), device=device) for size in (n, m))
    arcs, end, _ = outgoing_arcs(z, labels, *lengths)
    again, end_again, _ = outgoing_arcs(z[order].contiguous(), labels[order], *(length[order] for length in lengths))
    torch.testing.assert_close((again, end_again), (arcs[..., order], end[order]), **TIGHT)
    matched = match_arcs(z[..., :4].contiguous())
    torch.testing.assert_close(match_arcs(z[order][..., :4].contiguous()), matched[..., order], **TIGHT)
    torch.testing.assert_close(
        lattice_forward(arcs[..., order].contiguous()), lattice_forward(arcs)[..., order], **TIGHT
    )


def operations(device):
    """Torch's own checks of registered operations: schema, fake tensors, gradients, tracing."""
    source, target, weight, constant = _sides(2, 3, 4, 16, 5, device)
    seed, z = torch.tensor([5], device=device), torch.randn(2, 3, 4, 11, device=device, requires_grad=True)
    labels = torch.randint(4, 5, (2, 3), device=device)
    lengths = torch.tensor([2, 1], device=device), torch.tensor([3, 0], device=device)
    columns = weight.detach().T.contiguous().requires_grad_()
    loose = {"rtol": 1e-3, "atol": 1e-3}
    torch.library.opcheck(pair_scores, (source, target, columns, constant, seed, 1e-5, 0.2), **loose)
    torch.library.opcheck(outgoing_arcs, (z, labels, *lengths), **loose)
    weights, injection = torch.randn(3, 4, 5, 2, device=device), torch.randn(4, 5, 2, device=device)
    torch.library.opcheck(lattice_forward, (weights,))
    torch.library.opcheck(lattice_gradient, (weights, lattice_forward(weights), injection))
    torch.library.opcheck(match_arcs, (z.detach()[..., :4].clone().requires_grad_(),), **loose)


CHECKS = [lattices, scores, dropped_scores, outgoing, matching, recurrences, lookups, bulk, permuted, operations]

if __name__ == "__main__":
    torch.manual_seed(0)
    for check in CHECKS:
        check(torch.device("cpu"))
        print(check.__name__)  # noqa: T201  # for whoever runs the script
