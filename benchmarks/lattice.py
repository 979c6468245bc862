"""Forward and backward through the lattice, against a loop over cells: `python -m benchmarks.lattice`."""

from collections.abc import Callable
from functools import partial

import torch

from benchmarks import cell_loop
from benchmarks.timing import Quantiles, compare, save
from nsed.lattice import Arcs, EditLattice
from nsed.lattice.backends import BACKENDS

SIZES = ((10, 10), (20, 20), (40, 40))
BATCH = 512
FAST = [name for name in ("numba", "torch") if name in BACKENDS]


def lattice_log_prob(arcs: Arcs, backend: str) -> torch.Tensor:
    """The same number from `EditLattice`."""
    batch, rows, columns = arcs.delete.shape
    lengths = (torch.full((batch,), rows - 1), torch.full((batch,), columns - 1))
    return EditLattice(*arcs, *lengths, backend=backend).log_prob


def measure(n: int, m: int) -> dict[str, Quantiles]:
    """Milliseconds for one forward and backward pass of a random batch; all must give the same gradients."""
    generator = torch.Generator().manual_seed(0)
    arcs = Arcs(*(torch.randn(BATCH, n + 1, m + 1, generator=generator).requires_grad_() for _ in range(3)))
    candidates = {name: partial(lattice_log_prob, arcs, name) for name in FAST}
    candidates["loop over cells"] = partial(cell_loop.log_prob, arcs)
    gradients = {name: torch.autograd.grad(run().sum(), arcs) for name, run in candidates.items()}
    for name in FAST:
        for one, other in zip(gradients[name], gradients["loop over cells"], strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    return compare({name: partial(_both_ways, run, arcs) for name, run in candidates.items()}, rounds=15)


def _both_ways(run: Callable[[], torch.Tensor], arcs: Arcs) -> None:
    torch.autograd.grad(run().sum(), arcs)


def main() -> None:
    """Measure all sizes, print them, save them."""
    figures: dict[str, object] = {"batch": BATCH, "dtype": "float32", "unit": "milliseconds, forward and backward"}
    for n, m in SIZES:
        times = measure(n, m)
        loop = times["loop over cells"].p50
        ratios = {f"{name} ratio": round(loop / times[name].p50, 1) for name in FAST}
        figures[f"{n}x{m}"] = {**{name: quantiles._asdict() for name, quantiles in times.items()}, **ratios}
        print(f"{n} x {m}: " + ", ".join(f"{name} {taken.p50:.1f} ms" for name, taken in times.items()), ratios)
    print(f"saved to {save('lattice', figures)}")


if __name__ == "__main__":
    main()
