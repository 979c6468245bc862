"""How long work tells how far it is."""

from collections.abc import Callable

OnBatch = Callable[[int], None]
"""Told how many pairs or words are done now, for progress bars."""


def ignore(_: object) -> None:
    """Nobody wants to know."""
