"""The command line, `nsed`."""

from nsed.cli.commands import main

__all__ = ["main"]
