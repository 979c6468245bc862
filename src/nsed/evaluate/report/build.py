"""Report building, from a model and pairs; with a significance test against another model."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError
from nsed.evaluate.matching import f1_of_totals
from nsed.evaluate.report.answers import (
    AnsweredWords,
    answer,
    transduction_breakdowns,
    transduction_curves,
    transduction_figures,
)
from nsed.evaluate.report.decisions import Decisions, decide, matching_breakdowns, matching_curves, matching_figures
from nsed.evaluate.report.links import alignment_figures
from nsed.evaluate.report.mistakes import false_decisions, wrong_answers
from nsed.evaluate.report.records import (
    Breakdown,
    Categories,
    Comparison,
    Curve,
    Difference,
    Figure,
    Mistake,
    Report,
    TaskKind,
)
from nsed.evaluate.significance import difference_interval, paired_statistic_test, paired_test
from nsed.progress import Progress, silent
from nsed.text import Links, Pairs


def compare_answers(ours: AnsweredWords, theirs: AnsweredWords) -> tuple[Difference, ...]:
    """Compare error rates by a permutation test: below zero, ours are fewer."""
    values = {
        "cer": (ours.errors.rates, theirs.errors.rates),
        "wer": (ours.errors.wrong.astype(float), theirs.errors.wrong.astype(float)),
    }
    return tuple(
        Difference(name, test.difference, difference_interval(*both, statistic=_mean), test.p_value)
        for name, both in values.items()
        for test in [paired_test(*both)]
    )


def compare_decisions(ours: Decisions, theirs: Decisions) -> tuple[Difference, ...]:
    """Compare F1, each at its own threshold, by a permutation test: above zero, ours is higher."""
    both = ours.rows, theirs.rows
    test = paired_statistic_test(*both, statistic=_f1)
    return (Difference("f1", test.difference, difference_interval(*both, statistic=_f1), test.p_value),)


def _mean(values: np.ndarray) -> float:
    return float(values.mean())


def _f1(rows: np.ndarray) -> float:
    return f1_of_totals(rows.sum(axis=0))


Done = TypeVar("Done")


class NamedModel(NamedTuple):
    """Named model, as the report calls it."""

    name: str
    model: Any


class Groups(NamedTuple):
    """Resampling groups: what they are called, and the group of each pair.

    >>> print(Groups("concept", ["hand", "hand", "foot"]))
    2 concepts
    """

    name: str
    of_pairs: Sequence[str]

    def __str__(self) -> str:
        count = len(set(self.of_pairs))
        return f"{count:,} concepts" if self.name.lower() == "concept" else f"{count:,} groups by {self.name}"


@dataclass(frozen=True)
class ReportOptions:
    """Report options, beyond what all have.

    >>> from nsed.baselines import Lookup
    >>> model = NamedModel("lookup", Lookup.fit([("hand", "HAND"), ("foot", "FOOT")]))
    >>> evaluate(model, Pairs.of([("hand", "HAND")]), options=ReportOptions(nbest=3)).settings
    {'nbest': 3}
    """

    nbest: int = 1
    """N-best size for Transducers: answers looked at for each word."""
    beam: int | None = None
    """Beam width for Transducers: prefixes followed at once; the model's own where nothing is said."""
    validation: Pairs | None = None
    """Validation pairs for Matchers, to tune the threshold on."""
    alignments: Sequence[Links] | None = None
    """Reference alignment: links of each pair, to compare the model's substitutions with."""
    against: NamedModel | None = None
    """Baseline: another model, to compare this one with."""
    groups: Groups | None = None
    """Groups of labelled pairs, say their concepts, that intervals and tests resample instead of single pairs."""
    by: Categories = field(default_factory=dict)
    """Breakdowns beside those by length and language: categories of the pairs, say their sources or dialects."""
    mistakes: int = 50
    """Number of worst errors shown."""


DEFAULT_OPTIONS = ReportOptions()


def evaluate(
    model: NamedModel,
    pairs: Pairs,
    *,
    name: str = "",
    options: ReportOptions = DEFAULT_OPTIONS,
    progress: Progress = silent,
    wishes: ReportOptions | None = None,
) -> Report:
    """Evaluate a model: error rates where it transduces unlabelled pairs, F1 of its decisions on labelled pairs.

    A model that can do neither with the pairs may still align them, if there are alignments to compare with. `wishes`
    is the old name of `options`.
    """
    options = options if wishes is None else _under_old_name(wishes)
    if not len(pairs):
        raise ArgumentError("pairs", got="none", expected="at least one")
    if pairs.labels is None and options.groups is not None:
        raise ArgumentError("groups", got=options.groups.name, expected="nothing: these pairs have no labels")
    if pairs.labels is None and can(model.model, Capability.TRANSDUCE):
        return _report(TRANSDUCTION, model, pairs, name=name, options=options, progress=progress)
    if pairs.labels is None and options.alignments is not None:
        return _report(ALIGNMENT, model, pairs, name=name, options=options, progress=progress)
    return _report(MATCHING, model, pairs, name=name, options=options, progress=progress)


