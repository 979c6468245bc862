"""First and second derivatives, and extreme weights."""

import pytest
import torch

from nsed.lattice import EditLattice
from support.lattices import BACKENDS, random_case, with_rubbish

QUANTITIES = {
    "log_prob": lambda lattice: lattice.log_prob,
    "log_alpha": lambda lattice: lattice.log_alpha.clamp(min=-1e6),
    "log_beta": lambda lattice: lattice.log_beta.clamp(min=-1e6),
    "entropy": lambda lattice: lattice.entropy,
    "posteriors": lambda lattice: torch.stack(list(lattice.posteriors)),
    "expected": lambda lattice: torch.stack(list(lattice.expected_operations())),
    "best score": lambda lattice: lattice.best_path().score,
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("quantity", QUANTITIES)
def test_gradcheck_and_gradgradcheck(quantity, backend):
    case = random_case(1, batch=4, n=2, m=1 if backend == "reference" else 2)  # scalar loops take their time

    def function(*arcs):
        lattice = EditLattice(*arcs, case.source_lengths, case.target_lengths, backend=backend)
        return QUANTITIES[quantity](lattice)

    arcs = [table.clone().requires_grad_() for table in case.arcs]
    assert torch.autograd.gradcheck(function, arcs)
    if quantity != "best score":  # piecewise linear: its second derivative is zero and has no graph
        assert torch.autograd.gradgradcheck(function, arcs, fast_mode=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("low", [-1e2, -1e4, -torch.inf])
@pytest.mark.parametrize("share", [0.3, 0.9, 1.0])
def test_no_nan_for_extreme_weights(dtype, backend, low, share):
    case = with_rubbish(random_case(17, dtype=dtype, n=5, m=6), torch.nan)
    generator = torch.Generator().manual_seed(1)
    arcs = case.arcs.map(
        lambda t: t.masked_fill(torch.rand(t.shape, generator=generator) < share, low).requires_grad_()
    )
    lattice = EditLattice(*arcs, case.source_lengths, case.target_lengths, backend=backend)
    for name, quantity in QUANTITIES.items():
        value = quantity(lattice)
        assert value.isfinite().all(), name
        for gradient in torch.autograd.grad(value.sum(), arcs, retain_graph=True):
            assert gradient.isfinite().all(), name


def test_gradients_stay_bounded_when_every_derivation_is_blocked():
    """Ratios of unreachable cells must be 0: three ratios of 1 would grow like 3 to the power of the length."""
    blocked = torch.full((1, 200, 200), -torch.inf, requires_grad=True)
    lattice = EditLattice(blocked, blocked, blocked, torch.tensor([199]), torch.tensor([199]))
    (gradient,) = torch.autograd.grad(lattice.log_alpha.sum(), blocked)
    assert not gradient.any()
    assert lattice.best_path().steps(0) == []
    assert not torch.stack(list(lattice.posteriors)).any()


def test_single_precision_stays_near_double_for_weights_of_minus_ten_thousand():
    case = random_case(4, batch=20, n=12, m=12)
    arcs = case.arcs._replace(insert=case.arcs.insert.clone())
    arcs.insert[:, :, 5:9] = -1e4
    double = case.replace(arcs=arcs).lattice()
    single = case.replace(arcs=arcs.map(torch.Tensor.float)).lattice()
    torch.testing.assert_close(single.log_prob.double(), double.log_prob, rtol=1e-5, atol=1e-5)


def test_nan_in_a_real_arc_is_not_hidden():
    case = random_case(6)
    case.arcs.substitute[3, 1, 1] = torch.nan
    assert case.lattice().log_prob[3].isnan()
