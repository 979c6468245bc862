"""Scores of the classes in every cell: every implementation against its twin, and the twin against torch's modules."""

import numpy as np
import pytest
import torch
from torch import nn
from torch.autograd import grad, gradcheck

from nsed.kernels.dispatch import PAIR_SCORES
from nsed.kernels.torch import pair_scores as twin
from nsed.networks.pair_features import NormedProjection, PairFeatures, pair_scores
from support.kernels import LOOSE, TIGHT, every_way, numba_only, shapes

EPS, CLASSES = 1e-5, 4
SMALL = (3, 4, 5, 11, 4), (1, 1, 1, 8, 4), (2, 1, 7, 64, 9), (5, 9, 8, 40, 87), (1, 40, 3, 256, 4), (1, 2, 33, 16, 201)
EMPTY = (0, 3, 3, 8, 4), (2, 0, 3, 8, 4), (0, 3, 3, 8, 9), (2, 0, 3, 8, 9)
"""Pairs, rows, columns, features and classes."""


def case(batch=3, n=4, m=5, dim=11, classes=CLASSES, *, dtype=torch.float64, device="cpu"):
    generator = torch.Generator().manual_seed(0)
    source, target, weight, constant = (
        torch.randn(shape, dtype=dtype, generator=generator).to(device)
        for shape in ((batch, n, dim), (batch, m, dim), (classes, dim), (classes,))
    )
    return [part.requires_grad_() for part in (source, target, weight - weight.mean(1, keepdim=True), constant)]


def close_enough(dtype):
    return {"rtol": 1e-4, "atol": 1e-3} if dtype == torch.float32 else {"rtol": 1e-8, "atol": 1e-8}


def assert_like_twin(ours, theirs, inputs):
    """The same scores, and the same gradients."""
    close = close_enough(ours.dtype)
    torch.testing.assert_close(ours, theirs, **close)
    gradient = torch.randn_like(ours)
    for mine, other in zip(*(grad(out, inputs, gradient) for out in (ours, theirs)), strict=True):
        torch.testing.assert_close(mine, other, **close)


@every_way
@shapes(*SMALL, *EMPTY, large=((130, 3, 2, 33, 4), (130, 3, 2, 33, 9)))
def test_scores_and_gradients_are_the_twins(shape, way):
    for dtype in way.dtypes:
        inputs = case(*shape, dtype=dtype, device=way.device)
        if way.refuses(PAIR_SCORES, *inputs[:3], 0.0):
            assert 0 in shape
            continue
        way.poison()
        assert_like_twin(way.of(PAIR_SCORES).pair_scores(*inputs, eps=EPS), twin.pair_scores(*inputs, eps=EPS), inputs)


@every_way
@pytest.mark.parametrize("classes", [4, 13])
def test_pairs_do_not_see_their_neighbours(classes, way):
    inputs, order = case(7, 5, 4, 24, classes, dtype=torch.float32, device=way.device), torch.randperm(7)
    kernel = way.of(PAIR_SCORES)
    scores, other = (
        kernel.pair_scores(*sides, *inputs[2:], eps=EPS) for sides in (inputs[:2], [part[order] for part in inputs[:2]])
    )
    torch.testing.assert_close(other, scores[order], **TIGHT)


@every_way
@pytest.mark.parametrize("classes", [4, 13])
def test_padding_changes_nothing(classes, way):
    source, target, *folded = case(3, 4, 5, 24, classes, dtype=torch.float32, device=way.device)
    longer = (nn.functional.pad(part, (0, 0, 0, 3), value=7.0) for part in (source, target))
    scores, wider = (way.of(PAIR_SCORES).pair_scores(*some, *folded, eps=EPS) for some in ((source, target), longer))
    torch.testing.assert_close(wider[:, :4, :5], scores, **TIGHT)


@every_way
@pytest.mark.parametrize("shape", [(3, 4, 5, 11), (1, 1, 1, 1), (130, 3, 2, 33), (0, 3, 3, 8), (2, 0, 3, 8)], ids=str)
def test_tables_of_features_are_the_twins(shape, way):
    inputs = case(*shape, dtype=way.dtypes[-1], device=way.device)[:2]
    ours, theirs = (code.features(*inputs) for code in (way.of(PAIR_SCORES), twin))
    gradients = [torch.randn_like(part) for part in theirs]
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)
    for one, other in zip(*(grad(made, inputs, gradients) for made in (ours, theirs)), strict=True):
        torch.testing.assert_close(one, other)


@every_way
def test_dropout_is_drawn_from_torchs_generator(way):
    inputs = case(dtype=torch.float32, device=way.device)

    def seeded(seed, rate):
        torch.manual_seed(seed)
        return way.of(PAIR_SCORES).pair_scores(*inputs, eps=EPS, dropout=rate)

    assert torch.equal(seeded(3, 0.4), seeded(3, 0.4))
    assert not torch.equal(seeded(3, 0.4), seeded(4, 0.4))
    assert not torch.equal(seeded(3, 0.4), seeded(3, 0.0))


def test_the_twin_is_layer_normalisation_and_a_projection():
    torch.manual_seed(0)
    norm, linear = nn.LayerNorm(11), nn.Linear(11, 6)
    source, target = case(dtype=torch.float32)[:2]
    weight = linear.weight * norm.weight
    folded = weight - weight.mean(1, keepdim=True), linear.weight @ norm.bias + linear.bias
    expected = linear(norm((source[:, :, None] + target[:, None]).relu()))
    torch.testing.assert_close(twin.pair_scores(source, target, *folded, eps=norm.eps), expected, **LOOSE)


