"""Matching metrics of a model's decisions about labelled pairs: figures, curves and groups."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsed.capabilities import Capability, can
from nsed.errors import ArgumentError
from nsed.evaluate import (
    average_precision,
    best_threshold,
    brier_score,
    category_groups,
    decisions,
    expected_calibration_error,
    group_totals,
    length_groups,
    matching_score,
    ranking_curve,
    reliability_bins,
    roc_auc,
)
from nsed.evaluate.grouping import ItemGroup
from nsed.evaluate.matching import f1_of_totals
from nsed.evaluate.report.records import Breakdown, Categories, Curve, Figure, Group, Line, Point
from nsed.evaluate.significance import rate_estimate, share_estimate
from nsed.progress import Progress, silent
from nsed.text import Pairs, SymbolSplitter, Tokenizers

CURVE_POINTS = 200
OPTIMISTIC = "tuned on these very pairs: optimistic"


@dataclass(frozen=True)
class Decisions:
    """Match decisions: scores of labelled pairs, the threshold, and probabilities where the model has them."""

    pairs: Pairs
    labels: np.ndarray
    scores: np.ndarray
    threshold: float
    lengths: np.ndarray
    """Source lengths in symbols."""
    probabilities: np.ndarray | None = None
    groups: Sequence[str] | None = None
    """Group of each pair, say its concept, where whole groups are resampled."""

    @property
    def rows(self) -> np.ndarray:
        """Decision indicators, see `nsed.evaluate.decisions`, of each pair or, where there are some, of each group."""
        rows = decisions(self.scores, self.labels, self.threshold)
        return rows if self.groups is None else group_totals(rows, self.groups)

    @property
    def rankable(self) -> bool:
        """Both classes present: whether there are labels of both kinds."""
        return bool(self.labels.any() and not self.labels.all())


def decide(
    model: Any,
    pairs: Pairs,
    *,
    name: str = "this model",
    validation: Pairs | None = None,
    groups: Sequence[str] | None = None,
    progress: Progress = silent,
) -> Decisions:
    """Score the pairs; the threshold is the best one of the validation pairs, without these the model's own.

    `name` is that of the model in complaints.
    """
    labels, threshold = labels_of(pairs, "pairs"), _threshold(model, name, validation)
    with progress("scoring", len(pairs)) as on_batch:
        scores = model.score(pairs, on_batch=on_batch)
    calibrated = model.calibration.probability(scores) if can(model, Capability.MATCH) else None
    return Decisions(pairs, labels, scores, threshold, _lengths(model, pairs), calibrated, groups)


def _lengths(model: Any, pairs: Pairs) -> np.ndarray:
    """Source lengths in the model's symbols; grapheme clusters where it does not say what these are."""
    tokenizers: Tokenizers | None = getattr(model, "tokenizers", None)
    split = SymbolSplitter().split if tokenizers is None else tokenizers.source.split
    lengths = {source: len(split(source)) for source in set(pairs.sources)}
    return np.array([lengths[source] for source in pairs.sources])


def labels_of(pairs: Pairs, name: str) -> np.ndarray:
    """Label array; `name` is that of the argument in complaints."""
    if pairs.labels is None:
        raise ArgumentError(name, got="pairs without labels", expected="a third column with 1 or 0")
    return np.asarray(pairs.labels, dtype=bool)


def _threshold(model: Any, name: str, validation: Pairs | None) -> float:
    if validation is not None:
        return best_threshold(model.score(validation), labels_of(validation, "validation")).threshold
    threshold: float | None = getattr(model, "threshold", None)
    if threshold is not None:
        return threshold
    expected = f"labelled pairs to tune the threshold on: {name} has none of its own"
    raise ArgumentError("validation", got="nothing", expected=expected)


