"""Files that the package itself stored, and others changed: indexes on disk, edit scripts and explanations as JSON."""

import shutil
from collections.abc import Callable
from functools import partial
from math import isfinite
from pathlib import Path

from fuzz.choices import Choices, damaged
from fuzz.targets import Execute
from nsed.errors import DataError
from nsed.explain import Explanation
from nsed.jobs import Candidates, LookupIndex
from nsed.jobs.labelling import AnswerFile
from nsed.text import EditScript

UNREAD = ("ngrams-rows.npy", "ngrams-weights.npy")
"""Arrays that are mapped and not looked at: whoever changes their numbers gets other answers, or none."""


def stored_files(folder: Path) -> Execute:
    """Texts in place of JSON that was stored, and damaged files of indexes."""
    index, candidates = folder / "sound-index", folder / "sound-candidates"
    LookupIndex.build(index, ["1", "2", "3"], ["Vienna", "Venice", "Verona"]).remove(["2"])
    Candidates(["ngrams", "exact"]).fit(["Vienna", "Venice"]).save(candidates)
    for sound in (index, candidates):
        _open(sound)  # whatever is compiled at first use
    copied = folder / "index"
    checks: list[Callable[[Choices], None]] = [
        _check_script,
        _check_explanation,
        partial(_check_answers, folder / "answers.tsv"),
        partial(_check_text, index, copied, "lookup.json"),
        partial(_check_text, candidates, copied, "candidates.json"),
        partial(_check_damaged, index, copied),
        partial(_check_damaged, candidates, copied),
    ]

    def execute(content: bytes) -> None:
        choices = Choices(content)
        choices.pick(checks)(choices)

    return execute


def _check_script(choices: Choices) -> None:
    script = EditScript.from_json(choices.rest().decode("utf-8", "replace"))
    assert EditScript.from_json(script.to_json()).to_json() == script.to_json()
    script.to_text()
    script.to_table()
    script.opcodes()


def _check_explanation(choices: Choices) -> None:
    made = Explanation.from_json(choices.rest().decode("utf-8", "replace"))
    assert made.log_alpha.shape == made.substitute.shape == (len(made.source) + 1, len(made.target) + 1)


def _check_answers(path: Path, choices: Choices) -> None:
    """Files of answers: those that are none stay as they are."""
    content = choices.rest()
    path.write_bytes(content)
    try:
        read = AnswerFile(path)
    except DataError:
        assert path.read_bytes() in (content, content[: content.rfind(b"\n") + 1])
        raise
    assert all(isfinite(one.predicted) and isfinite(one.chance) for one in read.answers)
    while read.undo():
        assert AnswerFile(path).answers == read.answers


def _check_text(sound: Path, copied: Path, name: str, choices: Choices) -> None:
    """Other text in place of an index's description."""
    _copy(sound, copied)
    (copied / name).write_bytes(choices.rest())
    _open(copied)


def _check_damaged(sound: Path, copied: Path, choices: Choices) -> None:
    """Damage to any file of an index."""
    _copy(sound, copied)
    files = sorted(path for path in copied.rglob("*") if path.is_file() and path.name not in UNREAD)
    path = choices.pick(files)
    path.write_bytes(damaged(choices, path.read_bytes()))
    _open(copied)


def _copy(sound: Path, copied: Path) -> None:
    shutil.rmtree(copied, ignore_errors=True)
    shutil.copytree(sound, copied)


def _open(folder: Path) -> None:
    if (folder / "lookup.json").exists():
        index = LookupIndex(folder)
        assert len(index) <= 3
        index.query(["venezia"], k=2)
    else:
        Candidates.load(folder).query(["wien"], 2)
