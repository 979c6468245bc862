"""Forward and backward through the lattice alone, against a loop over cells; growth with length and batch."""

from collections.abc import Callable
from functools import partial

import torch

from benchmarks import cell_loop
from benchmarks.figures import Figure, Report, quantiles
from benchmarks.setting import Setting
from benchmarks.timing import SLOWER, compare, compared
from nsed.kernels.switch import AUTO, installed
from nsed.lattice import Arcs, EditLattice

BATCH, LENGTH = 512, 10
LOOP = "loop over cells"
CPU, CUDA = ("numba", "torch"), ("triton", "torch")
"""The backends that may be fast there; the first that is installed is called ours."""


def measure(setting: Setting) -> Report:
    """Milliseconds by size, for every fast backend."""
    figures: dict[str, Figure] = {}
    for length in setting.pick(cpu=(10, 20, 40), cuda=(10, 20, 40), quick=(5,)):
        figures |= _figures(setting, length)
    batches = setting.pick(cpu=(64, 256, 1024, 4096), cuda=(64, 256, 1024, 4096), quick=(2, 4))
    lengths = setting.pick(cpu=(5, 10, 20, 40), cuda=(5, 10, 20, 40), quick=(2, 4))
    growth = {
        "lattice, batch": {batch: _alone(setting, batch, LENGTH) for batch in batches},
        "lattice, length": {length: _alone(setting, BATCH, length) for length in lengths},
    }
    return {"batch": BATCH, "dtype": "float32", "figures": figures, "growth": growth}


def lattice_log_prob(arcs: Arcs, backend: str) -> torch.Tensor:
    """Log-sum over all derivations of pairs of full length, from `EditLattice`."""
    return EditLattice(*arcs, *_full(arcs), backend=backend, validate=False).log_prob


def random_arcs(batch: int, length: int, device: torch.device) -> Arcs:
    """Log-weights around zero."""
    generator = torch.Generator().manual_seed(0)
    tables = (torch.randn(batch, length + 1, length + 1, generator=generator) for _ in range(3))
    return Arcs(*(table.to(device).requires_grad_() for table in tables))


def _figures(setting: Setting, length: int) -> dict[str, Figure]:
    """All must give the same gradients."""
    size, arcs = f"{length}x{length}", random_arcs(BATCH, length, setting.device)
    fast = [name for name in setting.pick(cpu=CPU, cuda=CUDA, quick=("torch",)) if installed(name)]
    candidates = {name: partial(lattice_log_prob, arcs, name) for name in fast}
    candidates[LOOP] = partial(cell_loop.log_prob, cell_loop.OfArcs(arcs), *_full(arcs), sizes=(length + 1, length + 1))
    gradients = {name: torch.autograd.grad(run().sum(), arcs) for name, run in candidates.items()}
    for name in fast:
        torch.testing.assert_close(gradients[name], gradients[LOOP], rtol=1e-3, atol=1e-4)
    both_ways = {f"{size} {name}": setting.record(partial(_both_ways, run, arcs)) for name, run in candidates.items()}
    times = compare(both_ways, setting, rounds=setting.pick(cpu=7, cuda=15, quick=2))
    ours, *others = both_ways
    return compared(times, ours, dict.fromkeys(others, (SLOWER, None)))


def _alone(setting: Setting, batch: int, length: int) -> dict[str, float]:
    arcs = random_arcs(batch, length, setting.device)
    run = partial(lattice_log_prob, arcs, AUTO)
    times = compare(
        {"": setting.record(partial(_both_ways, run, arcs))}, setting, rounds=setting.pick(cpu=7, cuda=15, quick=2)
    )
    return quantiles(times[""])


def _full(arcs: Arcs) -> tuple[torch.Tensor, torch.Tensor]:
    """The lengths of pairs that need no padding."""
    batch, rows, columns = arcs.delete.shape
    device = arcs.delete.device
    return torch.full((batch,), rows - 1, device=device), torch.full((batch,), columns - 1, device=device)


def _both_ways(run: Callable[[], torch.Tensor], arcs: Arcs) -> torch.Tensor:
    return torch.autograd.grad(run().sum(), arcs)[0]
