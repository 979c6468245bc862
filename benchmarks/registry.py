"""All benchmarks by name: a new one is a module with a `measure` and a line here."""

from collections.abc import Callable
from typing import NamedTuple

from benchmarks import (
    edit_distance,
    growth,
    lattice,
    lite,
    matcher_update,
    memory,
    pair_features,
    row_scan,
    scoring,
    table_job,
    table_scoring,
    transducer_update,
    transduction,
)
from benchmarks.figures import Report
from benchmarks.setting import Setting
from nsed.registry import Registry


class Benchmark(NamedTuple):
    """What is measured, in a line, and how; some have nothing to do on a GPU."""

    what: str
    measure: Callable[[Setting], Report]
    on_gpu: bool = True


BENCHMARKS: Registry[Benchmark] = Registry("benchmark")
MODULES = (growth, lattice, matcher_update, memory, pair_features, scoring, transducer_update, transduction)
CPU_MODULES = (edit_distance, lite, row_scan, table_job, table_scoring)
for _module in (*MODULES, *CPU_MODULES):
    _name, _what = _module.__name__.rpartition(".")[2], (_module.__doc__ or "").splitlines()[0]
    BENCHMARKS.register(_name.replace("_", "-"), Benchmark(_what, _module.measure, _module in MODULES))