def _under_old_name(options: ReportOptions) -> ReportOptions:
    message = "evaluate(wishes=...) is now evaluate(options=...); the old name goes with 2.0"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    return options


def _report(
    task: "ReportTask[Done]", model: NamedModel, pairs: Pairs, *, name: str, options: ReportOptions, progress: Progress
) -> Report:
    done = task.run(model, pairs, options, progress)
    return Report(
        model.name,
        name,
        task.kind,
        task.figures(done) + _alignment(model, pairs, options, progress),
        settings=_settings(task.kind, model.model, pairs, options),
        curves=task.curves(done),
        breakdowns=task.breakdowns(done, options.by),
        mistakes=task.mistakes(model.model, done, options.mistakes),
        comparison=_comparison(task, done, pairs, options, progress),
    )


def _settings(kind: TaskKind, model: Any, pairs: Pairs, options: ReportOptions) -> dict[str, int | str]:
    """Search settings, no fewer prefixes than answers are followed; for labelled pairs what intervals resample."""
    if kind == "matching":
        return {"resampled": str(options.groups or f"{len(pairs):,} pairs")}
    if kind == "alignment":
        return {}
    beam = options.beam or getattr(model, "beam", 0)
    return {"nbest": options.nbest, **({"beam": max(beam, options.nbest)} if beam else {})}


def _comparison(
    task: "ReportTask[Done]", ours: Done, pairs: Pairs, options: ReportOptions, progress: Progress
) -> Comparison | None:
    if options.against is None:
        return None
    theirs = task.run(options.against, pairs, options, progress)
    figures = task.figures(theirs) + _alignment(options.against, pairs, options, progress)
    return Comparison(options.against.name, figures, task.compare(ours, theirs))


def _alignment(model: NamedModel, pairs: Pairs, options: ReportOptions, progress: Progress) -> tuple[Figure, ...]:
    if options.alignments is None:
        return ()
    groups = options.groups and options.groups.of_pairs
    return alignment_figures(model.model, pairs, options.alignments, groups=groups, progress=progress)


def _answers(model: NamedModel, pairs: Pairs, options: ReportOptions, progress: Progress) -> AnsweredWords:
    if not can(model.model, Capability.TRANSDUCE):
        raise ArgumentError("model", got=model.name, expected="one that turns sources into targets, as the other does")
    return answer(model.model, pairs, nbest=options.nbest, beam=options.beam, progress=progress)


def _decisions(model: NamedModel, pairs: Pairs, options: ReportOptions, progress: Progress) -> Decisions:
    if not can(model.model, Capability.SCORE):
        raise ArgumentError("model", got=model.name, expected="one that gives pairs scores")
    groups = options.groups and options.groups.of_pairs
    return decide(model.model, pairs, name=model.name, validation=options.validation, groups=groups, progress=progress)


@dataclass(frozen=True)
class ReportTask(Generic[Done]):
    """Report task, what is measured of a kind of work: how it is done, and what is made of it."""

    kind: TaskKind
    run: Callable[[NamedModel, Pairs, ReportOptions, Progress], Done]
    figures: Callable[[Done], tuple[Figure, ...]]
    curves: Callable[[Done], tuple[Curve, ...]]
    breakdowns: Callable[[Done, Categories], tuple[Breakdown, ...]]
    mistakes: Callable[[Any, Done, int], tuple[Mistake, ...]]
    compare: Callable[[Done, Done], tuple[Difference, ...]]


TRANSDUCTION = ReportTask(
    "transduction",
    _answers,
    transduction_figures,
    transduction_curves,
    transduction_breakdowns,
    wrong_answers,
    compare_answers,
)
MATCHING = ReportTask(
    "matching",
    _decisions,
    matching_figures,
    matching_curves,
    matching_breakdowns,
    false_decisions,
    compare_decisions,
)
ALIGNMENT = ReportTask(
    "alignment",
    lambda model, pairs, options, progress: pairs,
    lambda pairs: (Figure("pairs_aligned", len(pairs), "count"),),
    lambda pairs: (),
    lambda pairs, by: (),
    lambda model, pairs, count: (),
    lambda ours, theirs: (),
)
"""Nothing but what every report has where there are alignments to compare with."""
