"""The k best derivations against the list of all derivations."""

import math

import pytest
import torch

from nsed.errors import ArgumentError
from nsed.lattice import EditLattice
from nsed.lattice.reference import all_paths, path_weight
from nsed.types import NEG, REACHABLE
from support.lattices import every_backend, random_case


def listed(grids):
    paths = all_paths(len(grids.delete) - 1, len(grids.delete[0]) - 1)
    weighed = [(path_weight(path, grids), path) for path in paths]
    return sorted((one for one in weighed if one[0] > REACHABLE), reverse=True)


@every_backend
@pytest.mark.parametrize("seed", range(6))
def test_k_best_paths_are_the_first_of_all_paths(backend, seed):
    case = random_case(seed, batch=5, n=3, m=1 + seed % 4)
    found = case.lattice(backend).best_paths(40)
    for pair in range(len(case)):
        expected = listed(case.grids(pair))[:40]
        assert [found.steps(pair, rank) for rank in range(len(expected))] == [path for _, path in expected]
        assert found.score[pair, : len(expected)].tolist() == pytest.approx([w for w, _ in expected], abs=1e-12)
        assert (found.score[pair, len(expected) :] == NEG).all()
        assert (found.operations[pair, len(expected) :] == 0).all()


def test_blocked_arcs_are_never_on_a_path():
    case = random_case(3)
    generator = torch.Generator().manual_seed(0)
    blocked = case.arcs.map(lambda t: t.masked_fill(torch.rand(t.shape, generator=generator) < 0.3, -torch.inf))
    case = case.replace(arcs=blocked)
    found = case.lattice().best_paths(400)
    for pair in range(len(case)):
        expected = listed(case.grids(pair))
        assert int((found.score[pair] > REACHABLE).sum()) == len(expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_first_is_the_best_path_also_among_equals(dtype):
    case = random_case(5, n=4, m=5, dtype=dtype)
    even = case.replace(arcs=case.arcs.map(lambda table: table.round()))
    for one in (case, even):
        lattice = one.lattice()
        best, ranked = lattice.best_path(), lattice.best_paths(3)
        assert [ranked.steps(pair, 0) for pair in range(len(one))] == [best.steps(pair) for pair in range(len(one))]


def test_shares_of_all_paths_sum_to_one_and_none_comes_twice():
    zeros = torch.zeros(1, 4, 4, dtype=torch.float64)
    lattice = EditLattice(zeros, zeros, zeros, torch.tensor([3]), torch.tensor([3]))
    found = lattice.best_paths(63)
    assert len({tuple(found.steps(0, rank)) for rank in range(63)}) == 63
    assert math.fsum((found.score - lattice.log_prob[:, None]).exp()[0].tolist()) == pytest.approx(1.0)


def test_long_strings_with_many_equals_take_no_time():
    zeros = torch.zeros(1, 201, 201)
    lattice = EditLattice(zeros, zeros, zeros, torch.tensor([200]), torch.tensor([200]))
    assert lattice.best_paths(5).score.tolist() == [[0.0] * 5]


@pytest.mark.parametrize(("n", "m"), [(3, 2), (0, 0)])
def test_paths_have_a_small_integer_for_every_step_there_can_be(n, m):
    lattice = random_case(2, batch=4, n=n, m=m).lattice()
    one, more, drawn = lattice.best_path(), lattice.best_paths(3), lattice.sample_paths(3)
    assert (one.operations.shape, more.operations.shape, drawn.operations.shape) == ((4, n + m), *[(4, 3, n + m)] * 2)
    assert {found.operations.dtype for found in (one, more, drawn)} == {torch.int8}
    assert {found.score.dtype for found in (one, more, drawn)} == {torch.float64}


def test_asking_for_no_path_says_so():
    with pytest.raises(ArgumentError, match="k: got 0, expected a whole number of paths, at least 1"):
        random_case(1).lattice().best_paths(0)
