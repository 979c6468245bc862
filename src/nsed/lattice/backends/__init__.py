"""Who does the arithmetic: a backend is two plain functions over tables, unknown to autograd.

Derivatives of any order, posteriors, paths and entropy are built on them in `alpha.py` and `lattice.py`, so a new
backend is one file with one class and one line in `BACKENDS`.
"""

from importlib.util import find_spec

from torch import device as Device  # noqa: N812  # `device` is what it is called where it is used

from nsed.lattice.backends.base import Backend
from nsed.lattice.backends.numba import NumbaBackend
from nsed.lattice.backends.reference import ReferenceBackend
from nsed.lattice.backends.torch import TorchBackend
from nsed.lattice.backends.triton import TritonBackend
from nsed.registry import Registry

BACKENDS: Registry[Backend] = Registry("backend")
BACKENDS.register("reference", ReferenceBackend())
BACKENDS.register("torch", TorchBackend())
if find_spec("numba") is not None:
    BACKENDS.register("numba", NumbaBackend())
if find_spec("triton") is not None:
    BACKENDS.register("triton", TritonBackend())

AUTO = "auto"
"""The name that lets nsed choose."""


def fastest_backend(device: Device) -> str:
    """The name of the fastest backend for a device: `numba` for a CPU, `triton` for a GPU, else `torch`."""
    name = {"cpu": "numba", "cuda": "triton"}.get(device.type, "torch")
    return name if name in BACKENDS else "torch"


def choose_backend(name: str, device: Device) -> Backend:
    """The backend of that name; `auto` is the fastest one."""
    return BACKENDS[fastest_backend(device) if name == AUTO else name]


__all__ = ["AUTO", "BACKENDS", "Backend", "ReferenceBackend", "TorchBackend", "choose_backend", "fastest_backend"]
