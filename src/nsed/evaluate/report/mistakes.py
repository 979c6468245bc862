"""Error analysis: the worst errors, with the operations that led there."""

import warnings
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz.distance import Levenshtein

from nsed.capabilities import Capability, can
from nsed.errors import NotExplainableError, UnknownSymbolWarning
from nsed.evaluate.report.answers import AnsweredWords, Symbols
from nsed.evaluate.report.decisions import Decisions
from nsed.evaluate.report.records import Figure, Mistake, NamedScript
from nsed.text import Pairs
from nsed.text.edit_script import plain_script


def false_decisions(model: Any, done: Decisions, count: int) -> tuple[Mistake, ...]:
    """False positives and negatives, the surest: half of them positives, highest score first, half negatives, lowest.

    Where there are fewer of one kind, there are more of the other.
    """
    called = done.scores >= done.threshold
    by_score = np.argsort(done.scores, kind="stable")
    positives = [int(row) for row in by_score[::-1] if called[row] and not done.labels[row]]
    negatives = [int(row) for row in by_score if done.labels[row] and not called[row]]
    half = max(count // 2, count - len(negatives))
    chosen = positives[:half]
    return tuple(_false_decision(model, done, row) for row in chosen + negatives[: count - len(chosen)])


def _false_decision(model: Any, done: Decisions, row: int) -> Mistake:
    pairs, said = done.pairs, bool(done.scores[row] >= done.threshold)
    figures = [Figure("score", float(done.scores[row]), "number")]
    if done.probabilities is not None:
        figures.append(Figure("probability", float(done.probabilities[row])))
    columns = (pairs.source_languages, pairs.target_languages)
    return Mistake(
        "false positive" if said else "false negative",
        (pairs.sources[row], pairs.targets[row]),
        said="match" if said else "no match",
        right="no match" if said else "match",
        figures=tuple(figures),
        scripts=_script(model, "operations", pairs.sources[row], pairs.targets[row]),
        languages=" → ".join(column[row] for column in columns if column is not None),
    )


def wrong_answers(model: Any, done: AnsweredWords, count: int) -> tuple[Mistake, ...]:
    """Wrong outputs: words whose reference is the least probable; of a model without scores, with the most edits."""
    wrong = [_Wrong.of(done, int(row)) for row in np.flatnonzero(done.errors.wrong)] if count else []
    if can(model, Capability.SCORE):
        by_speaker = groupby(wrong, key=lambda one: id(one.speaker))  # words of a language stand together
        wrong = [one for _, some in by_speaker for one in _scored(list(some))]
    worst = sorted(wrong, key=lambda one: (one.log_prob or 0.0, -one.edits))
    return tuple(map(_wrong_answer, worst[:count]))


class _Wrong(NamedTuple):
    """Output and nearest reference of a word, as text and as symbols."""

    source: str
    said: str
    said_symbols: Symbols
    right: str
    right_symbols: Symbols
    edits: int
    languages: str
    speaker: Any
    """See `AnsweredWord.speaker`."""
    log_prob: float | None = None

    @classmethod
    def of(cls, done: AnsweredWords, row: int) -> "_Wrong":
        word, answers = done.words[row], done.given[row]
        said: tuple[str, Symbols] = (answers[0].text, answers[0].symbols) if answers else ("", ())
        rates = [Levenshtein.distance(said[1], one) / max(len(one), 1) for one in word.references]
        nearest = rates.index(min(rates))
        right = word.targets[nearest], word.references[nearest]
        languages = ", ".join(sorted(word.languages))
        return cls(word.source, *said, *right, int(done.errors.edits[row]), languages, word.speaker)


def _scored(wrong: list[_Wrong]) -> list[_Wrong]:
    """Words that one model answered, each with the log-probability of what is right."""
    scores = wrong[0].speaker.score(Pairs([one.source for one in wrong], [one.right for one in wrong]))
    return [one._replace(log_prob=score) for one, score in zip(wrong, scores.tolist(), strict=True)]


def _wrong_answer(wrong: _Wrong) -> Mistake:
    figures = [Figure("edits", wrong.edits, "count")]
    if wrong.log_prob is not None:
        figures.append(Figure("log_prob_of_the_right_one", wrong.log_prob, "number"))
    scripts = (
        *_script(wrong.speaker, "source to said", wrong.source, wrong.said),
        *_script(wrong.speaker, "source to right", wrong.source, wrong.right),
        NamedScript("right to said", plain_script(wrong.right_symbols, wrong.said_symbols)),
    )
    kind = "wrong" if wrong.said_symbols else "no answer"
    return Mistake(kind, (wrong.source,), wrong.said, wrong.right, tuple(figures), scripts, wrong.languages)


def _script(model: Any, name: str, source: str, target: str) -> tuple[NamedScript, ...]:
    """Edit script of a pair; nothing where the model has none to show."""
    if not can(model, Capability.ALIGN):
        return ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownSymbolWarning)  # said before, of all pairs together
        try:
            return (NamedScript(name, model.align(source, target)),)
        except NotExplainableError:
            return ()
