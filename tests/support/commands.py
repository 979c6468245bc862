"""Commands as users type them: in this process, or in one of their own where the process itself is tested."""

import os
import subprocess
import sys

from typer.testing import CliRunner

from nsed.__main__ import app


def run(*arguments, stdin=None):
    """What a command writes to standard output; its error, where it fails."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def nsed_process(*arguments, **options):
    """A process with as many threads as the tests themselves: their number may change the last bit of a sum."""
    command = [sys.executable, "-m", "nsed", *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **options.pop("env", {})}
    return subprocess.Popen(command, env=environment, **options)


def with_settings(*settings):
    """The options that set them."""
    return [part for setting in settings for part in ("--set", setting)]
