"""Peak memory of whole updates, each measured in a fresh process: ours against the eager and the published ways."""

import json
import os
import subprocess
import sys
from pathlib import Path

import torch

import nsed
from benchmarks.figures import Figure, Report, at_most, figure
from benchmarks.setting import Setting

ROOT = Path(__file__).parents[1]
LARGE, SMALL, LENGTH, ROOMY, PAGE = 4096, 512, 24, 64 * 2**30, 4096
MATCHERS, TRANSDUCERS = ("ours", "materialised"), ("ours", "loop over cells", "twin")


def measure(setting: Setting) -> Report:
    """Mebibytes; what is materialised needs tens of gigabytes for the large batch, and a device that has them."""
    small, large = setting.pick(cpu=SMALL, cuda=SMALL, quick=8), setting.pick(cpu=LARGE, cuda=LARGE, quick=16)
    length = setting.pick(cpu=LENGTH, cuda=LENGTH, quick=4)
    both = large if _is_roomy(setting) else small
    figures: dict[str, Figure] = {}
    for kind in ("rnn", "unigram"):
        figures |= _compared(setting, "matcher", kind, MATCHERS, batch=both, length=length)
    if both != large:
        used = _peak(setting, "matcher", "ours", "rnn", batch=large, length=length)
        figures[f"matcher rnn, ours, batch {large}"] = figure([used], "MiB")
    figures |= _compared(setting, "transducer", "rnn", TRANSDUCERS, batch=small, length=min(8, length))
    return {"length of the matcher's strings": length, "of the transducer's": min(8, length), "figures": figures}


def _compared(
    setting: Setting, model: str, kind: str, ways: tuple[str, ...], *, batch: int, length: int
) -> dict[str, Figure]:
    """The first way is ours; the others say how much of their memory ours takes."""
    used = {way: _peak(setting, model, way, kind, batch=batch, length=length) for way in ways}
    ours, *others = ways
    found = {f"{model} {kind}, {ours}, batch {batch}": figure([used[ours]], "MiB")}
    tenth = setting.bar(cpu=at_most(0.1), cuda=at_most(0.1)) if model == "matcher" else None
    for way in others:
        ratio = "ours / its", [used[ours] / used[way]]
        found[f"{model} {kind}, {way}, batch {batch}"] = figure([used[way]], "MiB", ratio=ratio, bar=tenth)
    return found


def _peak(setting: Setting, model: str, way: str, kind: str, *, batch: int, length: int) -> float:
    """In a process of its own: memory that was once used is not always given back."""
    given = {"model": model, "way": way, "kind": kind, "batch": batch, "length": length}
    given |= {"device": str(setting.device), "quick": setting.quick}
    paths = [str(ROOT), str(Path(nsed.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.memory_probe", json.dumps(given)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    return max(int(done.stdout), PAGE) / 2**20


def _is_roomy(setting: Setting) -> bool:
    return setting.on_gpu and torch.cuda.get_device_properties(setting.device).total_memory > ROOMY
