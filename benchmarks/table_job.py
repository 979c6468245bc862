"""Whole files, Parquet to Parquet: pairs per second, CPU time and peak memory of jobs of one and of ten million pairs.

Each job runs in a process of its own, with the table of a learnable edit distance, and once more with a model that
answers at once: what reading, shards and writing take alone.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import nsed
from benchmarks.figures import Bar, Figure, Report, at_least, at_most, figure
from benchmarks.setting import Setting
from nsed.jobs import TableJob
from nsed.models.edit_distance import LearnableEditDistance

ROOT = Path(__file__).parents[1]
NAMES, LETTERS, AT_ONCE = 200_000, "abcdefghijklmnopqrstuvwxyz", 2**20
MEMORY, SPEED = 2048.0, 150_000.0
"""Bars: MiB of a whole process, and pairs per second on two cores."""


def measure(setting: Setting) -> Report:
    """Pairs of names, half of them with one typing error, the others of two names."""
    few, many = setting.pick(cpu=(10**6, 10**7), cuda=(10**6, 10**7), quick=(2000, 4000))
    figures: dict[str, Figure] = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in (few, many):
            write_pairs(Path(folder) / "pairs.parquet", count)
            for model in ("table", "nothing"):
                found = _in_a_process(Path(folder), model)
                figures |= _figures(setting, f"{count:,} pairs, {model}", found, model)
    return {"pairs": [few, many], "names": NAMES, "figures": figures}


def _figures(setting: Setting, name: str, found: dict[str, float], model: str) -> dict[str, Figure]:
    speed: Bar | None = setting.bar(cpu=at_least(SPEED)) if model == "table" else None
    return {
        f"{name}: wall": figure([found["pairs"] / found["wall"]], "pairs/s", bar=speed),
        f"{name}: CPU": figure([found["pairs"] / found["cpu"]], "pairs/CPU s"),
        f"{name}: peak memory": figure([found["peak"]], "MiB", bar=setting.bar(cpu=at_most(MEMORY))),
    }


def write_pairs(path: Path, count: int, *, seed: int = 0) -> None:
    """A Parquet file of so many pairs of names, with an id."""
    random = np.random.default_rng(seed)
    names = _names(random)
    schema = pa.schema({"id": pa.int64(), "source": pa.string(), "target": pa.string()})
    with parquet.ParquetWriter(path, schema) as file:
        for first in range(0, count, AT_ONCE):
            rows = min(AT_ONCE, count - first)
            source = random.integers(len(names[0]), size=rows)
            target = np.where(random.random(rows) < 0.5, source, random.integers(len(names[0]), size=rows))
            columns = [pa.array(np.arange(first, first + rows)), names[0].take(source), names[1].take(target)]
            file.write_table(pa.table(columns, names=["id", "source", "target"]))


def _names(random: np.random.Generator) -> tuple[pa.Array, pa.Array]:
    """Random names, and the same with one letter that is another."""
    drawn = random.integers(len(LETTERS), size=(NAMES, 11))
    lengths = random.integers(4, 12, size=NAMES)
    wrong = drawn.copy()
    wrong[np.arange(NAMES), random.integers(lengths)] = random.integers(len(LETTERS), size=NAMES)
    return _spelt(drawn, lengths), _spelt(wrong, lengths)


def _spelt(letters: np.ndarray, lengths: np.ndarray) -> pa.Array:
    return pa.array("".join(LETTERS[one] for one in row[:n]) for row, n in zip(letters, lengths, strict=True))


class Nothing:
    """A model that answers at once."""

    def score(self, pairs: Any) -> np.ndarray:
        """Zeros."""
        return np.zeros(len(pairs))


def _table() -> LearnableEditDistance:
    right, mistyped = _names(np.random.default_rng(0))
    pairs = list(zip(right.to_pylist()[:2000], mistyped.to_pylist()[:2000], strict=True))
    return LearnableEditDistance.fit(pairs, iterations=3)


MODELS: dict[str, Callable[[], Any]] = {"table": _table, "nothing": Nothing}


def _in_a_process(folder: Path, model: str) -> dict[str, float]:
    """Figures of a process of its own: memory that was once used is not always given back."""
    paths = [str(ROOT), str(Path(nsed.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.table_job", str(folder), model],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _run(folder: Path, name: str) -> dict[str, float]:
    model = MODELS[name]()
    model.score([("grey", "gray")])  # kernels are compiled
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    summary = TableJob(folder / "pairs.parquet", folder / "scores.parquet", ids=["id"]).score(model)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"pairs": summary.written, "wall": wall, "cpu": cpu, "peak": after.ru_maxrss / 2**10}


if __name__ == "__main__":
    print(json.dumps(_run(Path(sys.argv[1]), sys.argv[2])))
