"""A learning curve in a line of text."""

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"


def curve(values: Sequence[float]) -> str:
    """One block per value, from the lowest to the highest.

    >>> curve([0.5, 0.75, 1.0])
    '▁▅█'
    """
    low, high = min(values, default=0.0), max(values, default=0.0)
    span = (high - low) or 1.0
    return "".join(BLOCKS[round((value - low) / span * (len(BLOCKS) - 1))] for value in values)
