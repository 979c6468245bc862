"""Report page of a linkage: counts, weights, histogram, threshold curve, examples and reasons, links per record."""

from collections import Counter
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from io import BytesIO
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from nsed.capabilities import Capability, can
from nsed.errors import MissingExtraError, TooLongError
from nsed.evaluate.matching import ThresholdPoint
from nsed.evaluate.report.html import figures_table, page, picture, plot, section
from nsed.evaluate.report.records import Curve, Figure, Line, Point
from nsed.explain.render.html import boxes, legend
from nsed.explain.render.markup import foreign, lines, text
from nsed.explain.render.pictures import WaterfallBar, bars_svg
from nsed.jobs.assignment import ROUNDING, DecidedPairs, ScoredPairs
from nsed.jobs.records import EvidenceWeights, Records
from nsed.text import EditScript
from nsed.train.saved_model import replace_file

EXAMPLES, REASONS = 20, 5
"""Pairs on either side of the threshold that the page shows, and pairs of a record that it gives reasons for."""
BINS, MOST_POINTS = 20, 200
"""Bars of the histogram, and points of a curve that are drawn."""


class LinkSummary(NamedTuple):
    """Linkage result: how many pairs were compared and linked, and precision and recall of the links on labelled ones.

    >>> done = LinkSummary((9, 8), 40, 7, 2, 0.5, at_threshold=None, candidate_recall=None, weights={}, folds=0)
    >>> f"{done.links} links of {done.candidates} pairs compared, {done.review} to be looked at"
    '7 links of 40 pairs compared, 2 to be looked at'
    """

    records: tuple[int, int]
    candidates: int
    """Pairs that were compared."""
    links: int
    review: int
    """Pairs in the review band."""
    threshold: float
    """Probability from which on pairs are links."""
    at_threshold: ThresholdPoint | None
    """Precision and recall at the threshold, on labelled links; None without labels, or where these are too few.

    Where weights or threshold were chosen on the labels, each fold of the labelled records is judged by what the others
    have chosen (cross-fitting): it is what records without labels may expect, not how well the labels were fitted.
    """
    candidate_recall: float | None
    """Share of the labelled links among the candidates."""
    weights: Mapping[str, float]
    """Weights of the evidence, given or learned."""
    folds: int
    """Folds of cross-fitting; 0 where nothing was chosen on the labels."""
    clusters: Mapping[str, int] | None = None
    """Of one table: how many clusters there are (`found`), links between two of them (`apart`), and, where there was an
    earlier run, how many clusters are `kept`, `split`, `merged` and `new`."""


class LinkExample(NamedTuple):
    """Pair of the page: its strings or ids, its probability, whether it is a link, its operations, its evidence."""

    left: str
    right: str
    probability: float
    link: bool
    script: EditScript | None
    evidence: np.ndarray


def near_pairs(decided: DecidedPairs) -> ScoredPairs:
    """Pairs just above and just below the threshold."""
    probability = decided.pairs.probabilities
    order = np.argsort(-probability, kind="stable")
    cut = int((probability + ROUNDING >= decided.threshold).sum())
    return decided.pairs.chosen(order[max(cut - EXAMPLES, 0) : cut + EXAMPLES])


def asked_pairs(scored: ScoredPairs, left: Records, right: Records, ids: Sequence[str]) -> ScoredPairs:
    """Best pairs of the records that reasons are asked for."""
    rows: list[int] = []
    for name in ids:
        there = [side.ids.index(name) if name in side.ids else -1 for side in (left, right)]
        own = np.flatnonzero((scored.left == there[0]) | (scored.right == there[1]))
        rows += own[np.argsort(-scored.log_odds[own], kind="stable")][:REASONS].tolist()
    return scored.chosen(np.array(rows, dtype=np.int64))


def link_examples(
    texts: Sequence[tuple[str, str]],
    pairs: ScoredPairs,
    values: np.ndarray,
    threshold: float,
    model: Any,
    *,
    reversed_: bool,
) -> list[LinkExample]:
    """Pairs with their evidence, and the operations of a model, if one is given; it may read them the other way."""
    scripts: Sequence[EditScript | None] = [None] * len(texts)
    if texts and model is not None and can(model, Capability.ALIGN):
        scripts = _aligned(model, [(b, a) for a, b in texts] if reversed_ else texts)
    return [
        LinkExample(*pair, float(probability), bool(probability + ROUNDING >= threshold), script, own)
        for pair, probability, script, own in zip(texts, pairs.probabilities, scripts, values, strict=True)
    ]


