"""The process that executes one target, so that a crash ends nothing else: `python -m fuzz` starts it.

When it is ready, and then every second, it writes a line of JSON: executions, seconds, faults, memory. The input that
is being executed lies in a mapped file, where it is found after a crash.
"""

import argparse
import json
import mmap
import os
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from random import Random
from typing import Any

from fuzz.mutations import inputs
from fuzz.targets import TARGETS, Target

NOTED = 2**16
"""Bytes for the input that is being executed."""
KERNELS = Path(__file__).parents[1] / "src" / "nsed" / "kernels"
COMPILED = [f"nsed.kernels.{path.parent.name}.{path.stem}" for path in KERNELS.glob("[nt][ur]*/*.py")]
"""Modules whose functions another compiler reads, numba or triton: they are not instrumented."""


def main() -> None:
    """Run one target until it was executed often enough, or long enough, or had faults enough."""
    parser = argparse.ArgumentParser("fuzz.worker")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--limit", type=float, required=True)
    parser.add_argument("--engine", choices=("atheris", "plain"), required=True)
    parser.add_argument("--longest", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # what odd input makes the package warn of is not asked here
    target, atheris = TARGETS[given.target], import_module("atheris") if given.engine == "atheris" else None
    chosen = {"include": ["nsed", "nsed_lite"], "exclude": COMPILED}
    with atheris.instrument_imports(**chosen) if atheris else nullcontext():
        execution, limit_memory = _execution(target, given)
    limit_memory()
    run = _reporting(execution, given)
    if atheris:
        _fuzz_guided(atheris, run, target, given)
    kept = [path.read_bytes() for path in sorted((given.folder / "corpus").glob("*"))]  # what reached new code before
    for content in inputs([*target.seeds(), *kept], target.words, Random(given.seed), longest=given.longest):
        run(content)


def _execution(target: Target, given: argparse.Namespace) -> tuple[Any, Callable[[], None]]:
    """Prepared target within its limits; what is imported here may be instrumented."""
    module = import_module("fuzz.execution")
    work = given.scratch / "work"
    work.mkdir()
    return module.Execution(target.prepared(work), given.folder / "finds", seconds=given.limit), module.limit_memory


def _reporting(execution: Any, given: argparse.Namespace) -> Callable[[bytes], None]:
    """Execution that notes its input, reports, and ends the process when it is time."""
    status, most_finds = import_module("fuzz.execution").status, import_module("fuzz.execution").MOST_FINDS
    begun = told = time.monotonic()
    with (given.scratch / "input").open("w+b") as stream:
        stream.truncate(NOTED)
        noted = mmap.mmap(stream.fileno(), 0)

    def report() -> None:
        line = {"executions": execution.count, "seconds": time.monotonic() - begun, "peak": status("VmHWM")}
        finds = {name: str(path) for name, path in execution.finds.items()}
        sys.stdout.write(json.dumps({**line, "finds": finds}) + "\n")
        sys.stdout.flush()

    def run(content: bytes) -> None:
        nonlocal told
        noted[: 4 + len(content)] = len(content).to_bytes(4, "little") + content
        execution(content)
        now = time.monotonic()
        over = execution.count >= given.runs or now - begun >= given.seconds or len(execution.finds) >= most_finds
        if over or now - told >= 1:
            told = now
            report()
        if over:
            os._exit(0)  # libFuzzer has no other end that says nothing

    report()
    return run


def _fuzz_guided(atheris: Any, run: Callable[[bytes], None], target: Target, given: argparse.Namespace) -> None:
    """Let libFuzzer choose inputs by the coverage that they have; new ones are kept for the next time."""
    corpus, words = given.folder / "corpus", given.scratch / "words"
    corpus.mkdir(parents=True, exist_ok=True)
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.words), encoding="ascii")
    seeds = given.scratch / "seeds"
    seeds.mkdir()
    for number, content in enumerate(target.seeds()):
        (seeds / str(number)).write_bytes(content)
    flags = {"seed": given.seed + 1, "max_len": given.longest, "timeout": 0, "rss_limit_mb": 0, "len_control": 20}
    arguments = [f"-{name}={value}" for name, value in flags.items()] + ([f"-dict={words}"] if target.words else [])
    atheris.Setup([sys.argv[0], *arguments, f"-artifact_prefix={given.scratch}/", str(corpus), str(seeds)], run)
    atheris.Fuzz()


def _escaped(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word)


if __name__ == "__main__":
    main()
