"""Run folder of a training: its settings, its learning curves, its checkpoint, its lock, and the model in the end."""

import csv
import io
import json
import os
import platform
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import torch

from nsed.config import Config, to_yaml
from nsed.errors import ArgumentError, ModelFileError, NsedError
from nsed.progress import OnValidation, Validation
from nsed.registry import Registry
from nsed.train.saved_model import DESCRIPTION, read_description, remove_orphans, replace_file

try:
    import fcntl
except ImportError:  # Windows has no such locks: trainings there are not kept apart
    fcntl = None  # type: ignore[assignment]  # a module, or nothing


def can_draw() -> bool:
    """Plotting available: whether matplotlib is installed, to draw with."""
    return find_spec("matplotlib") is not None


def load_drawing() -> None:
    """Load what draws, if it is there: in the time of a training, instead of after it."""
    if can_draw():
        for module in DRAWING:
            import_module(module)


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


DRAWING = ("matplotlib.figure", "matplotlib.backends.backend_svg")
"""Modules that draw the curves."""
SETTINGS, FACTS, CURVES, PLOT = "settings.yaml", "run.json", "curves.csv", "curves.svg"
RECORDS = (SETTINGS, FACTS, CURVES, PLOT)
"""Records of a training, beside its model."""
CHECKPOINT, DISCARDED, LOCK = "checkpoint", "checkpoint.old", "training.lock"


