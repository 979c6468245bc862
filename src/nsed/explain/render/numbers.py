"""Number formatting in few characters, the same in every rendering."""

from math import exp


def nats(value: float) -> str:
    """Formatted log-probability, never minus zero.

    >>> nats(-0.0001), nats(-2.0)
    ('0.000', '-2.000')
    """
    return f"{value + 0.0:.3f}".replace("-0.000", "0.000")


def signed(value: float) -> str:
    """Signed part of a sum, unless it is zero.

    >>> signed(0.5), signed(-0.0001), signed(-2.0)
    ('+0.500', '0.000', '-2.000')
    """
    shown = nats(value)
    return shown if shown == "0.000" or shown.startswith("-") else f"+{shown}"


def percent(probability: float, decimals: int = 1) -> str:
    """Percentage of a probability; what rounds to nothing but is something says so.

    >>> percent(0.25), percent(0.00004), percent(0.0), percent(0.001, 0)
    ('25.0%', '<0.1%', '0.0%', '<1%')
    """
    least = 10.0 ** -(decimals + 2)
    return f"<{least:.{decimals}%}" if 0 < probability < least / 2 else f"{probability:.{decimals}%}"


def short(log_probability: float) -> str:
    """Formatted probability from its logarithm.

    >>> short(0.0), short(-0.7), short(-9.3)
    ('1', '.50', '9e-5')
    """
    value = exp(max(-700.0, min(0.0, log_probability)))
    if value >= 0.995:
        return "1"
    if value >= 0.01:
        return f"{value:.2f}".removeprefix("0")
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(exponent)}"
