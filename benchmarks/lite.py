"""The runtime without torch, on one core: greedy words of `g2p-en`, the first word from a cold start, installed size.

It runs in processes of its own, with one thread and without torch in memory. The time of words is that of the processor
(user and system), which a busy machine disturbs least; that of the first word is on the clock, too.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import files
from pathlib import Path

from benchmarks.data import words
from benchmarks.figures import Figure, Report, at_most, figure
from benchmarks.setting import Setting
from nsed.models.persistence import shipped_models

SOURCE = Path(__file__).parents[1] / "lite" / "src"
COLD = "import sys, nsed_lite; print(nsed_lite.load(sys.argv[1]).transduce(['flagships'])[0][0].text)"
WARM = """
import json, sys, time
import nsed_lite
nsed_lite.reuse_freed_memory()  # as the command does
model, (words, rounds) = nsed_lite.load(sys.argv[1]), json.load(sys.stdin)
model.transduce(words[:200], beam=1)
found = []
for _ in range(rounds):
    start = time.process_time()
    model.transduce(words, beam=1)
    found.append((time.process_time() - start) / len(words) * 1e3)
print(json.dumps(found))
"""


def measure(setting: Setting) -> Report:
    """Milliseconds of one core per word, seconds to the first word, megabytes."""
    known = sorted(set(words(setting, "test").pairs.sources))
    some = known[: setting.pick(cpu=len(known), cuda=len(known), quick=50)]
    rounds = setting.pick(cpu=5, cuda=5, quick=2)
    warm = json.loads(_run(WARM, json.dumps([some, rounds])))
    cold = [_seconds() for _ in range(rounds)]
    figures = {
        "g2p-en, greedy": figure(warm, "ms of one core per word", bar=at_most(0.5)),
        "g2p-en, first word": figure([clock for clock, _ in cold], "s", bar=at_most(1.0)),
        "g2p-en, first word, processor": figure([processor for _, processor in cold], "s"),
        "installed with NumPy": _size(),
    }
    return {"words": len(some), "data": words(setting, "test").origin, "figures": figures}


def _run(code: str, given: str = "") -> str:
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code, str(shipped_models()["g2p-en"].path)]
    done = subprocess.run(command, input=given, env=environment, check=True, capture_output=True, text=True)
    return done.stdout


def _seconds() -> tuple[float, float]:
    """From the start of a process to the end after its first word: on the clock, and of the processor."""
    before = os.times()
    _run(COLD)
    after = os.times()
    own = after.children_user + after.children_system - before.children_user - before.children_system
    return after.elapsed - before.elapsed, own


def _size() -> Figure:
    """Megabytes of NumPy and the runtime, as installed, without the model."""
    paths = [Path(str(one.locate())) for one in files("numpy") or ()]
    own = [path for path in SOURCE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    total = sum(path.stat().st_size for path in (*paths, *own) if path.is_file())
    return figure([total / 1e6], "MB", bar=at_most(150))
