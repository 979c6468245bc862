"""Curves for those who watch them elsewhere: TensorBoard, Weights & Biases."""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from nsed.errors import ArgumentError
from nsed.progress import OnValidation, Validation
from nsed.registry import Registry


def tensorboard(folder: Path) -> OnValidation:
    """Event files in the folder `tensorboard`."""
    writer = _required("lightning.fabric.loggers", "tensorboard").TensorBoardLogger(folder, name="", version="events")

    def log(validation: Validation) -> None:
        writer.log_metrics(_numbers(validation), validation.step)
        writer.save()

    return log


def wandb(folder: Path) -> OnValidation:
    """A run named after the folder."""
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
