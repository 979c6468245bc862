"""`nsed doctor`: what runs here, and why."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import torch
from rich.table import Table

import nsed.lattice  # noqa: F401  # its scalar backend is one of those that can be forced
from nsed import __version__
from nsed.cli.console import out
from nsed.kernels.dispatch import report
from nsed.kernels.switch import BACKENDS, VARIABLE, wanted

EXTRAS = {
    "cpu": ("numba", "compiled lattices, pair features, recurrent layers and bulk scores on a CPU"),
    "train": ("lightning", "several devices, TensorBoard"),
    "cognates": ("infomap", "clusters by Infomap"),
    "web": ("fastapi", "nsed serve: a page and a JSON API"),
    "viz": ("matplotlib", "pictures of learning curves and of explanations as files"),
}


def show_doctor() -> None:
    """Versions, devices, the implementation of each kernel that runs and why, extras."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row("nsed", f"{__version__}, Python {platform.python_version()}, torch {torch.__version__}")
    table.add_row("processor", f"{os.cpu_count()} cores, torch uses {torch.get_num_threads()} threads")
    table.add_row("GPU", _gpu())
    table.add_row("kernels", f"{wanted()} ({VARIABLE} or nsed.use_backend force one of {', '.join(BACKENDS)})")
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        for choice in report(torch.device(device)):
            table.add_row(f"{choice.kernel} on {device}", f"{choice.backend}: {choice.reason}")
    for extra, (package, what) in EXTRAS.items():
        table.add_row(f"extra {extra}", f"{_installed(package)}: {what}")
    out.print(table)


def _gpu() -> str:
    if not torch.cuda.is_available():
        return "none that torch can use"
    return f"{torch.cuda.get_device_name()}, steps of training are recorded as CUDA graphs"


def _installed(package: str) -> str:
    if find_spec(package) is None:
        return f"{package} is not installed"
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
