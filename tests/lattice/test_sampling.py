"""Samples of derivations against their exact probabilities."""

import math

import pytest
import torch

from nsed.errors import ArgumentError
from nsed.lattice import EditLattice, Operation
from nsed.lattice.reference import all_paths, path_weight
from support.lattices import every_backend, random_case


@every_backend
def test_samples_follow_the_posterior_over_paths(backend):
    """A chi-square test over the 25 derivations of 2 x 3 symbols; the seed is fixed, the bound is the 0.1 % point."""
    case, draws = random_case(0, batch=4, n=2, m=3), 4000
    sampled = case.lattice(backend).sample_paths(draws, generator=torch.Generator().manual_seed(0))
    counts: dict[tuple, int] = {}
    for draw in range(draws):
        key = tuple(sampled.steps(3, draw))
        counts[key] = counts.get(key, 0) + 1
    grids, total = case.grids(3), float(case.lattice().log_prob[3])
    expected = {tuple(p): draws * math.exp(path_weight(p, grids) - total) for p in all_paths(2, 3)}
    assert set(counts) <= set(expected)
    statistic = sum((counts.get(path, 0) - e) ** 2 / e for path, e in expected.items())
    assert statistic < 51.2


def test_scores_are_the_weights_of_the_paths():
    case = random_case(1)
    sampled = case.lattice().sample_paths(3, generator=torch.Generator().manual_seed(2))
    for pair in range(len(case)):
        for draw in range(3):
            weight = path_weight(sampled.steps(pair, draw), case.grids(pair))
            assert float(sampled.score[pair, draw]) == pytest.approx(weight, abs=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_number_zero_from_the_generator_draws_no_impossible_arc(monkeypatch, dtype):
    monkeypatch.setattr(torch, "rand", lambda shape, dtype=None, **_: torch.zeros(shape, dtype=dtype))
    zeros = torch.zeros(1, 1, 3, dtype=dtype)
    sampled = EditLattice(zeros, zeros, zeros, torch.tensor([0]), torch.tensor([2])).sample_paths(1)
    assert [step.operation for step in sampled.steps(0, 0)] == [Operation.INSERT] * 2


def test_one_generator_seed_gives_one_sample():
    case = random_case(1)
    first, second = (case.lattice().sample_paths(5, generator=torch.Generator().manual_seed(9)) for _ in range(2))
    assert torch.equal(first.operations, second.operations)


def test_asking_for_no_path_says_so():
    with pytest.raises(ArgumentError, match="k: got 0, expected a whole number of paths, at least 1"):
        random_case(1).lattice().sample_paths(0)
