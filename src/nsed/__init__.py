"""Neural String Edit Distance."""

__version__ = "0.1.0"
