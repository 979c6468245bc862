"""The programs of the package `phonetisaurus` (extra `align`): a joint n-gram model of two strings as a transducer.

Symbols go in and come out as numbers with spaces between them, so that none of them can be one of the programs' own
marks (`|`, `}`, `_`) and a word may contain spaces.
"""

import os
import platform
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from nsed.errors import MissingExtraError, NsedError

Numbers = Sequence[int]


class Answer(NamedTuple):
    """A target that was found for a source: its symbols, and the joint log-probability of both."""

    source: tuple[int, ...]
    target: tuple[int, ...]
    log_prob: float


def train_fst(
    pairs: Iterable[tuple[Numbers, Numbers]], *, order: int, longest_source: int, longest_target: int
) -> bytes:
    """Align the pairs by EM, count n-grams of what is aligned, and make a transducer of them."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        lines = (f"{_written(source)}\t{_written(target)}\n" for source, target in pairs)
        (folder / "pairs").write_text("".join(lines), encoding="ascii")
        sizes = [f"--seq1_max={longest_source}", f"--seq2_max={longest_target}", "--seq1_del=false", "--seq2_del=true"]
        _run(folder, "phonetisaurus-align", "--input=pairs", "--ofile=corpus", "--s1_char_delim= ", *sizes)
        _run(folder, "estimate-ngram", "-o", str(order), "-t", "corpus", "-wl", "arpa")
        _run(folder, "phonetisaurus-arpa2wfst", "--lm=arpa", "--ofile=fst")
        return (folder / "fst").read_bytes()


def apply_fst(fst: bytes, sources: Iterable[Numbers], *, nbest: int, beam: int) -> list[Answer]:
    """The best targets of each source, best first; a source for which there is none is left out."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "fst").write_bytes(fst)
        (folder / "words").write_text("".join(f"{_written(source)}\n" for source in sources), encoding="ascii")
        wanted = ["--model=fst", "--wordlist=words", "--gsep= ", f"--nbest={nbest}", f"--beam={beam}"]
        shown = _run(folder, "phonetisaurus-g2pfst", *wanted)
    return [_answer(line) for line in shown.splitlines()]


def _answer(line: str) -> Answer:
    source, cost, target = line.split("\t")
    return Answer(tuple(map(int, source.split())), tuple(map(int, target.split())), -float(cost))


def _written(numbers: Numbers) -> str:
    return " ".join(map(str, numbers))


def _run(folder: Path, program: str, *arguments: str) -> str:
    """What a program prints. Raises `NsedError` with its own last words where it fails or cannot be started."""
    home = _home()
    path = home / "bin" / platform.machine() / program
    try:
        done = subprocess.run(
            [path, *arguments], cwd=folder, env=_environment(home), capture_output=True, text=True, check=False
        )
    except OSError as error:
        machine = f"{platform.system()} {platform.machine()}"
        raise NsedError(
            f"{program} of the package phonetisaurus cannot be run on {machine}: {error.strerror}"
        ) from None
    if done.returncode:
        said = " ".join(done.stderr.split())[-300:]
        raise NsedError(f"{program} of the package phonetisaurus failed with status {done.returncode}: {said}")
    return done.stdout


def _environment(home: Path) -> Mapping[str, str]:
    return {**os.environ, "LD_LIBRARY_PATH": str(home / "lib" / platform.machine())}


def _home() -> Path:
    found = find_spec("phonetisaurus")
    if found is None or not found.submodule_search_locations:
        raise MissingExtraError("phonetisaurus", extra="align")
    return Path(found.submodule_search_locations[0])