class RunFolder:
    """`settings.yaml` (resolved), `run.json` (seed, versions, data), `curves.csv`, a plot, and the checkpoint.

    A folder with settings and a checkpoint folder, which is empty at first, has an unfinished training. A new training
    makes the one after the other, and a finished one removes the checkpoint folder at once, by its name: whenever the
    process is killed, it is clear what can be done.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.checkpoint = path, path / CHECKPOINT

    @property
    def is_unfinished(self) -> bool:
        """Unfinished training: whether one was begun here and has not come to its end."""
        return self.checkpoint.is_dir() and (self.path / SETTINGS).exists()

    @property
    def has_model(self) -> bool:
        """Saved model: whether there is one, perhaps of an earlier training."""
        return (self.path / DESCRIPTION).exists()

    @property
    def threads(self) -> int | None:
        """CPU threads of the training that the checkpoint is of; None where none says so."""
        if not (self.checkpoint / DESCRIPTION).exists():
            return None
        threads = read_description(self.checkpoint)["record"].get("threads")
        return threads if isinstance(threads, int) else None

    @property
    def facts(self) -> dict[str, Any]:
        """Provenance of the training, as `begin` wrote it; empty where none was begun, or the file is damaged."""
        try:
            found = json.loads((self.path / FACTS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def nothing_to_resume(self) -> ModelFileError:
        """Error for a folder whose training cannot go on, with what can be done instead."""
        instead = "the same command without --resume begins one"
        if self.has_model:
            instead = "the model here is finished; with --overwrite instead of --resume another one begins, "
            instead += "and networks learn more with --from this folder, in another one"
        return ModelFileError(self.path, f"there is no unfinished training here to resume: {instead}")

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Folder lock: while it is held, no other training gets the folder. Raises `ModelFileError` with who holds it.

        The system lets go of the lock of a process that is no more; the file that it left behind counts for nothing.
        Who has the lock already may take it again.
        """
        held = self.path.resolve(), threading.get_ident()
        if held in _HELD:
            yield
            return
        made = not self.path.exists()
        with self._taken() as stream:
            _HELD.add(held)
            try:
                self._tidy()
                yield
            finally:
                _HELD.remove(held)
                Path(stream.name).unlink(missing_ok=True)
                if made:
                    with suppress(OSError):  # where something was done, it is not empty
                        self.path.rmdir()

    def prepare(self, settings: Config) -> None:
        """Prepare a new training in the place of an unfinished one; a model stays until there is a new one."""
        try:
            self.discard_checkpoint()
            for name in RECORDS:
                (self.path / name).unlink(missing_ok=True)
            self.checkpoint.mkdir(parents=True, exist_ok=True)
            self.write_settings(settings)
        except OSError as error:
            raise self._unusable(error) from None

    @contextmanager
    def prepared(self, settings: Config) -> Iterator[None]:
        """Prepare a new training; where it fails before it begins, say for its data, nothing of it stays."""
        before = {name: (self.path / name).read_bytes() for name in RECORDS if (self.path / name).exists()}
        self.prepare(settings)
        try:
            yield
        except NsedError:
            if self.checkpoint.is_dir() and not (self.path / FACTS).exists():
                self._take_back(before if self.has_model else {})
            raise

    def _take_back(self, before: Mapping[str, bytes]) -> None:
        """Undo `prepare`: the files of a model that stays are as they were."""
        self.discard_checkpoint()
        (self.path / SETTINGS).unlink(missing_ok=True)
        for name, content in before.items():
            replace_file(self.path / name, content)

    def check_data(self, hashes: Mapping[str, str]) -> None:
        """Check that an unfinished training without a checkpoint was begun with these data. Raises `ModelFileError`."""
        if not self.is_unfinished or (self.checkpoint / DESCRIPTION).exists():
            return
        if self.facts.get("sha256", dict(hashes)) != dict(hashes):
            message = "the unfinished training here was begun with other pairs: name those, or --overwrite it"
            raise ModelFileError(self.path, message)

    def begin(self, settings: Config, facts: Mapping[str, Any]) -> None:
        """Write settings and provenance: what is going to be done."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.write_settings(settings)
            replace_file(self.path / FACTS, json.dumps({**facts, "versions": versions()}, indent=1).encode())
            self.checkpoint.mkdir(exist_ok=True)
        except OSError as error:
            raise self._unusable(error) from None

    def write_settings(self, settings: Config) -> None:
        """Write the resolved settings, with which a training is resumed."""
        replace_file(self.path / SETTINGS, to_yaml(settings).encode())

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
        """Draw the curves, and remove the checkpoint: the model is saved, there is nothing to resume any more."""
        if can_draw():
            draw_curves(self.path / CURVES, self.path / PLOT)
        self.discard_checkpoint()

    def forget(self) -> None:
        """Remove the records of a training whose model is replaced; not of one that goes on, or can be resumed."""
        if self.is_unfinished or self.path.resolve() in {path for path, _ in _HELD}:
            return
        for name in RECORDS:
            (self.path / name).unlink(missing_ok=True)

    def discard_checkpoint(self) -> None:
        """Remove the checkpoint: first its name, at once, so that no kill leaves a part of it."""
        if self.checkpoint.is_dir():
            shutil.rmtree(self.path / DISCARDED, ignore_errors=True)
            self.checkpoint.rename(self.path / DISCARDED)
        shutil.rmtree(self.path / DISCARDED, ignore_errors=True)

    def _tidy(self) -> None:
        """Remove what a killed training left and nothing refers to."""
        shutil.rmtree(self.path / DISCARDED, ignore_errors=True)
        with suppress(OSError):
            remove_orphans(self.path)
            for name in (SETTINGS, FACTS, CURVES, DESCRIPTION):
                (self.path / f"{name}.part").unlink(missing_ok=True)

    def _taken(self) -> TextIO:
        """Lock file, locked, which says who has it."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            return take_lock(self.path / LOCK)
        except BlockingIOError as held:
            instead = "wait for it, end it, or choose another folder"
            raise ModelFileError(self.path, f"another training is going on here, {held.strerror}: {instead}") from None
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError) -> ModelFileError:
        return ModelFileError(self.path, f"cannot be the folder of a training: {error.strerror}")


_HELD: set[tuple[Path, int]] = set()
"""Folders whose locks are held, each with the thread that holds it."""


def take_lock(path: Path) -> TextIO:
    """Lock file, locked until it is closed, which says who has it. Raises `BlockingIOError` with who has it already."""
    while (stream := _locked(path)) is None:
        pass
    stream.truncate(0)
    stream.write(f"process {os.getpid()} on {platform.node()} since {time.strftime('%Y-%m-%d %H:%M:%S')}")
    stream.flush()
    return stream


def _locked(path: Path) -> TextIO | None:
    """Lock file that nobody else has; None where its holder has just removed it. Raises `BlockingIOError` with who."""
    stream = path.open("a+", encoding="utf-8")
    try:
        if fcntl is not None:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        with stream:
            stream.seek(0)
            raise BlockingIOError(error.errno, stream.read() or "which has only just begun") from None
    except OSError:
        pass  # a file system without locks: trainings there are not kept apart
    with suppress(FileNotFoundError):
        if os.path.samestat(path.stat(), os.fstat(stream.fileno())):
            return stream
    stream.close()
    return None


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
