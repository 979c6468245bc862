"""The compiled scores against the readable ones."""

import numpy as np
import pytest
import torch
from nsed.kernels.compiled_features import compiled_features
from nsed.kernels.fused_scores import CLASSES, LANES, fused_scores
from nsed.kernels.numba_random import mixed, number_of
from nsed.kernels.sliced_scores import sliced_scores

from nsed.kernels import numba_vectors
from nsed.networks.pair_features import NormedProjection, PairFeatures, pair_scores

EPS = 1e-5


def case(batch=3, n=4, m=5, dim=11, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    source, target, weight, constant = (
        torch.randn(shape, dtype=dtype, generator=generator)
        for shape in ((batch, n, dim), (batch, m, dim), (CLASSES, dim), (CLASSES,))
    )
    return source, target, weight - weight.mean(1, keepdim=True), constant


def readable(source, target, weight, constant):
    x = (source[:, :, None] + target[:, None]).relu()
    variance = (x - x.mean(-1, keepdim=True)).square().mean(-1, keepdim=True)
    return x * torch.rsqrt(variance + EPS) @ weight.T + constant


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "shape", [(3, 4, 5, 11), (1, 1, 1, 8), (2, 1, 7, 64), (130, 3, 2, 33), (0, 3, 3, 8), (2, 0, 3, 8)]
)
def test_scores_and_gradients_are_the_readable_ones(shape, dtype):
    inputs = [part.requires_grad_(True) for part in case(*shape, dtype=dtype)]
    ours, theirs = fused_scores(*inputs, eps=EPS), readable(*inputs)
    close = {"rtol": 1e-4, "atol": 1e-4} if dtype == torch.float32 else {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(ours, theirs, **close)
    gradient = torch.randn_like(ours)
    for mine, other in zip(*(torch.autograd.grad(out, inputs, gradient) for out in (ours, theirs)), strict=True):
        torch.testing.assert_close(mine, other, **close)


@pytest.mark.parametrize("shape", [(3, 4, 5, 11), (1, 1, 1, 1), (130, 3, 2, 33), (0, 3, 3, 8), (2, 0, 3, 8)])
def test_tables_of_features_are_the_readable_ones(shape):
    source, target = (part.requires_grad_(True) for part in case(*shape)[:2])
    ours = compiled_features(source, target)
    x = (source[:, :, None] + target[:, None]).relu()
    theirs = (x, x.sum(-1), x.square().sum(-1))
    gradients = [torch.randn_like(part) for part in theirs]
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)
    both = (torch.autograd.grad(made, (source, target), gradients) for made in (ours, theirs))
    for one, other in zip(*both, strict=True):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "shape", [(3, 4, 5, 11), (1, 1, 1, 8), (130, 3, 2, 33), (0, 3, 3, 8), (2, 0, 3, 8), (70, 20, 20, 4)]
)
def test_scores_in_slices_are_the_readable_ones(shape, dtype):
    inputs = [part.requires_grad_(True) for part in case(*shape, dtype=dtype)]
    ours, theirs = sliced_scores(*inputs, eps=EPS), readable(*inputs)
    close = {"rtol": 1e-3, "atol": 1e-3} if dtype == torch.float32 else {"rtol": 1e-8, "atol": 1e-8}
    torch.testing.assert_close(ours, theirs, **close)
    gradient = torch.randn_like(ours)
    for mine, other in zip(*(torch.autograd.grad(out, inputs, gradient) for out in (ours, theirs)), strict=True):
        torch.testing.assert_close(mine, other, **close)


def test_gradients_in_slices_with_dropout_are_those_of_the_same_draw(monkeypatch):
    monkeypatch.setattr("nsed.kernels.sliced_scores.CELLS", 20)

    def seeded(*inputs):
        torch.manual_seed(3)
        return sliced_scores(*inputs, eps=EPS, dropout=0.4)

    inputs = [part.requires_grad_(True) for part in case()]
    assert torch.autograd.gradcheck(seeded, inputs)
    assert not torch.equal(seeded(*inputs), sliced_scores(*inputs, eps=EPS))
    in_slices = seeded(*inputs)
    torch.manual_seed(3)
    torch.testing.assert_close(in_slices, fused_scores(*inputs, eps=EPS, dropout=0.4))  # the same features drop


def test_gradients_of_tables_with_dropout_are_those_of_the_same_draw():
    def seeded(*inputs):
        torch.manual_seed(3)
        return compiled_features(*inputs, dropout=0.4)

    inputs = [part.requires_grad_(True) for part in case()[:2]]
    assert torch.autograd.gradcheck(seeded, inputs)
    dropped = (seeded(*inputs).x == 0) & (compiled_features(*inputs).x > 0)
    assert 0.15 < dropped.double().mean() < 0.25


def test_gradients_with_dropout_are_those_of_the_same_draw():
    def seeded(*inputs):
        torch.manual_seed(3)
        return fused_scores(*inputs, eps=EPS, dropout=0.4)

    inputs = [part.requires_grad_(True) for part in case()]
    assert torch.autograd.gradcheck(seeded, inputs)
    assert not torch.equal(seeded(*inputs), fused_scores(*inputs, eps=EPS))


def test_dropout_drops_as_many_as_it_says_and_keeps_the_mean():
    ones, weight = torch.ones(40, 6, 500, dtype=torch.float64), torch.zeros(CLASSES, 500, dtype=torch.float64)
    weight[0, 0], weight[0, 1] = 0.5, -0.5
    torch.manual_seed(0)
    source = ones.requires_grad_(True)
    constant = torch.zeros(CLASSES, dtype=torch.float64)
    fused_scores(source, torch.zeros_like(ones), weight, constant, eps=1e6, dropout=0.3)[..., 0].sum().backward()
    assert source.grad[..., 2:].abs().max() < 1e-6
    kept = (source.grad[..., 0] / source.grad[..., 0].max()).mean()
    assert kept.item() == pytest.approx(0.7, abs=0.05)


def test_what_is_dropped_in_one_cell_says_nothing_about_another():
    """Neither of two cells or places alone, nor of four that share theirs."""
    cells, places = (np.array([mixed(np.uint32(k)) for k in range(start, start + 300)]) for start in (0, 10**6))
    signs = np.array([[1 if number_of(cell, place) >= 2**31 else -1 for place in places] for cell in cells])
    noise = 1 / np.sqrt(len(places))
    for one, other in ((signs, signs.T), (signs.T, signs)):
        together = one @ other / len(places)
        assert abs(together[~np.eye(len(cells), dtype=bool)]).max() < 6 * noise
    assert abs((signs[:-1, :-1] * signs[:-1, 1:] * signs[1:, :-1] * signs[1:, 1:]).mean()) < 6 / len(places)


def test_a_vector_is_as_long_here_as_in_the_kernels():
    assert LANES == numba_vectors.LANES


@pytest.mark.parametrize("classes", [CLASSES, 7])
def test_either_way_gives_the_same_scores(classes, monkeypatch):
    torch.manual_seed(1)
    features, projection = (
        PairFeatures(8, attention=False, heads=1, interaction=0),
        NormedProjection(8, classes, attends=False),
    )
    source, target = case(dim=8, dtype=torch.float32)[:2]
    factors = features.factors(features.of_source(source, torch.ones(3, 4, dtype=torch.bool)), target)
    dropout = torch.nn.Dropout(0.5).eval()
    fused = pair_scores(features, projection, dropout, factors)
    monkeypatch.setattr("nsed.networks.pair_features.can_fuse", lambda *_: False)
    torch.testing.assert_close(fused, pair_scores(features, projection, dropout, factors), rtol=1e-4, atol=1e-5)