def _aligned(model: Any, pairs: Sequence[tuple[str, str]]) -> Sequence[EditScript | None]:
    """Edit scripts of pairs; none of those that are too long to be compared, which are links by other evidence."""
    try:
        return list(model.align_all(pairs))
    except TooLongError:
        return [None] if len(pairs) == 1 else [one for pair in pairs for one in _aligned(model, [pair])]


class LinkFigures(NamedTuple):
    """What the page shows in numbers."""

    summary: Mapping[str, Any]
    probabilities: np.ndarray
    """Of all pairs that may be links, whatever the threshold."""
    left: np.ndarray
    right: np.ndarray
    curve: Sequence[ThresholdPoint]
    weights: EvidenceWeights


def link_page(
    title: str,
    job: Mapping[str, Any],
    figures: LinkFigures,
    examples: Sequence[LinkExample],
    reasons: Sequence[LinkExample] = (),
) -> str:
    """HTML page of a linkage, which needs nothing else; `reasons` are pairs of records that somebody asked about."""
    settings = ", ".join(f"{name} {job[name]}" for name in ("k", "assign") if name in job)
    content = [section("Figures", figures_table(_figures(figures))), section("Probabilities", _histogram(figures))]
    if figures.curve:
        content.append(section("Thresholds", f'<div class="plots">{plot(threshold_plot(figures.curve))}</div>'))
    content.append(section("Links per record", _links_per_record(figures)))
    content.append(section("Weights", _weights(figures.weights)))
    for name, shown in (("Why", reasons), ("Around the threshold", examples)):
        if shown:
            content.append(section(name, _examples(shown, figures)))
    return page(title, f"{job['verb']}: {settings}", content)


def _figures(figures: LinkFigures) -> list[Figure]:
    summary, point = figures.summary, figures.summary["at_threshold"]
    counts = [("records_a", summary["records"][0]), ("records_b", summary["records"][1])]
    counts += [("candidate_pairs", summary["candidates"]), ("links", summary["links"])]
    counts += [("to_review", summary["review"])] if summary["review"] else []
    counts += [(f"clusters_{name}", count) for name, count in (summary["clusters"] or {}).items()]
    found = [Figure(name, count, "count") for name, count in counts]
    found.append(Figure("threshold", summary["threshold"], "number", note="probability from which on a pair is a link"))
    if summary["candidate_recall"] is not None:
        note = "known links among the candidates: others no model can find"
        found.append(Figure("candidate_recall", summary["candidate_recall"], note=note))
    if point is not None:
        note = f"on labelled links{held_out(summary['folds'])}"
        found.append(Figure("precision", point.precision, "share", point.precision_interval, note))
        found += [Figure("recall", point.recall, note="of all known links"), Figure("f1", point.f1)]
    return found


def held_out(folds: int) -> str:
    """What figures on labels are, after a comma, where weights or threshold were chosen on these; else nothing."""
    return f", each of {folds} parts of them held out: judged by what the others have chosen" if folds else ""


def _histogram(figures: LinkFigures) -> str:
    counts, edges = np.histogram(figures.probabilities, bins=BINS, range=(0, 1))
    total = max(int(counts.sum()), 1)
    points = tuple(
        Point(float(low + high) / 2, int(count) / total, int(count))
        for count, low, high in zip(counts, edges, edges[1:], strict=False)
    )
    drawn = Curve("Pairs by probability", "probability of a match", "share of pairs", (Line("pairs", points),))
    return f'<div class="plots">{plot(drawn)}</div>'


