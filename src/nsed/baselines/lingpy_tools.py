"""The package `lingpy` (extra `cognates`), loaded when it is needed and kept quiet."""

import io
import logging
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from nsed.errors import MissingExtraError


@contextmanager
def quietly() -> Iterator[None]:
    """While this lasts, LingPy shows no log and no progress bars; afterwards the root logger is as it was before."""
    root, disabled = logging.getLogger(), logging.root.manager.disable
    handlers, level = root.handlers[:], root.level
    logging.disable(logging.ERROR)
    try:
        with redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.disable(disabled)
        root.handlers[:] = handlers
        root.setLevel(level)


def lingpy_module(name: str) -> Any:
    """A module of LingPy. Raises `MissingExtraError` where it is not installed."""
    if find_spec("lingpy") is None:
        raise MissingExtraError("lingpy", extra="cognates")
    with quietly():
        return import_module(f"lingpy.{name}")
