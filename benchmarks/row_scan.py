"""Why the lattice goes by anti-diagonals: error and time of the row form with prefix sums.

Within a row alpha is a first-order recursion, so `alpha = C + logcumsumexp(r - C)` with C the running sum of the insert
weights does a row at once. One blocked insert makes C huge, and what is subtracted and added again is lost.
"""

from functools import partial

import torch

from benchmarks.figures import Report
from benchmarks.lattice import lattice_log_prob
from benchmarks.setting import Setting
from benchmarks.timing import SLOWER, compare, compared
from nsed.lattice import Arcs
from nsed.types import NEG, PerPair

PAIRS, ROWS, DIAGONALS = 512, "rows", "anti-diagonals"
WEIGHTS = {"plain": None, "inserts of -1e4": -1e4, "blocked inserts": NEG}


def measure(setting: Setting) -> Report:
    """The largest error against double precision anti-diagonals, and the times."""
    errors = {
        f"{name}, {str(dtype).removeprefix('torch.')}": _errors(dtype, weight)
        for name, weight in WEIGHTS.items()
        for dtype in (torch.float32, torch.float64)
    }
    arcs = random_arcs(torch.float32, None)
    candidates = {DIAGONALS: partial(diagonals_log_prob, arcs), ROWS: partial(row_scan_log_prob, arcs)}
    times = compare(candidates, setting, rounds=setting.pick(cpu=30, cuda=30, quick=2))
    figures = compared(times, DIAGONALS, {ROWS: (SLOWER, None)})
    return {"errors, nats": errors, "pairs": PAIRS, "figures": figures}


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


def diagonals_log_prob(arcs: Arcs) -> PerPair:
    """As the torch backend does it."""
    return lattice_log_prob(arcs, "torch")


def random_arcs(dtype: torch.dtype, inserts_5_to_8: float | None) -> Arcs:
    """Lattices of 20 x 20; with a number, the inserts of four columns all weigh that much."""
    generator = torch.Generator().manual_seed(0)
    arcs = Arcs(*(torch.randn(PAIRS, 21, 21, generator=generator, dtype=torch.float64) - 1.5 for _ in range(3)))
    if inserts_5_to_8 is not None:
        arcs.insert[:, :, 5:9] = inserts_5_to_8
    return arcs.map(lambda table: table.to(dtype))


def _errors(dtype: torch.dtype, weight: float | None) -> dict[str, float]:
    exact, arcs = diagonals_log_prob(random_arcs(torch.float64, weight)), random_arcs(dtype, weight)
    forms = {ROWS: row_scan_log_prob, DIAGONALS: diagonals_log_prob}
    return {form: float((function(arcs).double() - exact).abs().max()) for form, function in forms.items()}
