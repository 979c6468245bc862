"""How every benchmark takes time: the candidates in turn, so that a noisy moment hits them all alike."""

import time
from collections.abc import Callable, Mapping

from benchmarks.figures import Bar, Figure, figure
from benchmarks.setting import Setting

Run = Callable[[], object]
Times = dict[str, list[float]]
"""Milliseconds of each candidate, one per round."""
SLOWER, OURS_OVER_IT = "its / ours", "ours / its"
"""What a ratio is."""


def compare(candidates: Mapping[str, Run], setting: Setting, *, rounds: int, refill: bool = True) -> Times:
    """Each candidate's times, one per round; `refill` runs it untimed before, to have its own caches warm."""
    times: Times = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            if refill:
                run()
            times[name].append(seconds(run, setting) * 1e3)
    return times


def seconds(run: Run, setting: Setting) -> float:
    """That one run takes."""
    start = setting.now()
    run()
    return setting.now() - start


def ratios(times: Times, one: str, other: str) -> list[float]:
    """In each round, the time of one over the time of the other."""
    return [a / b for a, b in zip(times[one], times[other], strict=True)]


def rates(count: int, run: Run, setting: Setting, *, rounds: int) -> list[float]:
    """How many of so many are done in a second, in each round."""
    return [count / seconds(run, setting) for _ in range(rounds)]


def cpu_rates(count: int, run: Run, *, rounds: int) -> list[float]:
    """How many of so many are done in a second of one CPU, all threads together: what a busy machine disturbs least."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        run()
        found.append(count / (time.process_time() - start))
    return found


def compared(
    times: Times, ours: str, others: Mapping[str, tuple[str, Bar | None]], *, bar: Bar | None = None, count: int = 1
) -> dict[str, Figure]:
    """Milliseconds: ours with its bar, each of the others with what its ratio is and the bar of that ratio.

    The times are those of `count` equal things done in a run.
    """
    found = {ours: figure([time / count for time in times[ours]], "ms", bar=bar)}
    for name, (what, its_bar) in others.items():
        values = ratios(times, name, ours) if what == SLOWER else ratios(times, ours, name)
        found[name] = figure([time / count for time in times[name]], "ms", ratio=(what, values), bar=its_bar)
    return found
