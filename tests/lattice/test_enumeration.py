"""Every backend against the list of all derivations."""

import pytest
import torch

from nsed.lattice import Operation, Step
from nsed.lattice.reference import all_paths, alpha, beta, enumerate_all, logaddexp
from nsed.types import NEG
from support.lattices import Case, every_backend, random_case

SIZES = [(0, 0), (0, 3), (3, 0), (1, 1), (2, 3), (3, 2), (4, 4)]


def test_number_of_paths_is_the_delannoy_number():
    assert [len(list(all_paths(n, n))) for n in range(5)] == [1, 3, 13, 63, 321]


@every_backend
@pytest.mark.parametrize("size", SIZES)
def test_all_quantities_equal_enumeration(backend, size):
    case = random_case(seed=sum(size), n=size[0], m=size[1])
    check_against_enumeration(case, backend)


@every_backend
@pytest.mark.parametrize("seed", range(20))
def test_all_quantities_equal_enumeration_on_more_seeds(backend, seed):
    check_against_enumeration(random_case(seed, batch=5, n=1 + seed % 4, m=1 + seed // 5), backend)


@every_backend
def test_blocked_arcs_equal_enumeration(backend):
    case = random_case(3)
    generator = torch.Generator().manual_seed(0)
    blocked = case.arcs.map(lambda t: t.masked_fill(torch.rand(t.shape, generator=generator) < 0.3, -torch.inf))
    check_against_enumeration(case.replace(arcs=blocked), backend)


def check_against_enumeration(case: Case, backend: str) -> None:
    lattice = case.lattice(backend)
    best = lattice.best_path()
    for pair in range(len(case)):
        listed = enumerate_all(case.grids(pair))
        close(lattice.log_prob[pair], listed.log_prob)
        close(lattice.entropy[pair], listed.entropy)
        close(best.score[pair], listed.best_score)
        if listed.best_score > NEG:
            assert best.steps(pair) == listed.best_path
        for operation, table in enumerate(lattice.posteriors, start=1):
            for i, row in enumerate(table[pair].tolist()):
                for j, value in enumerate(row):
                    close(value, listed.posterior.get(Step(Operation(operation), i, j), 0.0))


def close(value, expected):
    assert float(value) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("plus", [logaddexp, max])
def test_reference_tables_agree_with_enumeration(plus):
    grids = random_case(11).grids(3)
    listed = enumerate_all(grids)
    expected = listed.log_prob if plus is logaddexp else listed.best_score
    close(alpha(grids, plus)[-1][-1], expected)
    close(beta(grids, plus)[0][0], expected)
