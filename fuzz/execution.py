"""Execution of a target within limits of time and memory; what goes wrong is kept, each fault once."""

import re
import resource
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha1
from pathlib import Path
from types import FrameType

from nsed.errors import NsedError
from nsed_lite import ModelFolderError

OURS = tuple(str(Path(__file__).parents[1] / part) for part in ("src", "lite", "fuzz", "tests"))
SECONDS, BYTES = 5.0, 2**30
"""Limits of an execution: time, and memory beyond what the prepared target has already."""
LONGEST_MESSAGE, MOST_LINES = 2000, 60
"""Characters of a line of an error, and lines, at most: what it repeats of the input, it abbreviates."""
MOST_FINDS = 20
"""Different faults after which a run ends: more say nothing new."""
ANSWERS = (NsedError, ModelFolderError)
"""Errors that say what is wrong with the input."""


class TooSlowError(BaseException):
    """More time than an execution may take; no `Exception`, so that nobody catches it on the way."""


class Execution:
    """Target within limits; counts executions, and keeps the inputs of faults in a folder."""

    def __init__(self, target: Callable[[bytes], None], folder: Path, *, seconds: float = SECONDS) -> None:
        self._target, self._folder, self._seconds = target, folder, seconds
        self.count = 0
        self.finds: dict[str, Path] = {}
        """Files of the first input of each fault, by what the fault is."""

    def __call__(self, content: bytes) -> None:
        """Execute the target once."""
        self.count += 1
        try:
            with time_limit(self._seconds):
                answer(self._target, content)
        except (Exception, TooSlowError) as fault:
            self._keep(content, fault)

    def _keep(self, content: bytes, fault: BaseException) -> None:
        name = fault_name(fault)
        if name not in self.finds:
            self._folder.mkdir(parents=True, exist_ok=True)
            path = self._folder / sha1(content, usedforsecurity=False).hexdigest()[:12]
            path.write_bytes(content)
            told = "".join(traceback.format_exception(fault))
            path.with_suffix(".txt").write_text(told, encoding="utf-8", errors="backslashreplace")
            self.finds[name] = path


def answer(target: Callable[[bytes], None], content: bytes) -> None:
    """Execute a target; an error that says what is wrong with the input is an answer, if it is short."""
    try:
        target(content)
    except ANSWERS as error:
        check_message(error)


def check_message(error: Exception) -> None:
    """Assert that an error has a message, and that this does not repeat the whole input."""
    lines = str(error).splitlines()
    assert lines, f"an error without a message: {error!r}"
    assert len(lines) <= MOST_LINES, f"an error of {len(lines)} lines: {lines[:5]}"
    assert max(map(len, lines)) <= LONGEST_MESSAGE, f"an error of {len(str(error))} characters: {str(error)[:500]}"


def fault_name(fault: BaseException) -> str:
    """Type of an exception and the last place in the project where it was: by this faults are told apart."""
    frames = traceback.extract_tb(fault.__traceback__)
    own = [one for one in frames if one.filename.startswith(OURS) and one.name != "ring"]
    place = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "elsewhere"
    return f"{type(fault).__name__} in {place}"


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise `TooSlowError` after so many seconds."""

    def ring(signal_number: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"more than {seconds:g} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def limit_memory(size: int = BYTES) -> None:
    """Limit the address space of this process to so many bytes more than it has now: beyond, `MemoryError`."""
    resource.setrlimit(resource.RLIMIT_AS, (status("VmSize") + size, resource.RLIM_INFINITY))


def status(what: str) -> int:
    """Bytes of this process's memory, of a kind that /proc knows: VmSize, VmRSS, VmHWM."""
    found = re.search(rf"{what}:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="ascii"))
    return 1024 * int(found[1]) if found else 0
