"""Transduction metrics of a model's answers to sources: figures, curves and groups."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsed.evaluate import (
    WordErrors,
    category_groups,
    length_groups,
    nbest_accuracy,
    oracle_score,
    word_errors,
)
from nsed.evaluate.grouping import Rows
from nsed.evaluate.report.records import Breakdown, Curve, Figure, Group, Line, Point
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
        for speaker, some in _by_language(model, pairs):
            own = _words(speaker, some)
            sources = [word.source for word in own]
            given += speaker.transduce(sources, nbest=nbest, beam=beam, on_batch=on_batch)
            words += own
    best = [answers[0].symbols if answers else () for answers in given]
    return AnsweredWords(words, given, word_errors(best, [word.references for word in words]), nbest)


def _by_language(model: Any, pairs: Pairs) -> Iterator[tuple[Any, Pairs]]:
    """Pairs of each language, with the model for it; all at once where either knows no languages."""
    named = pairs.languages if getattr(model, "languages", None) is not None else None
    if named is None:
        yield model, pairs
        return
    for language in dict.fromkeys(named):
        yield model.for_language(language), pairs.chosen([row for row, own in enumerate(named) if own == language])


def _words(model: Any, pairs: Pairs) -> list[AnsweredWord]:
    targets: dict[str, dict[str, None]] = {}
    languages: dict[str, set[str]] = {}
    columns = [column for column in (pairs.source_languages, pairs.target_languages) if column is not None]
    for row, (source, target) in enumerate(pairs):
        targets.setdefault(source, {})[target] = None
        languages.setdefault(source, set()).update(column[row] for column in columns)
    split, cut = model.tokenizers.source.split, model.tokenizers.target.split
    return [
        AnsweredWord(
            source, len(split(source)), tuple(right), tuple(map(cut, right)), frozenset(languages[source]), model
        )
        for source, right in targets.items()
    ]


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


def transduction_breakdowns(done: AnsweredWords) -> tuple[Breakdown, ...]:
    """Error rate breakdowns by source length and, where languages are known, by these."""
    by_length = _breakdown("source length", length_groups(_lengths(done)), done.errors)
    by_language = category_groups([word.languages for word in done.words])
    return (by_length, _breakdown("language", by_language, done.errors)) if by_language else (by_length,)


def _breakdown(by: str, groups: list[Rows], errors: WordErrors) -> Breakdown:
    found = []
    for name, rows in groups:
        score = WordErrors(errors.edits[rows], errors.lengths[rows]).score()
        found.append(Group(name, score.words, (score.cer, score.corpus_cer, score.wer)))
    return Breakdown(by, "words", ("cer", "corpus_cer", "wer"), tuple(found))


def _lengths(done: AnsweredWords) -> np.ndarray:
    return np.array([word.length for word in done.words])
