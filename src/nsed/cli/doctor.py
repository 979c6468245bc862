"""`nsed doctor`: what runs here, and why."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

import torch
from rich.table import Table

from nsed import __version__
from nsed.cli.console import out
from nsed.lattice.backends import BACKENDS, fastest_backend

EXTRAS = {
    "cpu": ("numba", "compiled lattices, pair features, recurrent layers and bulk scores on a CPU"),
    "train": ("lightning", "several devices, TensorBoard"),
    "cognates": ("infomap", "clusters by Infomap"),
    "web": ("fastapi", "nsed serve: a page and a JSON API"),
    "viz": ("matplotlib", "pictures of learning curves and of explanations as files"),
}


def doctor() -> None:
    """Say which versions, devices and backends are here, which of them are used, and what an extra would add."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_row("nsed", f"{__version__}, Python {platform.python_version()}, torch {torch.__version__}")
    table.add_row("processor", f"{os.cpu_count()} cores, torch uses {torch.get_num_threads()} threads")
    table.add_row("GPU", torch.cuda.get_device_name() if torch.cuda.is_available() else "none that torch can use")
    table.add_row("lattice backends", ", ".join(BACKENDS))
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        table.add_row(f"on {device}", f"{fastest_backend(torch.device(device))} {_reason(device)}")
    for extra, (package, what) in EXTRAS.items():
        table.add_row(f"extra {extra}", f"{_installed(package)}: {what}")
    out.print(table)


def _reason(device: str) -> str:
    if device == "cuda":
        kernels = "Triton's kernels" if "triton" in BACKENDS else "torch's own: Triton is not installed"
        return f"({kernels}; recorded as CUDA graphs in training)"
    return "(compiled)" if "numba" in BACKENDS else "(numba is not installed: pip install with the extra cpu)"


def _installed(package: str) -> str:
    if find_spec(package) is None:
        return f"{package} is not installed"
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return package
