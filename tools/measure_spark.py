"""Measure `nsed score --engine spark`: `python tools/measure_spark.py`, which writes `results/spark.json`.

A million pairs of made-up words in a folder of Parquet files, scored by a matcher in odds form: by one process, by two
executor processes (`local-cluster[2,1,1024]`), and by two of which one is killed in the middle (Linux). The outputs are
compared row by row, bit by bit.
"""

import argparse
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from nsed.models.odds import OddsMatcher
from nsed.text import Pairs

OUTPUT = Path(__file__).parents[1] / "results" / "spark.json"
ROWS, FILES, WORDS, SHARD = 1_000_000, 8, 20_000, 65_536
MASTER = "local-cluster[2,1,1024]"


def words(count: int) -> list[str]:
    """Made-up words of three to nine letters."""
    random = np.random.default_rng(0)
    return ["".join(random.choice([*"abcdefghiklmnoprstuvz"], random.integers(3, 10))) for _ in range(count)]


def make(folder: Path, rows: int) -> None:
    """Write a folder of pairs with ids, a third of them a word and its misspelling, and a model for them."""
    known, random = words(WORDS), np.random.default_rng(1)
    misspelt = [word[:-1] + "e" for word in known]
    one, other = random.integers(WORDS, size=(2, rows))
    other = np.where(random.random(rows) < 1 / 3, one, other)
    (folder / "pairs").mkdir()
    for file, some in enumerate(np.array_split(np.arange(rows), FILES)):
        columns = {"source": [known[row] for row in one[some]], "target": [misspelt[row] for row in other[some]]}
        parquet.write_table(pa.table({**columns, "id": some}), folder / "pairs" / f"{file}.parquet")
    labels = [True] * 200 + [False] * 200
    pairs = Pairs(known[:400], misspelt[:200] + misspelt[1000:1200], labels)
    OddsMatcher.fit(pairs, train__steps=40).save(folder / "model")


def scored(folder: Path, name: str, *options: str, kill: bool = False) -> dict[str, Any]:
    """Run the command; with `kill`, an executor is killed when the first shards are written."""
    output = folder / f"{name}.parquet"
    command = [sys.executable, "-m", "nsed", "score", str(folder / "model"), str(folder / "pairs"), "-o", str(output)]
    begun = time.monotonic()
    with subprocess.Popen([*command, "--shard-rows", str(SHARD), *options], stderr=subprocess.PIPE) as started:
        killed: list[int] = []
        if kill:
            threading.Thread(target=kill_one, args=(started.pid, output, killed), daemon=True).start()
        errors = started.communicate()[1].decode()
    if started.returncode:
        raise SystemExit(errors)
    return {"seconds": round(time.monotonic() - begun, 1)} | ({"executors_killed": len(killed)} if kill else {})


def kill_one(driver: int, output: Path, killed: list[int]) -> None:
    """Kill an executor of a driver once it has written something."""
    parts = output.with_name(output.name + ".parts")
    while not (any(parts.glob("part-*.arrow")) if parts.exists() else False):
        time.sleep(0.02)
    process = executors(driver)[0]
    os.kill(process, signal.SIGKILL)
    killed.append(process)


def executors(driver: int) -> list[int]:
    """Processes of executors below a driver."""
    found = subprocess.run(["ps", "-eww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    processes = {int(pid): (int(parent), args) for pid, parent, args in rows}

    def is_below(pid: int) -> bool:
        return pid == driver or (pid > 1 and pid in processes and is_below(processes[pid][0]))

    return [pid for pid, (_, args) in processes.items() if "CoarseGrainedExecutorBackend" in args and is_below(pid)]


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=ROWS)
    parser.add_argument("--note", default="", help="what the times depend on, say other programs that ran")
    options = parser.parse_args()
    rows = options.rows
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder, rows)
        spark = ("--engine", "spark", "--master", MASTER)
        figures = {"local": scored(folder, "local")}
        figures["spark"] = scored(folder, "spark", *spark)
        figures["spark, an executor killed"] = scored(folder, "killed", *spark, kill=True)
        tables = {name: parquet.read_table(folder / f"{name}.parquet") for name in ("local", "spark", "killed")}
        same = {name: tables["local"].equals(tables[name]) for name in ("spark", "killed")}
    facts = {
        "title": "A job on two executor processes: the same rows and bits as of one process",
        "again": "python tools/measure_spark.py",
        "machine": f"{os.cpu_count()} cores; Python {platform.python_version()}",
        "note": options.note,
        "rows": rows,
        "master": MASTER,
        "same_output": same,
        **figures,
    }
    OUTPUT.write_text(json.dumps(facts, indent=1) + "\n")
    print(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
