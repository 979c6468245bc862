"""How long `fit` takes with no settings: `python tools/measure_fit_time.py [matcher] [transducer]`.

Of 100 and of 2,500 pairs, into `results/fit-time.json`. A Matcher learns from Indo-European word pairs (concepts of
the training part), a Transducer from the training words of CMUDict, both from `NSED_DATA`. CPU seconds count all
threads, seconds those of the clock, of which a machine that does other things at the same time needs more: how busy it
was is written beside.
"""

import json
import os
import platform
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import torch
from measure_odds import some, splits_of

import nsed
from nsed.datasets import load
from nsed.text import Pairs

RESULT = Path(__file__).parents[1] / "results" / "fit-time.json"
COUNTS = (100, 2500)
KINDS = {"matcher": nsed.Matcher, "transducer": nsed.Transducer}
TITLE = "Seconds of fit with no settings, 100 and 2,500 pairs"


def pairs_of(kind: str, count: int) -> Pairs:
    """Training pairs of a kind of model, at random."""
    known = splits_of("indo-european", 0, None) if kind == "matcher" else load("g2p-cmudict")
    return some(known.training, count, seed=0)


def measure(kind: str, count: int) -> dict[str, Any]:
    """Seconds, and CPU seconds, of one training."""
    pairs = pairs_of(kind, count)
    begun, used = time.monotonic(), time.process_time()
    made = KINDS[kind].fit(pairs)
    seconds = {"seconds": time.monotonic() - begun, "cpu_seconds": time.process_time() - used}
    rounded = {name: round(value, 1) for name, value in seconds.items()}
    return {"kind": kind, "model": made.kind, "pairs": count} | rounded


def write(rows: list[dict[str, Any]]) -> None:
    """Write the results."""
    machine = f"{os.cpu_count()} cores, {torch.get_num_threads()} threads; torch {torch.__version__}"
    report = {
        "title": TITLE,
        "again": "python tools/measure_fit_time.py matcher transducer",
        "machine": f"{machine}, Python {platform.python_version()}; load: processes that wanted a core, on average",
        "fit": rows,
    }
    RESULT.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Measure models of the kinds that are named, beside what the file has of others."""
    warnings.simplefilter("ignore")
    kinds = sys.argv[1:] or list(KINDS)
    known = json.loads(RESULT.read_text(encoding="utf-8"))["fit"] if RESULT.exists() else []
    rows = [row for row in known if row["kind"] not in kinds]
    for kind in kinds:
        for count in COUNTS:
            rows.append(measure(kind, count) | {"load": round(os.getloadavg()[0], 1)})
            print(json.dumps(rows[-1]), flush=True)
            write(rows)


if __name__ == "__main__":
    main()
