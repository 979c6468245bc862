"""Backend switch: which backend all kernels of this process shall use, and which ones are installed.

Nothing heavy is imported here.
"""

import os
from functools import cache
from importlib.util import find_spec

from nsed.errors import ArgumentError
from nsed.registry import Registry

AUTO, TORCH = "auto", "torch"
"""Automatic choice, the name that lets nsed choose, and the backend that can do everything."""
BACKENDS = ("numba", "reference", TORCH, "triton")
"""Backend names that can be forced; `reference` is scalar Python, of the lattice alone."""
VARIABLE = "NSED_BACKEND"
"""Environment variable that forces a backend."""
INSTALL = {
    "numba": "pip install 'neural-string-edit-distance[cpu]'",
    "triton": "it comes with torch for CUDA on Linux, else: pip install triton",
}
"""Install hints: how to get what is not always there."""


class _Switch:
    backend: str | None = None
    """Forced backend; None: nobody has asked yet, so the environment has not been looked at."""


def wanted() -> str:
    """Forced backend, or `auto`. Raises `ArgumentError` if the environment asks for what is not there."""
    if _Switch.backend is None:
        _Switch.backend = checked(os.environ.get(VARIABLE) or AUTO, argument=VARIABLE)
    return _Switch.backend


class use_backend:  # noqa: N801  # called like a function; a class, because a `with` block can undo it
    """Force one implementation of every kernel, of networks and lattices alike: for good, or in a `with` block.

    `torch`, `numba`, `triton`, `reference` (the lattice in scalar Python) or `auto`, the fastest one that can run. A
    kernel that the backend cannot do, on the device or for the type of its tensors, is done by torch. It holds for all
    threads. Raises `UnknownNameError` for other names, `ArgumentError` for a backend that is not installed.

    >>> with use_backend("torch"):
    ...     print(wanted())
    torch
    """

    def __init__(self, name: str) -> None:
        self._before, _Switch.backend = _Switch.backend, checked(name)

    def __enter__(self) -> None:
        """No effect: the backend is in force already."""

    def __exit__(self, *_: object) -> None:
        _Switch.backend = self._before


def checked(name: str, *, argument: str = "backend") -> str:
    """Backend name, checked: there is such a backend and it is installed."""
    if name != AUTO and name not in BACKENDS:
        known: Registry[str] = Registry(argument)
        for backend in (AUTO, *BACKENDS):
            known.register(backend, backend)
        return known[name]
    if not installed(name):
        expected = "auto, torch or another backend that is installed"
        raise ArgumentError(argument, got=repr(name), expected=expected, advice=f"To install {name}: {INSTALL[name]}")
    return name


@cache
def installed(backend: str) -> bool:
    """Availability: whether what the backend needs is there; nothing is imported."""
    return backend not in INSTALL or find_spec(backend) is not None


@cache
def interprets_triton() -> bool:
    """Triton interpreter mode: whether its kernels run without a GPU, slowly, because the environment asks for it."""
    return os.environ.get("TRITON_INTERPRET") == "1"


@cache
def devices_of(backend: str) -> frozenset[str] | None:
    """Device types of a backend: where it runs; None for anywhere. What is not installed runs nowhere."""
    if backend not in INSTALL:
        return None
    there = {"cpu"} if backend == "numba" or interprets_triton() else set()
    there |= {"cuda"} if backend == "triton" else set()
    return frozenset(there) if installed(backend) else frozenset()


def no_device(backend: str, device: str) -> str:
    """Device refusal: why a backend cannot run on a device, in words; nothing where it can."""
    if not installed(backend):
        return "not installed" + (", extra cpu" if backend == "numba" else "")
    devices = devices_of(backend)
    return "" if devices is None or device in devices else f"not on a {'CPU' if backend == 'numba' else 'GPU'}"
