"""Labels: whether a pair matches, as people and files write it."""

from numbers import Real

_WORDS = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
LABELS = ", ".join(_WORDS)
"""What a label can be, for error messages."""


def parse_label(value: object) -> bool | None:
    """True or False; None for what is neither.

    >>> [parse_label(value) for value in ("yes", "0", 1, 0.0, True, "maybe", 2, None)]
    [True, False, True, False, True, None, None, None]
    """
    if isinstance(value, str):
        return _WORDS.get(value.strip().lower())
    if isinstance(value, Real) and value in (0, 1):
        return bool(value)
    # numpy's own truth values are no numbers
    return bool(value) if type(value).__name__ in ("bool", "bool_") else None
