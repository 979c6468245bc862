"""Whole files, Parquet to Parquet: pairs per second, CPU time and peak memory of jobs of one and of ten million pairs.

Each job runs in a process of its own, with the table of a learnable edit distance; with a contextual Matcher, an RNN of
the paper's size with similarity heads; and with a model that answers at once: what reading, shards and writing take
alone. A contextual model encodes each different string of a batch once, so that speed depends on how often names occur.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from pyarrow import parquet

import nsed
from benchmarks.figures import Figure, Report, at_least, at_most, figure
from benchmarks.memory_probe import most_memory
from benchmarks.setting import Setting
from benchmarks.tasks import matcher_config, matcher_task, numbers_of
from nsed.jobs import TableJob
from nsed.models.edit_distance import LearnableEditDistance
from nsed.models.matcher import Matcher
from nsed.progress import reuse_freed_memory
from nsed.text import Pairs, Tokenizers

ROOT = Path(__file__).parents[1]
LETTERS, AT_ONCE, HEADS = "abcdefghijklmnopqrstuvwxyz", 2**20, 4
NAMES = {"table": 200_000, "contextual": 20_000, "nothing": 200_000}
"""Different names among the pairs that a model gets."""
MEMORY, SPEEDS = 2048.0, {"table": 150_000.0, "contextual": 30_000.0}
"""Bars: MiB of a whole process, and pairs per second on two cores."""
RUNS = 3
"""Runs of each job: the most memory of one is somewhat a matter of chance, of which thread is where."""


def measure(setting: Setting) -> Report:
    """Pairs of names, half of them with one typing error, the others of two names."""
    few, many = setting.pick(cpu=(10**6, 10**7), cuda=(10**6, 10**7), quick=(2000, 4000))
    figures: dict[str, Figure] = {}
    with tempfile.TemporaryDirectory() as folder:
        for model, names in NAMES.items():
            for count in (few, many):
                write_pairs(Path(folder) / "pairs.parquet", count, names=names)
                found = [_in_a_process(Path(folder), model, quick=setting.quick) for _ in range(RUNS)]
                figures |= _figures(setting, f"{count:,} pairs, {model}", found, model)
    return {"pairs": [few, many], "names": NAMES, "figures": figures}


def _figures(setting: Setting, name: str, found: list[dict[str, float]], model: str) -> dict[str, Figure]:
    speed = setting.bar(cpu=at_least(SPEEDS[model])) if model in SPEEDS else None
    return {
        f"{name}: wall": figure([one["pairs"] / one["wall"] for one in found], "pairs/s", bar=speed),
        f"{name}: CPU": figure([one["pairs"] / one["cpu"] for one in found], "pairs/CPU s"),
        f"{name}: peak memory": figure([one["peak"] for one in found], "MiB", bar=setting.bar(cpu=at_most(MEMORY))),
    }


def write_pairs(path: Path, count: int, *, names: int, seed: int = 0) -> None:
    """A Parquet file of so many pairs of so many names, with an id."""
    random = np.random.default_rng(seed)
    right, mistyped = _names(random, names)
    schema = pa.schema({"id": pa.int64(), "source": pa.string(), "target": pa.string()})
    with parquet.ParquetWriter(path, schema) as file:
        for first in range(0, count, AT_ONCE):
            rows = min(AT_ONCE, count - first)
            source = random.integers(names, size=rows)
            target = np.where(random.random(rows) < 0.5, source, random.integers(names, size=rows))
            columns = [pa.array(np.arange(first, first + rows)), right.take(source), mistyped.take(target)]
            file.write_table(pa.table(columns, names=["id", "source", "target"]))


def _names(random: np.random.Generator, count: int) -> tuple[pa.Array, pa.Array]:
    """Random names, and the same with one letter that is another."""
    drawn = random.integers(len(LETTERS), size=(count, 11))
    lengths = random.integers(4, 12, size=count)
    wrong = drawn.copy()
    wrong[np.arange(count), random.integers(lengths)] = random.integers(len(LETTERS), size=count)
    return _spelt(drawn, lengths), _spelt(wrong, lengths)


def _spelt(letters: np.ndarray, lengths: np.ndarray) -> pa.Array:
    return pa.array("".join(LETTERS[one] for one in row[:n]) for row, n in zip(letters, lengths, strict=True))


class Nothing:
    """A model that answers at once."""

    def score(self, pairs: Any) -> np.ndarray:
        """Zeros."""
        return np.zeros(len(pairs))


def _table(_: Setting) -> LearnableEditDistance:
    right, mistyped = _names(np.random.default_rng(0), 2000)
    return LearnableEditDistance.fit(list(zip(right.to_pylist(), mistyped.to_pylist(), strict=True)), iterations=3)


def _contextual(setting: Setting) -> Matcher:
    config = replace(matcher_config(setting, "rnn", symbols="graphemes"), interaction=HEADS)
    pairs = Pairs([LETTERS], [LETTERS])
    network = matcher_task(setting, config, numbers_of(pairs, config)).network
    return Matcher(network.eval(), Tokenizers.learned(config, pairs).shared(), config)


MODELS: dict[str, Callable[[Setting], Any]] = {
    "table": _table,
    "contextual": _contextual,
    "nothing": lambda _: Nothing(),
}


def _in_a_process(folder: Path, model: str, *, quick: bool) -> dict[str, float]:
    """Figures of a process of its own: memory that was once used is not always given back."""
    paths = [str(ROOT), str(Path(nsed.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.table_job", str(folder), model, *(["quick"] if quick else [])],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _run(folder: Path, name: str, *, quick: bool) -> dict[str, float]:
    setting = Setting(torch.device("cpu"), quick)
    model = MODELS[name](setting)
    model.score([("grey", "gray")])  # kernels are compiled
    before, begun = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    summary = TableJob(folder / "pairs.parquet", folder / "scores.parquet", ids=["id"]).score(model)
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_SELF)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"pairs": summary.written, "wall": wall, "cpu": cpu, "peak": most_memory(setting) / 2**20}


if __name__ == "__main__":
    reuse_freed_memory()  # as the commands do
    print(json.dumps(_run(Path(sys.argv[1]), sys.argv[2], quick="quick" in sys.argv[3:])))
