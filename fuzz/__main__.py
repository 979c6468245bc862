"""The command `python -m fuzz [TARGET ...]`: long runs, one target after the other, each in a process of its own.

    python -m fuzz                                    # all targets, as often as each needs
    python -m fuzz settings --runs 1000000 --seconds 600
    python -m fuzz settings --input runs/fuzz/settings/finds/0123456789ab

Inputs of faults are saved, each fault's once, below runs/fuzz, and so are inputs that reached new code. The exit status
is 1 where there was a fault: an exception that does not say what is wrong with the input, a crash, too much time or
memory. With --record, counts go into results/fuzzing.json.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha1
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from fuzz.targets import TARGETS, Target

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results" / "fuzzing.json"
LITE = ROOT / "lite" / "src"
"""Where nsed-lite is, which a checkout does not install."""
SHARED_MEMORY = Path("/dev/shm")
"""Folder in memory, if there is one: targets write a small file per execution."""
SILENCE = 60.0
"""Seconds without a word of the worker, beyond the time limit of an execution, after which it hangs."""


class Outcome(NamedTuple):
    """What came of a run."""

    executions: int
    seconds: float
    peak: int
    finds: dict[str, str]


def main() -> int:
    """Run the command; the exit status comes back."""
    given = _parser().parse_args()
    chosen = [TARGETS[name] for name in given.targets or TARGETS]
    if given.input:
        return _try_again(chosen[0], given.input)
    engine = given.engine or ("atheris" if find_spec("atheris") else "plain")
    faults = 0
    for target in chosen:
        outcome = _run(target, given, engine)
        faults += len(outcome.finds)
        _show(target, outcome, end="\n")
        for fault, path in outcome.finds.items():
            _write(f"  {fault}: python -m fuzz {target.name} --input {path}\n")
        if given.record:
            _record(target, outcome, engine)
    return min(faults, 1)


def _parser() -> argparse.ArgumentParser:
    layout = argparse.RawDescriptionHelpFormatter
    known = "\n".join(f"  {one.name:14} {one.about} ({one.runs:,} executions)" for one in TARGETS.values())
    parser = argparse.ArgumentParser(
        "python -m fuzz", description=__doc__, epilog=f"targets:\n{known}", formatter_class=layout
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", choices=[*TARGETS, []], help="targets; all without")
    parser.add_argument("--runs", type=int, help="executions of each target (default: its own number)")
    parser.add_argument("--seconds", type=float, default=3600, help="time of each target at most (default: 3600)")
    parser.add_argument("--limit", type=float, default=5, help="seconds of one execution at most (default: 5)")
    parser.add_argument("--longest", type=int, help="bytes of an input at most (default: the target's own number)")
    parser.add_argument("--engine", choices=("atheris", "plain"), help="by coverage (default), or blindly")
    parser.add_argument("--seed", type=int, default=0, help="of the random numbers (default: 0)")
    parser.add_argument("--input", type=Path, help="execute a target once, with this input, and show what it raises")
    parser.add_argument("--record", action="store_true", help="add the counts to results/fuzzing.json")
    return parser


def _try_again(target: Target, path: Path) -> int:
    sys.path.append(str(LITE))
    from fuzz.execution import answer  # noqa: PLC0415  # imports the package, which the command itself does not need

    with TemporaryDirectory() as name:
        answer(target.prepared(Path(name)), path.read_bytes())
    return 0


def _run(target: Target, given: argparse.Namespace, engine: str) -> Outcome:
    folder, runs = ROOT / "runs" / "fuzz" / target.name, given.runs or target.runs
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None) as name:
        scratch = Path(name)
        command = [sys.executable, "-m", "fuzz.worker", target.name, str(folder), "--scratch", name]
        command += [
            "--runs",
            str(runs),
            "--seconds",
            str(given.seconds),
            "--limit",
            str(given.limit),
            "--engine",
            engine,
        ]
        path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(LITE)]))
        environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
        command += ["--longest", str(given.longest or target.longest)]
        with (scratch / "log").open("wb") as log:
            worker = subprocess.Popen(
                [*command, "--seed", str(given.seed)], cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=log
            )
            outcome, silent = _watched(worker, target, SILENCE + given.limit)
        if worker.returncode or silent:
            what = "hangs" if silent else f"ended with status {worker.returncode}"
            outcome.finds[f"the process {what}"] = str(_saved_crash(scratch, folder / "finds", what))
        return outcome


def _watched(worker: subprocess.Popen[bytes], target: Target, patience: float) -> tuple[Outcome, bool]:
    """Last word of a worker, and whether it had to be ended because it said nothing for too long."""
    outcome, heard, silent = Outcome(0, 0.0, 0, {}), float("inf"), False

    def watch() -> None:
        nonlocal silent
        while worker.poll() is None:
            time.sleep(1)
            if time.monotonic() - heard > patience:
                silent = True
                worker.kill()

    threading.Thread(target=watch, daemon=True).start()
    for outcome in _words(worker):
        heard = time.monotonic()
        if sys.stderr.isatty():
            _show(target, outcome, end="")
    worker.wait()
    return outcome, silent


def _words(worker: subprocess.Popen[bytes]) -> Iterator[Outcome]:
    assert worker.stdout
    for line in worker.stdout:
        yield Outcome(**json.loads(line))


def _saved_crash(scratch: Path, finds: Path, what: str) -> Path:
    """Input that was executed when the process ended; the last words of its log beside it."""
    log, noted = (scratch / "log").read_text(encoding="utf-8", errors="backslashreplace"), scratch / "input"
    content = noted.read_bytes() if noted.exists() else bytes(4)
    content = content[4 : 4 + int.from_bytes(content[:4], "little")]
    finds.mkdir(parents=True, exist_ok=True)
    path = finds / sha1(content, usedforsecurity=False).hexdigest()[:12]
    path.write_bytes(content)
    path.with_suffix(".txt").write_text(f"{what}\n{log[-8000:]}", encoding="utf-8")
    return path


def _show(target: Target, outcome: Outcome, *, end: str) -> None:
    rate = outcome.executions / max(outcome.seconds, 1e-9)
    counts = f"{outcome.executions:,} executions in {outcome.seconds:,.0f} s ({rate:,.0f} per second)"
    start = "\r" if sys.stderr.isatty() else ""
    _write(f"{start}{target.name}: {counts}, peak {outcome.peak // 2**20} MB, {len(outcome.finds)} faults{end}")


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _record(target: Target, outcome: Outcome, engine: str) -> None:
    """Add a run to the file of results."""
    known: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    record = {
        "date": datetime.now(UTC).date().isoformat(),
        "commit": _commit(),
        "engine": engine,
        "executions": outcome.executions,
        "seconds": round(outcome.seconds),
        "finds": sorted(outcome.finds),
        "peak_mb": outcome.peak // 2**20,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
    }
    known.setdefault(target.name, []).append(record)
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")


def _commit() -> str:
    """Commit of the code that ran, if this is a checkout."""
    asked = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return asked.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
