"""Transport plans: their masses, a slow double, padding, order and gradients."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from nsed.baselines.pair_networks import real_pairs, transport_plan


def plan_of(similarity, lengths, *, temperature=1.0, iterations=200):
    source, target = (torch.tensor(side) for side in zip(*lengths, strict=True))
    return transport_plan(similarity, source, target, temperature=temperature, iterations=iterations)


def reference(similarity, *, temperature, iterations):
    """Sinkhorn's algorithm as he wrote it: one pair, numbers instead of logarithms, one cell after the other."""
    rows, columns = len(similarity), len(similarity[0])
    kernel = [[math.exp(value / temperature) for value in row] for row in similarity]
    by_row, by_column = [1.0] * rows, [1.0] * columns
    for _ in range(iterations):
        for i in range(rows):
            by_row[i] = 1 / rows / sum(kernel[i][j] * by_column[j] for j in range(columns))
        for j in range(columns):
            by_column[j] = 1 / columns / sum(kernel[i][j] * by_row[i] for i in range(rows))
    return [[by_row[i] * kernel[i][j] * by_column[j] for j in range(columns)] for i in range(rows)]


def similarities(*shape, seed=0, dtype=torch.float64):
    return 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def test_every_symbol_gives_and_gets_its_share():
    plan = plan_of(similarities(3, 5, 4), [(5, 4), (2, 4), (1, 1)])
    for pair, (height, width) in enumerate([(5, 4), (2, 4), (1, 1)]):
        own = plan[pair, :height, :width]
        torch.testing.assert_close(own.sum(1), torch.full((height,), 1 / height, dtype=own.dtype), rtol=1e-8, atol=0)
        torch.testing.assert_close(own.sum(0), torch.full((width,), 1 / width, dtype=own.dtype), rtol=1e-12, atol=0)


def test_padding_has_no_mass_at_all():
    lengths = [(5, 4), (2, 3), (1, 4)]
    similarity = similarities(3, 5, 4)
    plan = plan_of(similarity, lengths, iterations=3)
    real = real_pairs(*(torch.tensor(side) for side in zip(*lengths, strict=True)), similarity)
    assert (plan[~real] == 0).all()
    assert (plan[real] > 0).all()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 12), st.floats(0.3, 3.0), st.integers(0, 1000))
def test_it_is_the_algorithm_as_written(height, width, iterations, temperature, seed):
    similarity = similarities(1, height, width, seed=seed)
    plan = plan_of(similarity, [(height, width)], temperature=temperature, iterations=iterations)
    expected = reference(similarity[0].tolist(), temperature=temperature, iterations=iterations)
    torch.testing.assert_close(plan[0], torch.tensor(expected, dtype=torch.float64), rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("filling", [0.0, 50.0, -50.0])
def test_what_stands_in_padding_changes_nothing(filling):
    small = similarities(2, 3, 2)
    large = torch.full((2, 6, 7), filling, dtype=small.dtype)
    large[:, :3, :2] = small
    lengths = [(3, 2), (2, 1)]
    torch.testing.assert_close(plan_of(large, lengths)[:, :3, :2], plan_of(small, lengths), rtol=1e-12, atol=0)


def test_symbols_in_another_order_have_the_same_plan_in_that_order():
    similarity, rows, columns = similarities(1, 4, 3), torch.tensor([2, 0, 3, 1]), torch.tensor([1, 2, 0])
    moved = plan_of(similarity[:, rows][:, :, columns], [(4, 3)], iterations=7)
    torch.testing.assert_close(moved, plan_of(similarity, [(4, 3)], iterations=7)[:, rows][:, :, columns])


def test_a_constant_that_is_added_everywhere_changes_nothing():
    """So similarities do as well as costs."""
    similarity = similarities(1, 4, 3)
    torch.testing.assert_close(plan_of(similarity + 100, [(4, 3)]), plan_of(similarity, [(4, 3)]))


def test_gradients_are_right_and_padding_gets_none():
    similarity = similarities(2, 3, 4).requires_grad_()

    def plan(table):
        return plan_of(table, [(3, 4), (2, 3)], iterations=4)

    assert torch.autograd.gradcheck(plan, similarity)
    weights = similarities(2, 3, 4, seed=5)
    (gradient,) = torch.autograd.grad((plan(similarity) * weights).sum(), similarity)
    assert (gradient[1, 2:] == 0).all()
    assert (gradient[1, :, 3:] == 0).all()
    assert (gradient[0] != 0).all()


def test_very_different_similarities_stay_finite_in_single_precision():
    similarity = torch.tensor([[[3000.0, -3000.0], [-3000.0, 3000.0]]], requires_grad=True)
    plan = plan_of(similarity, [(2, 2)], iterations=20)
    plan.square().sum().backward()
    torch.testing.assert_close(plan.detach(), torch.tensor([[[0.5, 0.0], [0.0, 0.5]]]))
    assert similarity.grad.isfinite().all()
