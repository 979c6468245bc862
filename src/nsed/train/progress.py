"""What a training tells of itself while it runs and afterwards."""

from collections.abc import Callable, Mapping
from typing import NamedTuple


class Validation(NamedTuple):
    """The state of a training at a validation."""

    step: int
    loss: float
    """Mean over the steps since the last validation."""
    metrics: Mapping[str, float]
    improved: bool


OnStep = Callable[[int], None]
"""Told the number of each step that is done."""

OnValidation = Callable[[Validation], None]
"""Told of each validation."""
