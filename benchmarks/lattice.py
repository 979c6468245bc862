"""Forward and backward through the lattice, against a loop over cells: `python -m benchmarks.lattice`."""

import torch

from benchmarks import cell_loop
from benchmarks.timing import Quantiles, compare, save
from nsed.lattice import Arcs, EditLattice

SIZES = ((10, 10), (20, 20), (40, 40))
BATCH = 512


def lattice_log_prob(arcs: Arcs) -> torch.Tensor:
    """The same number from `EditLattice`."""
    batch, rows, columns = arcs.delete.shape
    lengths = (torch.full((batch,), rows - 1), torch.full((batch,), columns - 1))
    return EditLattice(*arcs, *lengths, backend="torch").log_prob


def measure(n: int, m: int) -> dict[str, Quantiles]:
    """Milliseconds for one forward and backward pass of a random batch; both must give the same gradients."""
    generator = torch.Generator().manual_seed(0)
    arcs = Arcs(*(torch.randn(BATCH, n + 1, m + 1, generator=generator).requires_grad_() for _ in range(3)))
    ours, theirs = (torch.autograd.grad(f(arcs).sum(), arcs) for f in (lattice_log_prob, cell_loop.log_prob))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
    return compare(
        {
            "lattice": lambda: torch.autograd.grad(lattice_log_prob(arcs).sum(), arcs),
            "loop over cells": lambda: torch.autograd.grad(cell_loop.log_prob(arcs).sum(), arcs),
        },
        rounds=15,
    )


def main() -> None:
    """Measure all sizes, print them, save them."""
    figures: dict[str, object] = {"batch": BATCH, "dtype": "float32", "unit": "milliseconds, forward and backward"}
    for n, m in SIZES:
        times = measure(n, m)
        ratio = times["loop over cells"].p50 / times["lattice"].p50
        figures[f"{n}x{m}"] = {**{k: v._asdict() for k, v in times.items()}, "ratio": round(ratio, 1)}
        print(f"{n} x {m}: {times['lattice'].p50:.1f} ms against {times['loop over cells'].p50:.1f} ms, {ratio:.0f} x")
    print(f"saved to {save('lattice', figures)}")


if __name__ == "__main__":
    main()