def threshold_plot(curve: Sequence[ThresholdPoint]) -> Curve:
    """Precision, recall and F1 by threshold, to be drawn."""
    some = curve[:: max(1, len(curve) // MOST_POINTS)]
    drawn = tuple(
        Line(title, tuple(Point(point.threshold, getattr(point, name)) for point in some))
        for name, title in (("precision", "precision"), ("recall", "recall"), ("f1", "F1"))
    )
    return Curve("Precision, recall and F1 by threshold", "probability", "share", drawn)


PICTURES = (".svg", ".html", ".png", ".pdf")
"""Endings of files that a curve is drawn in; the last two by matplotlib."""


def check_picture(path: Path) -> None:
    """Check that a curve can be drawn in a file: raises `MissingExtraError` where that needs matplotlib."""
    if path.suffix.lower() in PICTURES[2:] and find_spec("matplotlib") is None:
        raise MissingExtraError("matplotlib", extra="viz")


def write_picture(curve: Curve, path: Path) -> None:
    """Draw a curve: SVG, a page, or with the extra viz PNG and PDF, as the file's name ends."""
    ending = path.suffix.lower()
    if ending == ".svg":
        replace_file(path, picture(curve).encode())
    elif ending == ".html":
        replace_file(path, page(curve.title, "", [f'<div class="plots">{plot(curve)}</div>']).encode())
    else:
        figure = import_module("matplotlib.figure").Figure(figsize=(5, 4), layout="constrained")
        axes = figure.subplots()
        for line in curve.lines:
            axes.plot([point.x for point in line.points], [point.y for point in line.points], label=line.name)
        axes.set(title=curve.title, xlabel=curve.x, ylabel=curve.y, xlim=(0, 1), ylim=(0, 1.02))
        axes.legend()
        content = BytesIO()
        figure.savefig(content, dpi=150, format=ending[1:])
        replace_file(path, content.getvalue())


def _links_per_record(figures: LinkFigures) -> str:
    rows = []
    for name, side in (("first", figures.left), ("second", figures.right)):
        times = Counter(Counter(side.tolist()).values())
        rows += [f"<tr><td>{name} table</td><td>{n}</td><td>{count:,}</td></tr>" for n, count in sorted(times.items())]
    head = "<tr><th>records of the</th><th>links of a record</th><th>records</th></tr>"
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{lines(rows)}</tbody></table></div>'


def _weights(weights: EvidenceWeights) -> str:
    named = [*zip(weights.names, weights.weights.tolist(), strict=True), ("intercept", weights.intercept)]
    rows = [f'<tr><td>{text(name)}</td><td class="number">{value:+.4f}</td></tr>' for name, value in named]
    head = "<tr><th>evidence</th><th>weight</th></tr>"
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{lines(rows)}</tbody></table></div>'


def _examples(examples: Sequence[LinkExample], figures: LinkFigures) -> str:
    cards = []
    for one in examples:
        said = "link" if one.link else "no link"
        shown = f'<div class="operations">{boxes(one.script)}</div>' if one.script is not None else ""
        heading = f"{foreign(one.left)} <span class='between'>and</span> {foreign(one.right)}"
        facts = f'<p class="facts">{text(said)} · probability {one.probability:.4f}</p>'
        cards.append(f'<li class="mistake"><h3>{heading}</h3>{facts}{shown}{_waterfall(one, figures)}</li>')
    return lines([f"<p>{legend()}</p>", '<ol class="mistakes">', *cards, "</ol>"])


def _waterfall(example: LinkExample, figures: LinkFigures) -> str:
    """How the evidence of a pair adds up to its log-odds; kinds that do not count are left out."""
    weights, threshold = figures.weights, float(np.clip(figures.summary["threshold"], 1e-12, 1 - 1e-12))
    parts = zip(weights.names, weights.contributions(example.evidence[None])[0].tolist(), strict=True)
    counted = [(name, value) for name, value in [*parts, ("intercept", weights.intercept)] if value]
    starts = accumulate((value for _, value in counted), initial=0.0)
    bars = [
        WaterfallBar(name, "substitute" if value > 0 else "delete", value, start, name)
        for (name, value), start in zip(counted, starts, strict=False)
    ]
    total = sum(value for _, value in counted)
    bars.append(WaterfallBar("log-odds", "total", total, 0.0, "the sum, log-odds of a match"))
    title = f"what adds up to the log-odds of {example.left} and {example.right}"
    return bars_svg(bars, title, float(np.log(threshold / (1 - threshold))))
