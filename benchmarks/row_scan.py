"""Why the lattice goes by anti-diagonals: error and time of the row form with prefix sums.

Within a row alpha is a first-order recursion, so `alpha = C + logcumsumexp(r - C)` with C the running sum of the insert
weights does a row at once. One blocked insert makes C huge, and what is subtracted and added again is lost.

`python -m benchmarks.row_scan`
"""

import torch

from benchmarks.lattice import lattice_log_prob
from benchmarks.timing import compare, save
from nsed.lattice import NEG, Arcs
from nsed.types import PerPair


def row_scan_log_prob(arcs: Arcs) -> PerPair:
    """Log-sum over all derivations, a row per step."""
    running = arcs.insert.clone()
    running[:, :, 0] = 0.0
    running = running.cumsum(-1)
    row = running[:, 0]
    for i in range(1, arcs.delete.shape[1]):
        entering = row + arcs.delete[:, i]
        by_substitution = torch.logaddexp(entering[:, 1:], row[:, :-1] + arcs.substitute[:, i, 1:])
        entering = torch.cat([entering[:, :1], by_substitution], dim=1)
        row = running[:, i] + torch.logcumsumexp(entering - running[:, i], dim=-1)
    return row[:, -1]


def random_arcs(dtype: torch.dtype, inserts_5_to_8: float | None) -> Arcs:
    """512 lattices of 20 x 20; with a number, the inserts of four columns all weigh that much."""
    generator = torch.Generator().manual_seed(0)
    arcs = Arcs(*(torch.randn(512, 21, 21, generator=generator, dtype=torch.float64) - 1.5 for _ in range(3)))
    if inserts_5_to_8 is not None:
        arcs.insert[:, :, 5:9] = inserts_5_to_8
    return arcs.map(lambda table: table.to(dtype))


def diagonals_log_prob(arcs: Arcs) -> PerPair:
    """As the torch backend does it."""
    return lattice_log_prob(arcs, "torch")


def main() -> None:
    """Print and save the largest error against double precision anti-diagonals, and the times."""
    figures: dict[str, object] = {"unit": "nats, largest error of log_prob over 512 pairs; milliseconds, forward"}
    for name, weight in (("plain", None), ("inserts of -1e4", -1e4), ("blocked inserts", NEG)):
        exact = diagonals_log_prob(random_arcs(torch.float64, weight))
        for dtype in (torch.float32, torch.float64):
            arcs = random_arcs(dtype, weight)
            errors = {
                form: float((function(arcs).double() - exact).abs().max())
                for form, function in (("rows", row_scan_log_prob), ("anti-diagonals", diagonals_log_prob))
            }
            figures[f"{name}, {str(dtype).removeprefix('torch.')}"] = errors
            print(f"{name}, {dtype}: " + ", ".join(f"{form} {error:.2g}" for form, error in errors.items()))
    arcs = random_arcs(torch.float32, None)
    times = compare(
        {"rows": lambda: row_scan_log_prob(arcs), "anti-diagonals": lambda: diagonals_log_prob(arcs)}, rounds=30
    )
    figures["times"] = {name: quantiles._asdict() for name, quantiles in times.items()}
    print(", ".join(f"{name} {quantiles.p50:.1f} ms" for name, quantiles in times.items()))
    print(f"saved to {save('row_scan', figures)}")


if __name__ == "__main__":
    main()
