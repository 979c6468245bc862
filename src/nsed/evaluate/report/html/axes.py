"""From numbers to places in a picture."""

from math import ceil, floor, log10
from typing import NamedTuple

Number = float | int


class Axis(NamedTuple):
    """Numbers from `low` to `high` on the way from one place to another, with marks at round numbers."""

    low: Number
    high: Number
    start: Number
    end: Number
    ticks: tuple[Number, ...]

    def at(self, value: Number) -> float:
        """The place of a number.

        >>> Axis(0, 1, 40, 340, ()).at(0.5)
        190.0
        """
        return round(self.start + (self.end - self.start) * (value - self.low) / (self.high - self.low), 1)


def round_axis(low: Number, high: Number, *, start: Number, end: Number, whole: bool = False) -> Axis:
    """An axis that reaches from one mark to another and holds both numbers; `whole` marks are integers.

    >>> round_axis(0, 0.37, start=0, end=100).ticks
    (0.0, 0.1, 0.2, 0.3, 0.4)
    >>> round_axis(3, 14.2, start=0, end=100, whole=True).ticks
    (2, 4, 6, 8, 10, 12, 14, 16)
    """
    step = _round_step(max(high - low, 1e-9) / 6)
    step = max(ceil(step), 1) if whole else step
    first, last = floor(low / step + 1e-9), ceil(high / step - 1e-9)
    ticks = tuple(round(place * step, 10) for place in range(first, max(last, first + 1) + 1))
    return Axis(ticks[0], ticks[-1], start, end, ticks)


def _round_step(about: float) -> float:
    """1, 2 or 5 times a power of ten, not much less than the number given."""
    power = 10.0 ** floor(log10(about))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= about * 0.99)
