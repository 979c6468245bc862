"""Transduction metrics of a model's answers to sources: figures, curves and groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsed.capabilities import by_language
from nsed.evaluate import (
    WordErrors,
    category_groups,
    length_groups,
    nbest_accuracy,
    oracle_score,
    word_errors,
)
from nsed.evaluate.grouping import ItemGroup
from nsed.evaluate.report.records import Breakdown, Categories, Curve, Figure, Group, Line, Point
from nsed.evaluate.significance import rate_estimate, share_estimate
from nsed.progress import Progress, silent
from nsed.text import Pairs

Symbols = tuple[str, ...]


@dataclass(frozen=True)
class AnsweredWord:
    """Reference word: a source, the targets that are right, and what languages its pairs have."""

    source: str
    length: int
    targets: tuple[str, ...]
    references: tuple[Symbols, ...]
    languages: frozenset[str]
    rows: tuple[int, ...]
    """Places of its pairs in the data."""
    speaker: Any
    """The model that answers it: of a model of several languages, that for its language."""


@dataclass(frozen=True)
class AnsweredWords:
    """N-best outputs of a model for different sources, best first, and how far they are from the references."""

    words: list[AnsweredWord]
    given: Sequence[Sequence[Any]]
    errors: WordErrors
    nbest: int

    @property
    def references(self) -> list[tuple[Symbols, ...]]:
        """Reference targets, what is right, as symbols."""
        return [word.references for word in self.words]

    @property
    def outputs(self) -> list[list[Symbols]]:
        """N-best outputs, what was said, as symbols, best first."""
        return [[answer.symbols for answer in answers] for answers in self.given]


def answer(
    model: Any, pairs: Pairs, *, nbest: int = 1, beam: int | None = None, progress: Progress = silent
) -> AnsweredWords:
    """Transduce each different source once; any target that it has in the pairs is a right reference.

    Of a model of several languages, once in each language that it has in the pairs.
    """
    words: list[AnsweredWord] = []
    given: list[Sequence[Any]] = []
    with progress("transducing", len(pairs)) as on_batch:
        for speaker, rows in by_language(model, pairs.languages, len(pairs)):
            own = _words(speaker, pairs, rows)
            sources = [word.source for word in own]
            given += speaker.transduce(sources, nbest=nbest, beam=beam, on_batch=on_batch)
            words += own
    best = [answers[0].symbols if answers else () for answers in given]
    return AnsweredWords(words, given, word_errors(best, [word.references for word in words]), nbest)


def _words(model: Any, pairs: Pairs, rows: Sequence[int]) -> list[AnsweredWord]:
    """Different sources of these rows."""
    places: dict[str, list[int]] = {}
    for row in rows:
        places.setdefault(pairs.sources[row], []).append(row)
    return [_word(model, pairs, source, own) for source, own in places.items()]


def _word(model: Any, pairs: Pairs, source: str, rows: Sequence[int]) -> AnsweredWord:
    right = tuple(dict.fromkeys(pairs.targets[row] for row in rows))
    columns = [column for column in (pairs.source_languages, pairs.target_languages) if column is not None]
    languages = frozenset(column[row] for column in columns for row in rows)
    references = tuple(map(model.tokenizers.target.split, right))
    length = len(model.tokenizers.source.split(source))
    return AnsweredWord(source, length, right, references, languages, tuple(rows), model)


def transduction_figures(done: AnsweredWords) -> tuple[Figure, ...]:
    """Error rates with confidence intervals; of several answers also n-best accuracy and oracle error rates."""
    errors, score = done.errors, done.errors.score()
    edits = np.stack([errors.edits, errors.lengths], axis=1)
    corpus = rate_estimate(edits, lambda total: float(total[0] / max(total[1], 1)))
    mean = rate_estimate(errors.rates, lambda total: float(total) / len(errors.rates))
    figures = (
        Figure("words", score.words, "count"),
        Figure("cer", score.cer, "share", *mean),
        Figure("corpus_cer", score.corpus_cer, "share", *corpus),
        Figure("wer", score.wer, "share", *share_estimate(errors.wrong, np.ones(len(errors.wrong)))),
    )
    return figures + (_nbest_figures(done) if done.nbest > 1 else ())


def _nbest_figures(done: AnsweredWords) -> tuple[Figure, ...]:
    accuracy, note = nbest_accuracy(done.outputs, done.references, ks=[done.nbest]), f"of {done.nbest} answers"
    return (
        Figure("nbest_accuracy", accuracy[done.nbest], note=f"one {note} is right"),
        Figure("oracle_cer", oracle_score(done.outputs, done.references).cer, note=f"if the best {note} were chosen"),
    )


def transduction_curves(done: AnsweredWords) -> tuple[Curve, ...]:
    """Error rate curve by source length; n-best accuracy, how often one of the first k answers is right."""
    groups = length_groups(_lengths(done))
    lines = tuple(
        Line(name, tuple(_point(rows, values, done) for _, rows in groups))
        for name, values in (("WER", done.errors.wrong), ("CER", done.errors.rates))
    )
    by_length = Curve("Errors by length", "symbols of the source", "error rate", lines, x_kind="count")
    return (by_length, _nbest_curve(done)) if done.nbest > 1 else (by_length,)


def _point(rows: np.ndarray, values: np.ndarray, done: AnsweredWords) -> Point:
    """Curve point at the mean length of a group."""
    return Point(float(_lengths(done)[rows].mean()), float(values[rows].mean()), len(rows))


def _nbest_curve(done: AnsweredWords) -> Curve:
    found = nbest_accuracy(done.outputs, done.references, ks=range(1, done.nbest + 1))
    points = tuple(Point(float(k), share) for k, share in found.items())
    return Curve("n-best accuracy", "answers", "words with a right one", (Line("words", points),), x_kind="count")


def transduction_breakdowns(done: AnsweredWords, by: Categories) -> tuple[Breakdown, ...]:
    """Error rate breakdowns by source length, by languages where these are known, and by categories of pairs."""
    groups = {"source length": length_groups(_lengths(done))}
    groups["language"] = category_groups([word.languages for word in done.words])
    for name, of_pairs in by.items():
        groups[name] = category_groups([{of_pairs[row] for row in word.rows} for word in done.words])
    return tuple(_breakdown(name, found, done.errors) for name, found in groups.items() if found)


def _breakdown(by: str, groups: list[ItemGroup], errors: WordErrors) -> Breakdown:
    found = []
    for name, rows in groups:
        score = WordErrors(errors.edits[rows], errors.lengths[rows]).score()
        found.append(Group(name, score.words, (score.cer, score.corpus_cer, score.wer)))
    return Breakdown(by, "words", ("cer", "corpus_cer", "wer"), tuple(found))


def _lengths(done: AnsweredWords) -> np.ndarray:
    return np.array([word.length for word in done.words])
