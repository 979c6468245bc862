"""`nsed evaluate` and `threshold`: how good a model is on pairs with known answers, and where it shall decide."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nsed.capabilities import Capability, can
from nsed.cli.arguments import (
    Columns,
    Language,
    ModelPath,
    load_model,
    load_other,
    makes_no_decisions,
    open_output,
    split_columns,
)
from nsed.cli.console import err, out, progress_bar, warn
from nsed.cli.link import point_line
from nsed.cli.tables import TableOutput
from nsed.errors import ArgumentError, DataError

if TYPE_CHECKING:
    from nsed.evaluate.matching import ThresholdPoint
    from nsed.evaluate.report import Groups
    from nsed.progress import OnBatch
    from nsed.text import Pairs

CONCEPT = "concept"
"""Default group column: nsed data cognates writes it."""


NbestOption = Annotated[
    int, typer.Option(min=1, help="For transducers: answers looked at; more than one gives n-best figures too.")
]
ValidationOption = Annotated[
    Path | None, typer.Option(help="Labelled pairs to tune the threshold on, instead of the model's own threshold.")
]
AlignmentsOption = Annotated[
    Path | None,
    typer.Option(help="Pharaoh file, a line for each pair (see nsed data align), to compare substitutions with."),
]
AgainstOption = Annotated[
    Path | None, typer.Option(help="Another model: its figures side by side, and whether the two differ.")
]
GroupsOption = Annotated[
    str | None,
    typer.Option(
        help="Column of the file: its groups of pairs are resampled instead of single pairs.",
        show_default=f"{CONCEPT}, if there",
    ),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        help="Figures for each value of a column of the file, or for each length, language or script; repeatable.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write figures, curves, groups and errors here, as JSON.")
]


def evaluate(
    model: ModelPath,
    pairs: Annotated[Path, typer.Argument(help="File of pairs; a matcher needs labels, 1 or 0.", show_default=False)],
    columns: Columns = None,
    language: Language = None,
    beam: Annotated[int | None, typer.Option(min=1, help="For transducers: prefixes followed at once.")] = None,
    nbest: NbestOption = 1,
    validation: ValidationOption = None,
    alignments: AlignmentsOption = None,
    against: AgainstOption = None,
    groups: GroupsOption = None,
    by: ByOption = None,
    errors: Annotated[int, typer.Option(min=0, help="How many of the worst errors go into JSON and HTML.")] = 50,
    output: OutputOption = None,
    html: Annotated[Path | None, typer.Option(help="Write a page with all of it here, for a browser.")] = None,
) -> None:
    """Measure a model on pairs with known answers: error rates of a transducer, F1 of whatever scores labelled pairs.

    A source that occurs several times may be answered in any of its ways. Intervals are those of a bootstrap, 95 %;
    where all is right, or all wrong, and of fewer than ten, shares have Wilson's, others none. Two models are compared
    pair by pair, by approximate randomisation. Labelled pairs of one concept resemble each other: where the file has a
    column `concept`, or another that `--groups` names, whole groups are resampled. The best F1 is that of the threshold
    tuned on the test pairs themselves: an optimistic bound, not an estimate for other pairs. The page of `--html` is
    one file that needs no other.
    A model that cannot transduce is measured on pairs without labels by its alignment alone, against `--alignments`.
    `nsed evaluate MODEL test.tsv --by dialect --by script` shows a table of figures for each dialect, a column of the
    file, and for each script.
    """
    from nsed.cli.figures import cautions_of, show_report
    from nsed.evaluate.report import NamedModel, ReportOptions, read_reference, to_html
    from nsed.evaluate.report import evaluate as report_on
    from nsed.text import read_pairs

    names, loaded = split_columns(columns), NamedModel(str(model), load_model(model, language))
    data = read_pairs(pairs, columns=names, keep_others=True)
    options = ReportOptions(
        nbest=nbest,
        beam=beam,
        validation=read_pairs(validation, columns=names) if validation else None,
        alignments=read_reference(alignments, data) if alignments else None,
        against=NamedModel(str(against), load_other(against, language)) if against else None,
        groups=_groups(pairs, data, groups),
        by=_categories(pairs, data, by or []),
        mistakes=errors if output or html else 0,
    )
    report = report_on(loaded, data, name=pairs.name, options=options, progress=_progress)
    report = replace(report, cautions=cautions_of(pairs))
    show_report(report, by={BUILT_IN.get(name, name) for name in by or ()})
    if output is not None:
        _write(output, json.dumps(report.to_dict(), indent=1))
    if html is not None:
        _write(html, to_html(report))


def _groups(path: Path, data: Pairs, column: str | None) -> Groups | None:
    """Groups that the user names, or concepts where labelled pairs have them; a single group cannot be resampled."""
    from nsed.evaluate.report import Groups

    found = column_of(data, column or CONCEPT) if column or data.labels is not None else None
    if column is None:
        return Groups(CONCEPT, found) if found and len(set(found)) > 1 else None
    if found is None:
        raise DataError(path, f"no column named {column!r} in a header, to resample its groups")
    if len(set(found)) < 2:
        raise DataError(path, f"column {column!r}: found the one group {found[0]!r}, expected at least two to resample")
    return Groups(column, found)


BUILT_IN = {"length": "source length", "language": "language"}
"""Breakdowns that every report has, of the languages where these are known."""


def _categories(path: Path, data: Pairs, names: list[str]) -> dict[str, list[str]]:
    """Categories of the pairs by the names that the user gives; of a report's own breakdowns, none."""
    found = {name: _category(data, name) for name in names}
    for name, values in found.items():
        own = name == "length" or (name == "language" and data.languages is not None)
        if values is None and not own:
            known = [*([] if data.others is None else data.others.column_names), "length", "language", "script"]
            raise DataError(path, f"no column named {name!r}, to show figures by; there are: {', '.join(known)}")
    return {name: values for name, values in found.items() if values is not None}


