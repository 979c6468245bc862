"""Who does the arithmetic: a backend is two plain functions over tables, unknown to autograd.

Derivatives of any order, posteriors, paths and entropy are built on them in `alpha.py` and `lattice.py`, so a new
backend is one file with one class and one line in `BACKENDS`.
"""

from nsed.lattice.backends.base import Backend
from nsed.lattice.backends.reference import ReferenceBackend
from nsed.lattice.backends.torch import TorchBackend
from nsed.registry import Registry

BACKENDS: Registry[Backend] = Registry("backend")
BACKENDS.register("reference", ReferenceBackend())
BACKENDS.register("torch", TorchBackend())

AUTO = "auto"
"""The name that lets nsed choose."""


def choose_backend(name: str) -> Backend:
    """The backend of that name; `auto` is the fastest one that can do the work on any device, today `torch`."""
    if name == AUTO:
        return BACKENDS["torch"]
    return BACKENDS[name]


__all__ = ["AUTO", "BACKENDS", "Backend", "ReferenceBackend", "TorchBackend", "choose_backend"]
