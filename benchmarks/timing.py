"""How every benchmark takes time: the candidates in turn, so that a noisy moment hits them all alike."""

import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

RESULTS = Path(__file__).parent / "results"


class Quantiles(NamedTuple):
    """Milliseconds."""

    p20: float
    p50: float
    p80: float


def compare(candidates: dict[str, Callable[[], object]], *, rounds: int) -> dict[str, Quantiles]:
    """Quantiles of each candidate's time, taken once per round after an untimed run that refills its caches."""
    times: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            run()
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) * 1e3)
    return {name: _quantiles(sorted(taken)) for name, taken in times.items()}


def save(name: str, figures: dict[str, object]) -> Path:
    """Write the figures, with the machine they hold for, to `benchmarks/results`."""
    machine = {
        "processor": platform.machine(),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps({"machine": machine, **figures}, indent=2) + "\n", encoding="utf-8")
    return path


def _quantiles(ordered: list[float]) -> Quantiles:
    return Quantiles(*(round(ordered[int(share * (len(ordered) - 1))], 3) for share in (0.2, 0.5, 0.8)))
