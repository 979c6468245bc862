"""The lattice on a GPU gives what it gives on the CPU, and its loops never wait for the device."""

import pytest
import torch

from nsed.lattice import Arcs, EditLattice
from support.lattices import random_case

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU here")

QUANTITIES = ["log_prob", "log_alpha", "log_beta", "entropy", "occupancy"]


def on_gpu(case):
    arcs = case.arcs.map(lambda table: table.cuda().requires_grad_())
    return arcs, EditLattice(*arcs, case.source_lengths.cuda(), case.target_lengths.cuda())


@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-10), (torch.float32, 1e-3)])
@pytest.mark.parametrize("seed", range(3))
def test_quantities_and_gradients_equal_those_of_the_cpu(dtype, tolerance, seed):
    case = random_case(seed, batch=33, n=9, m=12, dtype=dtype)
    arcs = case.arcs.map(lambda table: table.clone().requires_grad_())
    here, (gpu_arcs, there) = EditLattice(*arcs, case.source_lengths, case.target_lengths), on_gpu(case)
    for name in QUANTITIES:
        torch.testing.assert_close(getattr(there, name).cpu(), getattr(here, name), rtol=tolerance, atol=tolerance)
    gradients = [
        torch.autograd.grad((x.log_prob.sum() + x.entropy.sum()), a) for x, a in ((there, gpu_arcs), (here, arcs))
    ]
    for ours, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(ours.cpu(), expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(there.best_path().operations.cpu(), here.best_path().operations)
    assert there.sample_paths(3).operations.shape == (33, 3, 21)


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")  # torch calls it a prototype
def test_nothing_waits_for_the_device():
    case = random_case(1, batch=64, n=8, m=8, dtype=torch.float32)
    arcs = Arcs(*(table.cuda().requires_grad_() for table in case.arcs))
    lengths = case.source_lengths.cuda(), case.target_lengths.cuda()
    torch.cuda.set_sync_debug_mode("error")
    try:
        lattice = EditLattice(*arcs, *lengths, validate=False)
        (lattice.log_prob.sum() + lattice.entropy.sum()).backward()
        lattice.best_path()
        lattice.sample_paths(2)
    finally:
        torch.cuda.set_sync_debug_mode("default")