def test_the_twin_drops_as_torch_drops():
    source, target, weight, constant = case()
    torch.manual_seed(5)
    x = nn.functional.dropout((source[:, :, None] + target[:, None]).relu(), 0.4)
    torch.manual_seed(5)
    assert torch.equal(twin.features(source, target, dropout=0.4).x, x)
    assert not twin.pair_scores(source, target, weight, constant, eps=EPS, dropout=1.0).sub(constant).any()


@numba_only
class TestNumba:
    """What only the kernels for a CPU have: two ways for four classes, one draw for all, long vectors."""

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize(
        "shape", [(3, 4, 5, 11), (1, 1, 1, 8), (130, 3, 2, 33), (0, 3, 3, 8), (2, 0, 3, 8), (70, 20, 20, 4)], ids=str
    )
    def test_scores_in_slices_are_the_twins(self, shape, dtype):
        from nsed.kernels.numba.pair_features import SlicedScores

        inputs = case(*shape, dtype=dtype)
        assert_like_twin(SlicedScores.apply(*inputs, EPS, 0.0), twin.pair_scores(*inputs, eps=EPS), inputs)

    def test_gradients_in_slices_with_dropout_are_those_of_the_same_draw(self, monkeypatch):
        from nsed.kernels.numba.pair_features import SlicedScores
        from nsed.kernels.numba.pair_scores import fused_scores

        monkeypatch.setattr("nsed.kernels.numba.pair_features.CELLS", 20)

        def seeded(*inputs):
            torch.manual_seed(3)
            return SlicedScores.apply(*inputs, EPS, 0.4)

        inputs = case()
        assert gradcheck(seeded, inputs)
        assert not torch.equal(seeded(*inputs), SlicedScores.apply(*inputs, EPS, 0.0))
        in_slices = seeded(*inputs)
        torch.manual_seed(3)
        torch.testing.assert_close(in_slices, fused_scores(*inputs, eps=EPS, dropout=0.4))  # the same features drop

    def test_gradients_of_tables_with_dropout_are_those_of_the_same_draw(self):
        from nsed.kernels.numba.pair_scores import features

        def seeded(*inputs):
            torch.manual_seed(3)
            return features(*inputs, dropout=0.4)

        inputs = case()[:2]
        assert gradcheck(seeded, inputs)
        dropped = (seeded(*inputs).x == 0) & (features(*inputs).x > 0)
        assert 0.15 < dropped.double().mean() < 0.25

    def test_gradients_with_dropout_are_those_of_the_same_draw(self):
        from nsed.kernels.numba.pair_scores import fused_scores

        def seeded(*inputs):
            torch.manual_seed(3)
            return fused_scores(*inputs, eps=EPS, dropout=0.4)

        inputs = case()
        assert gradcheck(seeded, inputs)
        assert not torch.equal(seeded(*inputs), fused_scores(*inputs, eps=EPS))

    def test_dropout_drops_as_many_as_it_says_and_keeps_the_mean(self):
        from nsed.kernels.numba.pair_scores import fused_scores

        ones, weight = torch.ones(40, 6, 500, dtype=torch.float64), torch.zeros(CLASSES, 500, dtype=torch.float64)
        weight[0, 0], weight[0, 1] = 0.5, -0.5
        torch.manual_seed(0)
        source = ones.requires_grad_(True)
        constant = torch.zeros(CLASSES, dtype=torch.float64)
        fused_scores(source, torch.zeros_like(ones), weight, constant, eps=1e6, dropout=0.3)[..., 0].sum().backward()
        assert source.grad[..., 2:].abs().max() < 1e-6
        kept = (source.grad[..., 0] / source.grad[..., 0].max()).mean()
        assert kept.item() == pytest.approx(0.7, abs=0.05)

    def test_what_is_dropped_in_one_cell_says_nothing_about_another(self):
        """Neither of two cells or places alone, nor of four that share theirs."""
        from nsed.kernels.numba.math import mixed, number_of

        cells, places = (np.array([mixed(np.uint32(k)) for k in range(start, start + 300)]) for start in (0, 10**6))
        signs = np.array([[1 if number_of(cell, place) >= 2**31 else -1 for place in places] for cell in cells])
        noise = 1 / np.sqrt(len(places))
        for one, other in ((signs, signs.T), (signs.T, signs)):
            together = one @ other / len(places)
            assert abs(together[~np.eye(len(cells), dtype=bool)]).max() < 6 * noise
        assert abs((signs[:-1, :-1] * signs[:-1, 1:] * signs[1:, :-1] * signs[1:, 1:]).mean()) < 6 / len(places)


@every_way
@pytest.mark.parametrize("classes", [CLASSES, 7])
def test_networks_have_the_same_scores_by_torch(classes, way):
    from nsed.kernels import use_backend

    torch.manual_seed(1)
    features = PairFeatures(8, attention=False, heads=1, interaction=0).to(way.device)
    projection = NormedProjection(8, classes, attends=False).to(way.device)
    source, target = case(dim=8, dtype=torch.float32, device=way.device)[:2]
    real = torch.ones(3, 4, dtype=torch.bool, device=way.device)
    factors, dropout = features.factors(features.of_source(source, real), target), nn.Dropout(0.5).eval()
    fast = pair_scores(features, projection, dropout, factors)
    with use_backend("torch"):
        torch.testing.assert_close(fast, pair_scores(features, projection, dropout, factors), rtol=1e-4, atol=1e-5)
