"""The folder of a training: what it was asked for, how it went, where it stands, and the model in the end."""

import csv
import io
import json
import platform
import shutil
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nsed.config import Config, to_yaml
from nsed.errors import ModelFileError
from nsed.progress import OnValidation, Validation
from nsed.train.curves import can_draw, draw_curves
from nsed.train.saved_model import replace_file

SETTINGS, FACTS, CURVES, PLOT, CHECKPOINT = "settings.yaml", "run.json", "curves.csv", "curves.svg", "checkpoint"


class RunFolder:
    """`settings.yaml` (resolved), `run.json` (seed, versions, data), `curves.csv`, a plot, and the checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path, self.checkpoint = path, path / CHECKPOINT

    def begin(self, settings: Config, facts: Mapping[str, Any]) -> None:
        """Write down what is going to be done."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            replace_file(self.path / SETTINGS, to_yaml(settings).encode())
            replace_file(self.path / FACTS, json.dumps({**facts, "versions": versions()}, indent=1).encode())
        except OSError as error:
            raise ModelFileError(self.path, f"cannot be the folder of a training: {error.strerror}") from None

    def keep_curves(self, validations: Sequence[Validation]) -> OnValidation:
        """Write the curves of a growing list of validations whenever there is a new one."""
        return lambda _: self.write_curves(validations)

    def write_curves(self, validations: Sequence[Validation]) -> None:
        """All validations so far, a line each."""
        stream = io.StringIO()
        metrics = list(validations[0].metrics)
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["step", "loss", *metrics])
        writer.writerows([one.step, one.loss, *(one.metrics[name] for name in metrics)] for one in validations)
        try:
            replace_file(self.path / CURVES, stream.getvalue().encode())
        except OSError as error:
            raise ModelFileError(self.path, f"the curves cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """When the model is saved, there is nothing to resume any more, and the curves can be drawn."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        if can_draw():
            draw_curves(self.path / CURVES, self.path / PLOT)


def versions() -> dict[str, str]:
    """Of everything that may change a result."""
    found = {"nsed": _own_version(), "python": platform.python_version()}
    gpu = {"gpu": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}
    return found | {"torch": torch.__version__, "numpy": np.__version__} | gpu


def _own_version() -> str:
    try:
        return version("neural-string-edit-distance")
    except PackageNotFoundError:  # used from its source, not installed
        return "not installed"
