"""Records: what a run was, and what it measured, one small JSON file each; tables are made of these alone."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nsed.errors import DataError

RECORDS = Path("results", "records")
"""Where records are, seen from the project's root."""


@dataclass(frozen=True)
class RunRecord:
    """A run with a seed. Figures are shares between 0 and 1."""

    run: str
    """The run's name, see `nsed.reproduce.grid.Run`."""
    seed: int
    settings: Mapping[str, Any]
    """All of them, as they were."""
    data: Mapping[str, Any]
    """Of each part: how many pairs, and their SHA-256."""
    parameters: int
    training: Mapping[str, Any]
    """Steps, the best of them, seconds, what ended it (`schedule` or `time`), and its curve: step, loss, metric."""
    selected: Mapping[str, Any]
    """What was chosen by what: weights, threshold, beam."""
    validation: Mapping[str, float]
    test: Mapping[str, float]
    scripts: Mapping[str, str] = field(default_factory=dict)
    """Edit scripts of the words of Table 5."""
    evidence: Sequence[Mapping[str, Any]] = ()
    """Of some pairs: best script and tables of posteriors, for Figures 1 and 2 and Table 5."""
    decoding: Sequence[Sequence[float]] = ()
    """What was tried on validation: beam, length penalty, CER, WER."""
    seconds: float = 0.0
    """Of everything, from reading the data to the last figure."""
    quick: bool = False
    """A rehearsal with toy settings, which no table shows."""
    versions: Mapping[str, str] = field(default_factory=dict)
    machine: Mapping[str, Any] = field(default_factory=dict)


def record_path(folder: Path, run: str, seed: int) -> Path:
    """Where the record of a run with a seed is.

    >>> record_path(Path("records"), "g2p-cmudict/transducer-rnn+interpretable", 0).name
    'g2p-cmudict--transducer-rnn+interpretable--seed0.json'
    """
    return folder / f"{run.replace('/', '--')}--seed{seed}.json"


def write_record(folder: Path, record: RunRecord) -> Path:
    """Write it, at once or not at all."""
    path = record_path(folder, record.run, record.seed)
    folder.mkdir(parents=True, exist_ok=True)
    begun = path.with_suffix(f".{os.getpid()}.tmp")
    begun.write_text(_text(asdict(record)) + "\n", encoding="utf-8")
    begun.replace(path)
    return path


def _text(values: dict[str, Any]) -> str:
    """A line for each field: small, and to be read."""
    lines = (f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in values.items())
    return "{\n " + ",\n ".join(lines) + "\n}"


def read_record(path: Path) -> RunRecord:
    """The record in a file. Raises `DataError`."""
    try:
        return RunRecord(**json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise DataError(path, f"is no record of a run: {error}") from None


def read_records(folder: Path, *, quick: bool = False) -> dict[str, list[RunRecord]]:
    """All records of a folder by run, without rehearsals, in the order of their seeds. Raises `DataError`."""
    found: dict[str, list[RunRecord]] = {}
    for path in sorted(folder.glob("*.json")):
        record = read_record(path)
        if quick or not record.quick:
            found.setdefault(record.run, []).append(record)
    return {run: sorted(records, key=lambda record: record.seed) for run, records in found.items()}


def versions() -> dict[str, str]:
    """Of what figures depend on."""
    return {"python": platform.python_version(), "torch": torch.__version__, "numpy": np.__version__}


def machine() -> dict[str, Any]:
    """Where it ran, and beside how many others the run may have had to wait."""
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    return {"processor": platform.machine(), "cores": os.cpu_count(), "gpu": gpu}
