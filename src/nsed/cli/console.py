"""Console streams: standard output for answers, standard error for progress and complaints."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

out = Console(highlight=False, soft_wrap=True)
err = Console(stderr=True, highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    """Print an error, on standard error."""
    err.print(f"[bold red]error:[/] {escape(message)}")


@cache
def warn(message: str) -> None:
    """Print a warning, on standard error; the same one is said once."""
    err.print(f"[yellow]warning:[/] {escape(message)}")


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Show what Python's `warnings` has to say, without the line of code that said it."""
    warn(str(message))


class ProgressBar:
    """Progress bar with a word of comment; without a terminal, a line for each comment and nothing else."""

    def __init__(self, what: str, total: int | None, unit: str, shown: tuple[Progress, TaskID] | None = None) -> None:
        self._what, self._total, self._unit, self._shown = what, total, unit, shown
        self._done: float = 0

    def advance(self, count: float) -> None:
        """Advance: so many more are done, or a part of one."""
        self.reach(self._done + count, self._total)

    def reach(self, count: float, total: int | None = None) -> None:
        """Set progress: so many are done in all, perhaps of so many as only turned out now."""
        self._done, self._total = count, self._total if total is None else total
        if self._shown:
            progress, task = self._shown
            progress.update(task, completed=count, total=total)

    def comment(self, text: str) -> None:
        """Show a word beside the bar; without a terminal, in a line with what is done."""
        if self._shown:
            progress, task = self._shown
            progress.update(task, comment=text)
        else:
            of = "" if self._total is None else f" of {self._total:,}"
            err.print(f"{self._what}, {self._done:,}{of} {self._unit}: {text}", markup=False)


SLOW = 10
"""Things in a second below which their decimals are shown."""


class SpeedColumn(ProgressColumn):
    """Throughput column: how many are done in a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """See `ProgressColumn.render`."""
        shown = "" if not task.speed else f"{task.speed:,.0f}" if task.speed >= SLOW else f"{task.speed:.2g}"
        return Text(f"{shown} {self._unit}/s" if shown else "", style="progress.data.speed")


@contextmanager
def progress_bar(what: str, total: int | None, *, unit: str = "pairs") -> Iterator[ProgressBar]:
    """Progress bar on standard error that goes away when the work is done, perhaps earlier than planned.

    Where standard error is no terminal, say a file, comments alone are written there.
    """
    if not err.is_terminal:
        yield ProgressBar(what, total, unit)
        return
    columns: tuple[Any, ...] = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        SpeedColumn(unit),
        TextColumn("{task.fields[comment]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True) as progress:
        yield ProgressBar(what, total, unit, (progress, progress.add_task(what, total=total, comment="")))
