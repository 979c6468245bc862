"""Entry point of `nsed`: its groups of commands, and error handling, what happens when one of them fails."""

import errno
import io
import os
import sys
import warnings

import typer

from nsed import __version__
from nsed.cli.commands import COMMANDS, DATA_COMMANDS, MARKUP, CommandGroup, add_commands
from nsed.cli.console import complain, show_warning
from nsed.errors import NsedError

FIRST_STEPS = """**First steps**

```sh
nsed demo                                       # see it learn, in less than a minute
nsed transduce g2p-en --text flagships          # weights that come with the package
nsed train pairs.tsv model                      # pairs of your own
nsed train --help                               # options of a command, and examples
nsed --install-completion                       # then Tab completes
```
"""

app = typer.Typer(
    name="nsed",
    cls=CommandGroup,
    help="Learn how strings turn into other strings, and show the edit operations.",
    epilog=FIRST_STEPS,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data = typer.Typer(
    cls=CommandGroup,
    help="Data sets: those with names, others' formats; a check of any for leaks; reference alignments.",
    no_args_is_help=True,
)
add_commands(app, COMMANDS)
add_commands(data, DATA_COMMANDS, within="data")
app.add_typer(data, name="data")


def _show_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Learn how strings turn into other strings, and show the edit operations."""


def main() -> None:
    """Run a command. Whatever nsed complains about becomes one readable message and exit status 2.

    A closed pipe, whose reader, say `head`, has seen enough, is no fault: the command ends quietly, with status 0.
    """
    warnings.showwarning = show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a symbol shows its number
    try:
        _run_to_the_end()
    except NsedError as error:
        complain("\n".join([str(error), *getattr(error, "__notes__", ())]))
        sys.exit(2)
    except OSError as error:
        if error.errno not in FULL:
            raise
        complain(f"the output is not complete: {error.strerror}")
        _drop_output()
        sys.exit(2)


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _run_to_the_end() -> None:
    """Run a command and write all of its output, unless nobody reads it any more."""
    try:
        app()
    except SystemExit as status:
        # typer and rich turn a closed pipe into status 1; what is still in the buffer may find it closed only now
        closed = isinstance(status.__context__, BrokenPipeError)
        try:
            typer.echo(nl=False)  # flushes
        except BrokenPipeError:
            _drop_output()
        sys.exit(0 if closed else status.code)


def _drop_output() -> None:
    """Lead standard output nowhere: Python flushes it once more when it exits, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
