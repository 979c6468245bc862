"""Labelling (active learning): a session asks for the most informative pairs, keeps every answer, and learns from all.

Pairs are asked for by how open their answer is, at random in proportion to p (1 - p), and no string twice as long as
others are left: of two questions with the same string, one says little. What was thought of a pair before it was
answered is kept with the answer.
"""

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle, islice
from math import isfinite
from pathlib import Path
from threading import Lock, Thread
from typing import NamedTuple

import numpy as np

from nsed.errors import ArgumentError, DataError, ModelFileError, abbreviate
from nsed.evaluate import matching_score
from nsed.jobs.candidates import Candidates, crosses_scripts
from nsed.jobs.table_files import RowFormat, tsv_lines, unwritable
from nsed.jobs.unsupervised import (
    Assign,
    Pool,
    calibrated,
    check_lengths,
    competing,
    learn_from_few,
    learn_quickly,
    untrained,
)
from nsed.models.edit_distance import quiet_about_symbols
from nsed.models.odds import OddsMatcher
from nsed.models.pair_model import DecidingModel, labels_of
from nsed.progress import OnBatch, ignore
from nsed.text import Pairs
from nsed.text.pairs import PairsLike
from nsed.train.saved_model import read_description

REFIT_EVERY = 20
"""Answers between two trainings."""
LEAST_OPEN = 0.001
"""What p (1 - p) counts for at least: any pair may be asked for."""
COLUMNS = ("source", "target", "label", "predicted", "chance")
"""Columns of the file of answers: the probability before the answer, and that of the pair to be asked for."""

ANSWERS = "answers"
"""Where the record of a Matcher says which answers taught it, seen from beside its folder."""


class LabelAnswer(NamedTuple):
    """Answered pair, and what was thought of it before."""

    source: str
    target: str
    label: bool
    predicted: float
    """Probability of a match, before the answer."""
    chance: float
    """Probability with which this pair was asked for, of all pairs."""


class LabelQuestion(NamedTuple):
    """Labelling question: a pair that is asked for, its row in the pool, its strings, and what the model thinks.

    >>> asked = LabelQuestion(3, "gray", "grey", predicted=0.7, chance=0.01)
    >>> print(f"{asked.source} = {asked.target}? (p = {asked.predicted})")
    gray = grey? (p = 0.7)
    """

    row: int
    source: str
    target: str
    predicted: float
    chance: float


class LearningCurvePoint(NamedTuple):
    """Point of a learning curve: F1 after so many answers, `held_out` (on held-out pairs) or estimated from answers.

    >>> print(LearningCurvePoint(20, 0.9312, held_out=True))
    20 answers: F1 93.1% (on held-out pairs)
    """

    answers: int
    f1: float
    held_out: bool

    def __str__(self) -> str:
        on = "on held-out pairs" if self.held_out else "an estimate, by probabilities that the answers give"
        return f"{self.answers} answers: F1 {self.f1:.1%} ({on})"


