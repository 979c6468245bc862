"""Extreme lattices, long strings and weights down to -1e6, in single precision against double: within known bounds.

The bounds are those of `src/nsed/lattice/README.md`: with eps = 2^-23 and A the largest finite |log alpha|, log_prob is
right to (n + m) eps A, the best script is as good as the best one to 2 (n + m) eps A, and where eps A is small,
posteriors are right to (n + m) eps A too.
"""

import pytest
import torch

from nsed.lattice import EditLattice
from nsed.types import REACHABLE
from support.lattices import BACKENDS

EPS = 2.0**-23
SHAPES = [(2000, 3), (200, 150)]
FAST = [backend for backend in BACKENDS if backend in ("torch", "numba")]


def weights(kind, n, m):
    """Three tables of arc weights, in single precision: both computations begin with the same numbers."""
    generator = torch.Generator().manual_seed(n + m)

    def uniform():
        return torch.rand(1, n + 1, m + 1, generator=generator)

    if kind == "to -1e6":
        return [-1e6 * uniform() for _ in range(3)]
    if kind == "half of them to -1e6":
        return [torch.where(uniform() < 0.5, -1e6 * uniform(), -uniform()) for _ in range(3)]
    if kind == "blocked":
        return [torch.where(uniform() < 0.2, -1e30, -5 * uniform()) for _ in range(3)]
    if kind == "probabilities":
        logits = 4 * torch.randn(4, 1, n + 1, m + 1, generator=generator)
        return list(logits.log_softmax(0)[:3])
    if kind == "all alike":
        return [torch.full((1, n + 1, m + 1), 1 / 3).log()] * 3
    return [3 * torch.randn(1, n + 1, m + 1, generator=generator) for _ in range(3)]  # log-odds


KINDS = ["to -1e6", "half of them to -1e6", "blocked", "probabilities", "all alike", "log-odds"]


def both(kind, n, m, backend):
    tables, lengths = weights(kind, n, m), (torch.tensor([n]), torch.tensor([m]))
    single = EditLattice(*tables, *lengths, backend=backend)
    return single, EditLattice(*(table.double() for table in tables), *lengths, backend=backend)


def largest(lattice):
    """The largest |log alpha| of cells that can be reached, at least 1."""
    alpha = lattice.log_alpha
    return max(1.0, float(alpha[alpha > REACHABLE].abs().max()))


@pytest.mark.parametrize("backend", FAST)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "m"), SHAPES)
def test_single_precision_keeps_the_bounds(n, m, kind, backend):
    single, double = both(kind, n, m, backend)
    bound = (n + m) * EPS * largest(double)
    assert single.log_prob.isfinite().all()
    if double.log_prob.item() <= REACHABLE:
        assert single.log_prob.item() <= REACHABLE
        return
    assert abs(single.log_prob.item() - double.log_prob.item()) <= bound
    best, exact = single.best_path(), double.best_path()
    assert abs(best.score.item() - exact.score.item()) <= bound
    assert exact.score.item() - weight_of(best, double) <= 2 * bound
    posteriors = torch.stack(list(single.posteriors)).double()
    assert ((posteriors >= 0) & (posteriors <= 1 + bound)).all()
    if EPS * largest(double) < 0.1:
        assert (posteriors - torch.stack(list(double.posteriors))).abs().max() <= bound


def weight_of(path, lattice):
    """The log-weight of a script that was found elsewhere."""
    return sum(float(lattice.arcs[step.operation - 1][0, step.i, step.j]) for step in path.steps(0))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["to -1e6", "half of them to -1e6"])
def test_two_strings_of_2000_symbols_keep_the_bounds(kind):
    single, double = both(kind, 2000, 2000, FAST[-1])
    assert abs(single.log_prob.item() - double.log_prob.item()) <= 4000 * EPS * largest(double)
    assert single.log_prob.isfinite().all()


def test_gradients_of_extreme_lattices_are_numbers_between_0_and_1():
    tables = [table.requires_grad_() for table in weights("to -1e6", 2000, 3)]
    EditLattice(*tables, torch.tensor([2000]), torch.tensor([3])).log_prob.sum().backward()
    for table in tables:
        assert table.grad.isfinite().all()
        assert (table.grad >= 0).all()
        assert (table.grad <= 1 + 1e-4).all()
