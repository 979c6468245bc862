"""Run folder of a training: its settings, its learning curves, its checkpoint, and the model in the end."""

import csv
import io
import json
import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch

from nsed.config import Config, to_yaml
from nsed.errors import ArgumentError, ModelFileError
from nsed.progress import OnValidation, Validation
from nsed.registry import Registry
from nsed.train.saved_model import replace_file


def can_draw() -> bool:
    """Plotting available: whether matplotlib is installed, to draw with."""
    return find_spec("matplotlib") is not None


def draw_curves(table: Path, picture: Path) -> None:
    """Draw learning curves: one small plot per column of the table, over the steps."""
    figures = import_module("matplotlib.figure")
    with table.open(encoding="utf-8") as stream:
        header, *rows = csv.reader(stream)
    columns = [[float(cell) for cell in column] for column in zip(*rows, strict=True)]
    figure = figures.Figure(figsize=(3.2 * (len(header) - 1), 2.6), layout="constrained")
    for place, axes in enumerate(figure.subplots(1, len(header) - 1, squeeze=False)[0], start=1):
        axes.plot(columns[0], columns[place], marker=".", color="tab:blue")
        axes.set(title=header[place], xlabel=header[0])
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(picture)


def tensorboard(folder: Path) -> OnValidation:
    """TensorBoard logger: event files in the folder `events` of the run."""
    writer = _required("lightning.fabric.loggers", "tensorboard").TensorBoardLogger(folder, name="", version="events")

    def log(validation: Validation) -> None:
        writer.log_metrics(_numbers(validation), validation.step)
        writer.save()

    return log


def wandb(folder: Path) -> OnValidation:
    """Weights & Biases logger: a run named after the folder."""
    run = _required("wandb", "wandb").init(project="nsed", name=folder.name, dir=str(folder))
    return lambda validation: run.log(_numbers(validation), step=validation.step)


def _required(module: str, package: str) -> Any:
    if find_spec(module.partition(".")[0]) is None or find_spec(package) is None:
        expected = f"none, or the package {package} installed"
        raise ArgumentError("train.logger", got=package, expected=expected)
    return import_module(module)


def _numbers(validation: Validation) -> dict[str, float]:
    return {"loss": validation.loss, **validation.metrics}


LOGGERS: Registry[Callable[[Path], OnValidation]] = Registry("logger")
LOGGERS.register("none", lambda folder: lambda validation: None)
LOGGERS.register("tensorboard", tensorboard)
LOGGERS.register("wandb", wandb)


SETTINGS, FACTS, CURVES, PLOT, CHECKPOINT = "settings.yaml", "run.json", "curves.csv", "curves.svg", "checkpoint"


class RunFolder:
    """`settings.yaml` (resolved), `run.json` (seed, versions, data), `curves.csv`, a plot, and the checkpoint."""

    def __init__(self, path: Path) -> None:
        self.path, self.checkpoint = path, path / CHECKPOINT

    def begin(self, settings: Config, facts: Mapping[str, Any]) -> None:
        """Write settings and provenance: what is going to be done."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            replace_file(self.path / SETTINGS, to_yaml(settings).encode())
            replace_file(self.path / FACTS, json.dumps({**facts, "versions": versions()}, indent=1).encode())
        except OSError as error:
            raise ModelFileError(self.path, f"cannot be the folder of a training: {error.strerror}") from None

    def keep_curves(self, validations: Sequence[Validation]) -> OnValidation:
        """Keep learning curves: write those of a growing list of validations whenever there is a new one."""
        return lambda _: self.write_curves(validations)

    def write_curves(self, validations: Sequence[Validation]) -> None:
        """Write learning curves: all validations so far, a line each."""
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
        """Remove the checkpoint when the model is saved, there is nothing to resume any more, and draw the curves."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)
        if can_draw():
            draw_curves(self.path / CURVES, self.path / PLOT)


def versions() -> dict[str, str]:
    """Package versions of everything that may change a result."""
    found = {"nsed": _own_version(), "python": platform.python_version()}
    gpu = {"gpu": torch.cuda.get_device_name()} if torch.cuda.is_available() else {}
    return found | {"torch": torch.__version__, "numpy": np.__version__} | gpu


def _own_version() -> str:
    try:
        return version("neural-string-edit-distance")
    except PackageNotFoundError:  # used from its source, not installed
        return "not installed"