class AnswerFile:
    """TSV file of answers, to which each is appended and synced to disk at once; what was skipped is in one beside it.

    An unfinished last line, of a kill, is dropped. Raises `DataError` for a file of something else.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.skipped_path = self.path.with_name(self.path.stem + ".skipped.tsv")
        self.answers = [self._parsed(cells) for cells in _lines(self.path, COLUMNS)]
        self.skipped = [(source, target) for source, target in _lines(self.skipped_path, COLUMNS[:2])]

    def append(self, answer: LabelAnswer) -> None:
        """Keep an answer."""
        cells = [answer.source, answer.target, int(answer.label), f"{answer.predicted:.6f}", f"{answer.chance:.4g}"]
        _append(self.path, COLUMNS, cells)
        self.answers.append(answer)

    def skip(self, source: str, target: str) -> None:
        """Keep that a pair is not to be asked for again."""
        _append(self.skipped_path, COLUMNS[:2], [source, target])
        self.skipped.append((source, target))

    def undo(self) -> LabelAnswer | None:
        """Take back the last answer: its line is cut off the file. None where there is none."""
        if not self.answers:
            return None
        with self.path.open("rb+") as file:
            content = file.read()
            file.truncate(content[:-1].rindex(b"\n") + 1)
            os.fsync(file.fileno())
        return self.answers.pop()

    def _parsed(self, cells: list[str]) -> LabelAnswer:
        try:
            label, numbers = {"1": True, "0": False}[cells[2]], [float(cell) for cell in cells[3:]]
            if not all(map(isfinite, numbers)):
                raise ValueError
            return LabelAnswer(cells[0], cells[1], label, *numbers)
        except (KeyError, ValueError):
            got = abbreviate(cells)
            raise DataError(self.path, f"got {got}, expected an answer: {', '.join(COLUMNS)}") from None


def _lines(path: Path, columns: tuple[str, ...]) -> Iterator[list[str]]:
    """Rows of a file that `_append` wrote; a last line that was not finished is cut off."""
    if not path.exists():
        return
    content, header = path.read_bytes(), ("\t".join(columns) + "\n").encode()
    if not content.startswith(header) and not header.startswith(content):  # nothing of it is cut off
        got = abbreviate(repr(content.partition(b"\n")[0].decode("utf-8", "backslashreplace")))
        advice = "Give the answers a file of their own."
        raise DataError(path, f"no file of answers: got the header {got}, expected {' '.join(columns)}. {advice}")
    whole = content[: content.rfind(b"\n") + 1]
    if len(whole) < len(content):
        os.truncate(path, len(whole))
    for number, row in enumerate(whole.decode("utf-8", "backslashreplace").split("\n")[1:-1], start=2):
        cells = row.split("\t")
        if len(cells) != len(columns):
            raise DataError(path, f"got {len(cells)} columns, expected {len(columns)}", line=number)
        yield cells


def _append(path: Path, columns: tuple[str, ...], cells: list[object]) -> None:
    rows = [cells] if path.exists() and path.stat().st_size else [columns, cells]
    data = "".join(tsv_lines(rows)).encode("utf-8", "backslashreplace")
    with path.open("ab") as file:
        file.write(data)  # in one go: a kill leaves all of the line, or a part that is dropped
        file.flush()
        os.fsync(file.fileno())


def _check_storable(pairs: Pairs) -> None:
    """Check that the file of answers can hold all pairs. Raises `ArgumentError` with the first that it cannot."""
    rows = unwritable({"source": pairs.sources, "target": pairs.targets}, RowFormat.TSV)
    if rows:
        first = pairs.sources[rows[0]], pairs.targets[rows[0]]
        got = f"{abbreviate(repr(first))} in row {rows[0] + 1:,}, one of {len(rows):,} pairs with a tab or a line break"
        advice = "Leave these pairs out, or put spaces there."
        raise ArgumentError("pairs", got=got, expected="strings that fit into the file of answers, TSV", advice=advice)


def candidate_pairs(
    texts: Sequence[str], references: Sequence[str], *, k: int = 5, on_batch: OnBatch = ignore
) -> Pairs:
    """Pairs to choose questions from: the k best references of each string, of one alphabet or of two.

    By character n-grams where both lists are written alike, else by the log-odds that untrained operations have.
    """
    mixed = Pairs([*texts, *cycled(texts, len(references))], [*cycled(references, len(texts)), *references])
    model = OddsMatcher.untrained(mixed)
    candidates = Candidates("operations" if crosses_scripts(model) else "ngrams", k=k, model=model).fit(references)
    found = candidates.query(texts, on_batch=on_batch)
    return Pairs([texts[row] for row in found.queries], [candidates.references[row] for row in found.references])


def is_of_answers(folder: Path, answers: Path) -> bool:
    """Whether a folder has the Matcher of a labelling session with these answers, which the session goes on with."""
    try:
        return bool(read_description(folder)["record"].get(ANSWERS) == _seen_from(folder, answers))
    except ModelFileError:
        return False


def _seen_from(folder: Path, answers: Path) -> str:
    """Place of the answers beside the folder: it stays the same where both are moved."""
    return os.path.relpath(answers.resolve(), folder.resolve().parent)


def cycled(texts: Sequence[str], count: int) -> list[str]:
    """So many of the strings, from the first on, again and again."""
    return list(islice(cycle(texts), count))


class LabelSession:
    """Labelling session over pairs without labels: `question`, `answer`, `skip`, `undo`, and `finish` with a Matcher.

    The answers are kept in a file, with which the next session goes on. Every so many of them, a Matcher is trained on
    the answers and on what they make of all other pairs, see `nsed.jobs.unsupervised`; `learning_curve` has its F1.

    >>> import tempfile
    >>> pairs = [(a + b, a + c) for a in ("gra", "blo", "stu") for b in "xyz" for c in "xyz"]
    >>> session = LabelSession(pairs, Path(tempfile.mkdtemp()) / "answers.tsv", assign="all")
    >>> for _ in range(4):
    ...     asked = session.question()
    ...     session.answer(asked.source == asked.target)
    >>> len(session.answers), session.undo() == session.answers
    (4, False)
    """

    def __init__(
        self,
        pairs: PairsLike,
        answers: str | Path,
        *,
        held_out: PairsLike | None = None,
        start: DecidingModel | None = None,
        assign: Assign = "best",
        every: int = REFIT_EVERY,
        background: bool = False,
        seed: int = 0,
    ) -> None:
        """`start` is a model that the first questions are chosen by, instead of one that knows nothing but alphabets.

        In the `background`, questions go on by the model before while the next one is trained. Raises `ArgumentError`
        for pairs that could not be answered, or not be learned from.
        """
        given = Pairs.of(pairs)
        self._pool = Pool(given, assign)
        if len(self._pool) < 2:
            raise ArgumentError("pairs", got=f"{len(self._pool)} different pairs", expected="two at least, to choose")
        _check_storable(given)
        check_lengths(self._pool, given)
        self._file = AnswerFile(answers)
        self._held_out = None if held_out is None else Pairs.of(held_out)
        self._every, self._background, self._lock = every, background, Lock()
        self._random, self._seed = np.random.default_rng([seed, len(self._file.answers)]), seed
        self._trained = 0
        self._trainer: Thread | None = None
        self._asked: LabelQuestion | None = None
        self.model: OddsMatcher | None = None
        """Matcher of the last training; None before the first."""
        self.learning_curve: list[LearningCurvePoint] = []
        """F1 after each training."""
        self._scores = self._scored(start or untrained(self._pool))
        if self._is_due:
            self.refit()

    @property
    def answers(self) -> list[LabelAnswer]:
        """Answers, with those of earlier sessions, in their order."""
        return list(self._file.answers)

    @property
    def growth(self) -> list[LearningCurvePoint]:
        """The old name of `learning_curve`."""
        message = "LabelSession.growth is now LabelSession.learning_curve; the old name goes with 2.0"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.learning_curve

    @property
    def is_training(self) -> bool:
        """Whether a Matcher is being trained in the background."""
        return self._trainer is not None and self._trainer.is_alive()

    def question(self) -> LabelQuestion | None:
        """Pair to be answered next, the same until it is; None where all are answered or skipped."""
        if self._asked is None:
            self._asked = self._drawn()
        return self._asked

    def answer(self, match: bool) -> None:
        """Keep the answer to the question, and train where it is time to."""
        asked = self._current()
        self._file.append(LabelAnswer(asked.source, asked.target, match, asked.predicted, asked.chance))
        self._asked = None
        if self._is_due and not self.is_training:
            self.refit()

    def skip(self) -> None:
        """Leave the question out, for good."""
        asked = self._current()
        self._file.skip(asked.source, asked.target)
        self._asked = None

    def undo(self) -> LabelAnswer | None:
        """Take back the last answer, and ask for it again; None where there is none."""
        taken = self._file.undo()
        if taken is not None:
            row = self._pool.rows.get(taken[:2])
            self._asked = None if row is None else LabelQuestion(row, *taken[:2], taken.predicted, taken.chance)
        return taken

    def refit(self) -> None:
        """Train a Matcher on all answers so far, in the background where the session is such."""
        self.wait()
        self._trained = len(self._file.answers)
        work = self._learn(self._labels())
        if not self._background:
            work()
            return
        self._trainer = Thread(target=work, daemon=True)
        self._trainer.start()

    def wait(self) -> None:
        """Wait for the training in the background."""
        if self._trainer is not None:
            self._trainer.join()

    def finish(self) -> OddsMatcher:
        """Matcher of all answers and all pairs. Raises `ArgumentError` where answers are of one kind only."""
        self.wait()
        labels = self._labels()
        if len(set(labels.values())) < 2:
            got = f"{len(labels)} answers, all the same" if labels else "no answer"
            raise ArgumentError("answers", got=got, expected="at least a match and a pair that is none")
        if len(self._file.answers) > self._trained:
            self.refit()
            self.wait()
        model = learn_from_few(self._scores, self._pool, labels)
        if model is None:
            got, expected = f"{len(labels)} answers to {len(self._pool):,} pairs", "two pairs of each kind at least"
            advice = "Answer more, or give more pairs: the answers are kept."
            raise ArgumentError("answers", got=got, expected=expected, advice=advice)
        self.model, self._scores = model, self._scored(model)
        self._add_to_curve(model, len(labels))
        return model

    def write(self, folder: Path) -> OddsMatcher:
        """Matcher of `finish`, saved to a folder, where it may take the place of an earlier one of these answers."""
        model = self.finish()
        model.record[ANSWERS] = _seen_from(folder, self._file.path)
        model.save(folder)
        return model

    @property
    def _is_due(self) -> bool:
        kinds = {one.label for one in self._file.answers}
        return len(kinds) == 2 and len(self._file.answers) >= self._trained + self._every

    def _current(self) -> LabelQuestion:
        asked = self.question()
        if asked is None:
            raise ArgumentError(
                "answer", got="one to no question", expected="nothing: all pairs are answered or skipped"
            )
        return asked

    def _labels(self) -> dict[int, bool]:
        rows = self._pool.rows
        return {rows[one[:2]]: one.label for one in self._file.answers if one[:2] in rows}

    def _scored(self, model: DecidingModel) -> np.ndarray:
        with quiet_about_symbols():
            return np.asarray(model.score(self._pool.pairs))

    def _learn(self, labels: Mapping[int, bool]) -> Callable[[], None]:
        def work() -> None:
            model = learn_quickly(self._scores, self._pool, labels, seed=self._seed)
            if model is None:  # the next answers bring more
                return
            scores = self._scored(model)
            with self._lock:
                self.model, self._scores = model, scores
            self._add_to_curve(model, len(labels))

        return work

    def _add_to_curve(self, model: OddsMatcher, answers: int) -> None:
        if self._held_out is None:
            self.learning_curve.append(LearningCurvePoint(answers, self._expected_f1(model), False))
            return
        with quiet_about_symbols():
            scores = np.asarray(model.score(self._held_out))
        f1 = matching_score(scores, labels_of(self._held_out, "held_out"), model.threshold).f1
        self.learning_curve.append(LearningCurvePoint(answers, f1, True))

    def _expected_f1(self, model: OddsMatcher) -> float:
        """F1 to be expected of a model's decisions about all pairs: an estimate, not a measurement.

        It takes pairs that nobody has answered for as probable as the answers make those of the same score, against
        their rivals.
        """
        labels = self._labels()
        probable = competing(calibrated(self._scores, labels), self._pool, labels)
        called = self._scores >= model.threshold
        return float(2 * probable[called].sum() / max(called.sum() + probable.sum(), 1e-12))

    def _drawn(self) -> LabelQuestion | None:
        """Question at random, by how open its answer is."""
        with self._lock:
            scores = self._scores
        labels = self._labels()
        probable = calibrated(scores, labels)
        weights = self._open(np.maximum(probable * (1 - probable), LEAST_OPEN), labels)
        if not weights.any():
            return None
        chances = weights / weights.sum()
        row = int(self._random.choice(len(chances), p=chances))
        pair = self._pool.pairs.sources[row], self._pool.pairs.targets[row]
        return LabelQuestion(row, *pair, float(probable[row]), float(chances[row]))

    def _open(self, weights: np.ndarray, labels: Mapping[int, bool]) -> np.ndarray:
        """Weights without pairs that were asked for, nor, as long as others are left, those of the same strings."""
        rows = self._pool.rows
        done = [*labels, *(rows[pair] for pair in self._file.skipped if pair in rows)]
        weights[done] = 0
        fresh = weights.copy()
        for side in self._pool.strings:
            fresh[np.isin(side, side[done])] = 0
        return fresh if fresh.any() else weights
