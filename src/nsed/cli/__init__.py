"""The command line, `nsed`."""

from nsed.cli.main import main

__all__ = ["main"]