def matching_figures(done: Decisions) -> tuple[Figure, ...]:
    """Matching metrics: at the threshold; at the best one; and what needs none."""
    score, rows = matching_score(done.scores, done.labels, done.threshold), done.rows
    called, hits, matches = rows.T
    return (
        Figure("pairs_scored", len(done.labels), "count"),
        Figure("positives", int(done.labels.sum()), "count"),
        Figure("precision", score.precision, "share", *share_estimate(hits, called)),
        Figure("recall", score.recall, "share", *share_estimate(hits, matches)),
        Figure("f1", score.f1, "share", *rate_estimate(rows, f1_of_totals)),
        Figure("threshold", done.threshold, "number"),
        *_best(done),
        *_ranking(done),
        *_promises(done),
    )


def _best(done: Decisions) -> tuple[Figure, ...]:
    best = best_threshold(done.scores, done.labels)
    return (
        Figure("best_f1", best.f1, note=OPTIMISTIC),
        Figure("best_threshold", best.threshold, "number", note=OPTIMISTIC),
    )


def _ranking(done: Decisions) -> tuple[Figure, ...]:
    """Ranking metrics: what needs no threshold, but labels of both kinds."""
    if not done.rankable:
        return ()
    precision = average_precision(done.scores, done.labels)
    return Figure("average_precision", precision), Figure("roc_auc", roc_auc(done.scores, done.labels))


def _promises(done: Decisions) -> tuple[Figure, ...]:
    """Calibration metrics: how far calibrated probabilities are from what was true."""
    if done.probabilities is None:
        return ()
    error = expected_calibration_error(done.probabilities, done.labels)
    return (
        Figure("brier_score", brier_score(done.probabilities, done.labels), "number"),
        Figure("expected_calibration_error", error, "number"),
    )


def matching_curves(done: Decisions) -> tuple[Curve, ...]:
    """Precision-recall curve, ROC curve, and reliability diagram."""
    return (_threshold_curves(done) if done.rankable else ()) + _reliability(done)


def _threshold_curves(done: Decisions) -> tuple[Curve, ...]:
    recall, precision, false_alarms = ranking_curve(done.scores, done.labels)
    roc = _line("ROC", np.append(0, false_alarms), np.append(0, recall))
    return (
        Curve("Precision and recall", "recall", "precision", (_line("precision", recall, precision),)),
        Curve("ROC", "false positive rate", "true positive rate", (roc,), diagonal=True),
    )


def _line(name: str, x: np.ndarray, y: np.ndarray) -> Line:
    """Subsampled line: at most so many points, evenly chosen, the first and the last among them."""
    chosen = np.unique(np.linspace(0, len(x) - 1, CURVE_POINTS).round().astype(int))
    return Line(name, tuple(Point(*point) for point in zip(x[chosen].tolist(), y[chosen].tolist(), strict=True)))


def _reliability(done: Decisions) -> tuple[Curve, ...]:
    if done.probabilities is None:
        return ()
    bins = (column.tolist() for column in reliability_bins(done.probabilities, done.labels))
    points = tuple(Point(*point) for point in zip(*bins, strict=True))
    line = Line("pairs", points)
    return (Curve("Reliability", "mean probability", "share that match", (line,), diagonal=True),)


def matching_breakdowns(done: Decisions, by: Categories) -> tuple[Breakdown, ...]:
    """Matching breakdowns by source length, by languages of either string where known, and by categories of pairs."""
    groups = {"source length": length_groups(done.lengths)}
    columns = (done.pairs.source_languages, done.pairs.target_languages)
    known = [column for column in columns if column is not None]
    groups["language"] = category_groups(list(zip(*known, strict=True)) if known else [])
    for name, of_pairs in by.items():
        groups[name] = category_groups([[category] for category in of_pairs])
    return tuple(_breakdown(name, found, done) for name, found in groups.items() if found)


def _breakdown(by: str, groups: list[ItemGroup], done: Decisions) -> Breakdown:
    found = []
    for name, rows in groups:
        labels = done.labels[rows]
        precision, recall, f1, _ = matching_score(done.scores[rows], labels, done.threshold)
        found.append(Group(name, len(rows), (float(labels.mean()), precision, recall, f1)))
    return Breakdown(by, "pairs", ("positives", "precision", "recall", "f1"), tuple(found))