def _category(data: Pairs, name: str) -> list[str] | None:
    from nsed.evaluate import script_of

    own = {"source_language": data.source_languages, "target_language": data.target_languages}.get(name)
    values = column_of(data, name) if own is None else list(own)
    if values is not None or name != "script":
        return values
    sides = (data.sources, data.targets) if data.labels is not None else (data.sources,)
    scripts = [[script_of(text) for text in side] for side in sides]
    return ["-".join(dict.fromkeys(both)) for both in zip(*scripts, strict=True)]


def column_of(data: Pairs, name: str) -> list[str] | None:
    """Further column of a file of pairs, by its name in upper or lower case: a text for each pair; None without one."""
    names = [] if data.others is None else [one for one in data.others.column_names if one.lower() == name.lower()]
    if data.others is None or not names:
        return None
    return [str(value) for value in data.others.column(names[0]).to_pylist()]


@contextmanager
def _progress(what: str, total: int | None) -> Iterator[OnBatch]:
    with progress_bar(what, total) as bar:
        yield bar.advance


def _write(path: Path, content: str) -> None:
    with open_output(path) as stream:
        stream.write(content)


LabelledPath = Annotated[Path, typer.Argument(help="Labelled pairs that the model has not seen.", show_default=False)]
TargetPrecision = Annotated[
    float | None, typer.Option("--precision", help="Precision that a threshold shall keep.", show_default=False)
]
CurvePath = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="Write the curve here: a table, .tsv, .csv, .parquet; or a picture, .svg, .html, .png, .pdf (extra viz).",
        show_default=False,
    ),
]


OTHER_PICTURES = (".jpg", ".jpeg", ".gif", ".webp", ".eps", ".ps", ".tif", ".tiff")
"""Endings of pictures that no curve is drawn in."""


def threshold(
    model: ModelPath,
    labelled: LabelledPath,
    precision: TargetPrecision = None,
    columns: Columns = None,
    output: CurvePath = None,
) -> None:
    """Choose a threshold on labelled pairs: precision, with its Wilson interval, recall and F1 of each probability.

    Shows the model's own threshold, that with the best F1, and with `--precision 0.99` the lowest one that keeps it.
    Figures of the last two are on the pairs that they are chosen on: a little too good where these are few.
    """
    import numpy as np

    from nsed.evaluate.matching import best_f1, threshold_at_precision, threshold_curve
    from nsed.text import read_pairs

    matcher = load_model(model)
    if not can(matcher, Capability.MATCH):
        raise makes_no_decisions(model)
    pairs = read_pairs(labelled, columns=split_columns(columns))
    if pairs.labels is None:
        raise ArgumentError("LABELLED", got=f"{labelled}, without labels", expected="a third column with 1 or 0")
    matches = sum(pairs.labels)
    if matches in (0, len(pairs)):
        got = f"{labelled}, {matches:,} of whose {len(pairs):,} pairs match"
        raise ArgumentError("LABELLED", got=got, expected="pairs that match, label 1, and pairs that do not, label 0")
    write = None if output is None else _curve_output(output)
    curve = threshold_curve(matcher.probability(pairs), np.array(pairs.labels))
    chosen = {"own": _point_at(curve, matcher.threshold_probability), "best F1": best_f1(curve)}
    if precision is not None:
        chosen[f"precision {precision:g}"] = at = threshold_at_precision(curve, precision)
        if at.precision_interval.low < precision:
            needed = f"the interval of its precision begins at {at.precision_interval.low:.2%}, below {precision:.2%}"
            warn(f"{needed}: more labelled pairs would tell")
    for name, point in chosen.items():
        none = f"no pair reaches {matcher.threshold_probability:.6f}"
        out.print(f"{name}: {none if point is None else point_line(point)}", markup=False)
    if write is not None:
        write(curve)
        err.print(f"{len(curve):,} thresholds in {output}", markup=False)


def _curve_output(path: Path) -> Callable[[list[ThresholdPoint]], None]:
    """What writes a curve, as a table or a picture, by the name's ending, which is checked before any work is done."""
    from nsed.jobs.link_report import PICTURES, check_picture, threshold_plot, write_picture

    if path.suffix.lower() in PICTURES:
        check_picture(path)
        return lambda curve: write_picture(threshold_plot(curve), path)
    if path.suffix.lower() in OTHER_PICTURES:
        expected = f"{', '.join(PICTURES)}, which draw the curve, or .tsv, .csv, .parquet, .arrow, its table"
        raise ArgumentError("--output", got=str(path), expected=expected)
    table = TableOutput.of(path, None, True)
    return lambda curve: table.write(_curve_table(curve))


def _point_at(curve: list[ThresholdPoint], threshold: float) -> ThresholdPoint | None:
    """Point of a threshold, whose decisions are those of the lowest probability from it on; None where no pair is."""
    from nsed.jobs.assignment import ROUNDING

    above = [point for point in curve if point.threshold >= threshold - ROUNDING]
    return above[-1]._replace(threshold=threshold) if above else None


def _curve_table(curve: list[ThresholdPoint]) -> dict[str, list[float]]:
    return {
        "threshold": [point.threshold for point in curve],
        "matches": [point.matches for point in curve],
        "precision": [point.precision for point in curve],
        "precision_low": [point.precision_interval.low for point in curve],
        "precision_high": [point.precision_interval.high for point in curve],
        "recall": [point.recall for point in curve],
        "f1": [point.f1 for point in curve],
    }
