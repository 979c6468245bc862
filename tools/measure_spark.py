"""Measure jobs on a Spark cluster: `python tools/measure_spark.py`, which writes `results/spark.json`.

`nsed score`: a million pairs of made-up words in a folder of Parquet files, by a matcher in odds form. `nsed dedupe`: a
hundred thousand made-up people, links and clusters. Each by one process, by two executor processes
(`local-cluster[2,1,1024]`), and by two of which one is killed in the middle (Linux). The outputs are compared byte by
byte, those of `score` row by row and bit by bit.
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

from nsed.datasets.febrl import Person, people
from nsed.models.odds import OddsMatcher
from nsed.text import Pairs

OUTPUT = Path(__file__).parents[1] / "results" / "spark.json"
ROWS, FILES, WORDS, SHARD = 1_000_000, 8, 20_000, 65_536
PEOPLE, BLOCKS = 100_000, ("surname,postcode", "given_name,postcode", "given_name,surname")
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


def make_people(folder: Path, count: int) -> None:
    """Write a table of people, some of them twice."""
    columns = zip(Person._fields, map(list, zip(*people(count), strict=True)), strict=True)
    parquet.write_table(pa.table(dict(columns)), folder / "people.parquet")


def score_command(folder: Path, output: Path) -> list[str]:
    """Command that scores the pairs."""
    return ["score", str(folder / "model"), str(folder / "pairs"), "-o", str(output), "--shard-rows", str(SHARD)]


def dedupe_command(folder: Path, output: Path) -> list[str]:
    """Command that deduplicates the people."""
    columns = [part for name in ("given_name", "surname") for part in ("--on", name)]
    blocks = [part for one in BLOCKS for part in ("--block", one)]
    clusters = ["--clusters", str(output.with_suffix(".clusters.tsv")), "--shard-rows", "8192"]
    given = ["dedupe", str(folder / "people.parquet"), "--id", "id", "--model", str(folder / "model")]
    return [*given, *columns, *blocks, *clusters, "-o", str(output)]


def ran(command: list[str], output: Path, *options: str, kill: bool = False) -> dict[str, Any]:
    """Run a command; with `kill`, an executor is killed when the first shards are written."""
    begun = time.monotonic()
    with subprocess.Popen([sys.executable, "-m", "nsed", *command, *options], stderr=subprocess.PIPE) as started:
        killed: list[int] = []
        if kill:
            threading.Thread(target=kill_one, args=(started.pid, output, killed), daemon=True).start()
        errors = started.communicate()[1].decode()
    if started.returncode:
        raise SystemExit(errors)
    return {"seconds": round(time.monotonic() - begun, 1)} | ({"executors_killed": len(killed)} if kill else {})


def measured(folder: Path, verb: str) -> dict[str, Any]:
    """Seconds of a job by one process, by two executors, and with one killed; whether the outputs are the same."""
    command_of = {"score": score_command, "dedupe": dedupe_command}[verb]
    spark, figures, outputs = ("--engine", "spark", "--master", MASTER), {}, []
    for name, options in (("local", ()), ("spark", spark), ("spark, an executor killed", spark)):
        output = folder / name.replace(", ", "-").replace(" ", "-") / "output.parquet"
        output.parent.mkdir(exist_ok=True)
        figures[name] = ran(command_of(folder, output), output, *options, kill="killed" in name)
        outputs.append(output)
    same = [same_output(outputs[0], one) for one in outputs[1:]]
    return {"same_output": dict(zip(("spark", "killed"), same, strict=True)), **figures}


def same_output(one: Path, other: Path) -> bool:
    """Whether tables are equal, and clusters, if there are any, byte by byte."""
    clusters = [path.with_suffix(".clusters.tsv") for path in (one, other)]
    if clusters[0].exists() and clusters[0].read_bytes() != clusters[1].read_bytes():
        return False
    return bool(parquet.read_table(one).equals(parquet.read_table(other)))


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
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--note", default="", help="what the times depend on, say other programs that ran")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        make(folder, options.rows)
        make_people(folder, options.people)
        figures = {verb: measured(folder, verb) for verb in ("dedupe", "score")}
    facts = {
        "title": "Jobs on two executor processes: the same rows and bits as of one process",
        "again": "python tools/measure_spark.py",
        "machine": f"{os.cpu_count()} cores; Python {platform.python_version()}",
        "note": options.note,
        "master": MASTER,
        "score": {"rows": options.rows, **figures["score"]},
        "dedupe": {"records": options.people, **figures["dedupe"]},
    }
    OUTPUT.write_text(json.dumps(facts, indent=1) + "\n")
    print(json.dumps(facts, indent=1))


if __name__ == "__main__":
    main()
