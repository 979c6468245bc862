"""`nsed link`, `dedupe` and `cluster links`: records that are the same, and clusters of links that are there."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nsed.cli.arguments import load_model, since_before, split_columns
from nsed.cli.candidates import Block, By, K, RankerOption, Rule
from nsed.cli.console import out
from nsed.cli.tables import (
    EngineOption,
    Master,
    Overwrite,
    Resume,
    cluster_of,
    job_progress,
    telling_interruption,
)
from nsed.errors import ArgumentError
from nsed.progress import reuse_freed_memory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsed.evaluate.matching import ThresholdPoint
    from nsed.jobs.link_report import LinkSummary
    from nsed.jobs.records import NumericColumn, TextColumn

FirstTable = Annotated[Path, typer.Argument(help="Table of records: TSV or CSV with a header, Parquet or Arrow.")]
SecondTable = Annotated[Path, typer.Argument(help="The other table, whose columns have the same names.")]
On = Annotated[
    list[str],
    typer.Option(
        "--on",
        help="Text column to compare, or COLUMN=MODEL with its own model; repeatable, log-odds add up, the prior once.",
        show_default=False,
    ),
]
ModelOption = Annotated[
    Path | None,
    typer.Option("--model", help="Folder or name of the model for columns without one.", show_default=False),
]
Weights = Annotated[
    list[str] | None,
    typer.Option("--weight", help="COLUMN=NUMBER: factor on the log-odds of a column; repeatable.", show_default=False),
]
Learn = Annotated[
    bool, typer.Option("--learn", help="Learn the weights of all columns and of the search from --labels.")
]
Exact = Annotated[
    str | None,
    typer.Option("--exact", help="Columns, separated by commas, whose agreement is evidence too.", show_default=False),
]
Numeric = Annotated[
    list[str] | None,
    typer.Option(
        "--numeric",
        help="COLUMN=SCALE: numbers whose difference is evidence; SCALE is the usual one within a match; repeatable.",
        show_default=False,
    ),
]
Review = Annotated[
    float | None,
    typer.Option(
        "--review",
        help="Where the review band begins, which ends at the threshold and has its own file: a probability, with "
        "--precision a precision.",
        show_default=False,
    ),
]
Why = Annotated[
    list[str] | None,
    typer.Option("--why", help="Id of a record whose pairs the report gives reasons for; repeatable."),
]
Redact = Annotated[
    bool, typer.Option("--redact", help="Leave all strings out of links, report and messages: ids and numbers only.")
]
IdColumn = Annotated[
    str | None, typer.Option("--id", help="Column that names a record; by default the row, from 1.", show_default=False)
]
Threshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        help="Probability from which on a pair is a link; by default the model's own, of several columns 0.5.",
        show_default=False,
    ),
]
Precision = Annotated[
    float | None,
    typer.Option(
        "--precision",
        help="Lowest threshold with this precision on --labels, say 0.99; its figures are those of held-out labels.",
        show_default=False,
    ),
]
Labels = Annotated[
    Path | None,
    typer.Option(
        "--labels",
        help="Pairs of ids that are known links: all of the records in it. A third column, label, is 0 for pairs that "
        "are none, so that records without a link count too.",
        show_default=False,
    ),
]
LabelsComplete = Annotated[
    bool,
    typer.Option(
        "--labels-complete", help="--labels have every link there is: records that they do not name have none."
    ),
]
AssignOption = Annotated[
    Literal["one-to-one", "best", "all"],
    typer.Option("--assign", help="Links of a record: one on either side, the best of each record of A, or all."),
]
ClustersPath = Annotated[
    Path | None,
    typer.Option("--clusters", help="Write all records with their clusters here: .tsv, .csv, .parquet, .arrow."),
]
MethodOption = Annotated[
    Literal["components", "average", "infomap"],
    typer.Option(
        "--method",
        help="How links become clusters: all that chains of them connect; or average linkage or Infomap (extra "
        "cognates) within these, so that one wrong link joins no two large groups.",
    ),
]
PreviousPath = Annotated[
    Path | None,
    typer.Option(
        "--previous",
        help="What --clusters wrote in an earlier run: clusters keep their numbers, new ones follow. The links of "
        "--output do too, but do not name records without a duplicate, whose numbers change.",
        show_default=False,
    ),
]
LinksPath = Annotated[Path, typer.Option("--output", "-o", help="File of the links: .parquet, .arrow, .tsv, .csv.")]
ShardRows = Annotated[
    int, typer.Option("--shard-rows", min=1, help="Records after which what is done is safe from a kill.")
]


def link(
    first: FirstTable,
    second: SecondTable,
    on: On,
    output: LinksPath,
    model: ModelOption = None,
    weight: Weights = None,
    learn: Learn = False,
    exact: Exact = None,
    numeric: Numeric = None,
    id_: IdColumn = None,
    by: By = None,
    block: Block = None,
    rule: Rule = None,
    k: K = 20,
    ranker: RankerOption = None,
    threshold: Threshold = None,
    precision: Precision = None,
    labels: Labels = None,
    labels_complete: LabelsComplete = False,
    review: Review = None,
    why: Why = None,
    redact: Redact = False,
    assign: AssignOption = "one-to-one",
    resume: Resume = False,
    overwrite: Overwrite = False,
    shard_rows: ShardRows = 4096,
    engine: EngineOption = "local",
    master: Master = "local[*]",
) -> None:
    """Link the records of two tables that are the same: ids, strings, probability.

    For each record of the first table the `--k` likeliest of the second one are found, see `nsed candidates`, and
    scored by the models: `nsed link a.tsv b.tsv --on name --model MODEL --id id -o links.parquet`. Beside the links,
    `OUTPUT.manifest.json` says what they were made of, and `OUTPUT.html` shows figures and examples. A job that was
    killed goes on with `--resume`. With `--engine spark` executors of a cluster compare the pairs, to the same links.
    """
    settings = _settings(locals())
    _run(first, second, output, settings)


def dedupe(
    table: FirstTable,
    on: On,
    output: LinksPath,
    model: ModelOption = None,
    weight: Weights = None,
    learn: Learn = False,
    exact: Exact = None,
    numeric: Numeric = None,
    id_: IdColumn = None,
    by: By = None,
    block: Block = None,
    rule: Rule = None,
    k: K = 20,
    ranker: RankerOption = None,
    threshold: Threshold = None,
    precision: Precision = None,
    labels: Labels = None,
    labels_complete: LabelsComplete = False,
    review: Review = None,
    why: Why = None,
    redact: Redact = False,
    assign: AssignOption = "all",
    clusters: ClustersPath = None,
    method: MethodOption = "components",
    previous: PreviousPath = None,
    resume: Resume = False,
    overwrite: Overwrite = False,
    shard_rows: ShardRows = 4096,
    engine: EngineOption = "local",
    master: Master = "local[*]",
) -> None:
    """Find the records of one table that are the same: pairs, and the cluster that each pair belongs to.

    As `nsed link` of a table with itself: `nsed dedupe people.tsv --on name --model MODEL --id id -o pairs.parquet`.
    Clusters are all records that links connect, numbered from 1; `--clusters` writes that of every record. When records
    have come since, `--previous` is that file, and clusters keep their numbers.
    """
    settings = _settings(locals()) | {"clusters": clusters, "method": method, "previous": previous}
    _run(table, None, output, settings)


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Settings of a `LinkJob`, of a command's options."""
    from nsed.jobs.blocking import equal_keys

    cluster = cluster_of(given["engine"], given["master"])
    same = ("learn", "k", "threshold", "precision", "labels", "labels_complete", "review", "redact", "assign")
    exact, numeric = split_columns(given["exact"]) or [], numeric_columns(given["numeric"] or [])
    named = [one.partition("=")[0] for one in given["on"]]
    factors = _factors(given["weight"] or [], [*named, *exact, *(one.name for one in numeric)])
    return {
        "on": text_columns(given["on"], given["model"], factors),
        "id": given["id_"],
        "exact": exact,
        "numeric": numeric,
        "weights": {name: factor for name, factor in factors.items() if name not in named},
        "by": split_columns(given["by"]),
        "rules": [*map(equal_keys, given["block"] or []), *(given["rule"] or [])],
        "why": given["why"] or [],
        "ranker": None if given["ranker"] is None else load_model(given["ranker"]),
        "engine": cluster,
        **{name: given[name] for name in (*same, "resume", "overwrite", "shard_rows")},
    }


def numeric_columns(given: list[str]) -> list[NumericColumn]:
    """Numeric columns with their scales. Raises `ArgumentError` for what is no positive number."""
    from nsed.jobs.records import NumericColumn

    columns = []
    for one in given:
        name, _, number = one.partition("=")
        try:
            scale = float(number)
        except ValueError:
            scale = 0.0
        if not 0 < scale < math.inf:
            raise ArgumentError("--numeric", got=one, expected="COLUMN=SCALE, a number above 0, say born=1")
        columns.append(NumericColumn(name, scale))
    return columns


def text_columns(on: list[str], model: Path | None, factors: dict[str, float]) -> list[TextColumn]:
    """Text columns with their models, each loaded once, and weights."""
    from nsed.jobs.records import TextColumn

    named = [one.partition("=") for one in on]
    loaded: dict[Path, Any] = {}
    columns = []
    for column, _, own in named:
        path = Path(own) if own else model
        if path is None:
            expected = f"--model MODEL, or --on {column}=MODEL"
            raise ArgumentError("--on", got=f"{column} without a model", expected=expected)
        if path not in loaded:
            loaded[path] = load_model(path)
        columns.append(TextColumn(column, loaded[path], factors.get(column, 1.0)))
    return columns


def _factors(weights: list[str], columns: list[str]) -> dict[str, float]:
    factors = {}
    for one in weights:
        column, _, number = one.partition("=")
        try:
            factors[column] = float(number)
        except ValueError:
            factors[column] = math.nan
        if not math.isfinite(factors[column]):
            raise ArgumentError("--weight", got=one, expected="COLUMN=NUMBER, say name=0.5")
        if column not in columns:
            raise ArgumentError("--weight", got=column, expected=f"a column that is compared: {', '.join(columns)}")
    return factors


def _run(first: Path, second: Path | None, output: Path, settings: dict[str, Any]) -> None:
    from nsed.jobs.linking import LinkJob

    reuse_freed_memory()
    job = LinkJob(first, second, output, progress=job_progress("records"), **settings)
    with telling_interruption():
        summary = job.run()
    _show(summary, output, chosen=job.learn or job.precision is not None)
    if job.review is not None:
        out.print(f"pairs to review: {job.review_path}", markup=False)


def _show(summary: LinkSummary, output: Path, *, chosen: bool) -> None:
    """Show what a linkage has done; `chosen`: weights or threshold were chosen on labels."""
    from nsed.jobs.link_report import held_out

    a, b = summary.records
    records = f"of {a:,} and {b:,} records" if summary.clusters is None else f"among {a:,} records"
    out.print(
        f"{summary.links:,} links {records}, {summary.candidates:,} candidate pairs; "
        f"probability of at least {summary.threshold:.6f}; report: {output}.html",
        markup=False,
    )
    if summary.clusters is not None:
        out.print(_clusters(summary.clusters), markup=False)
    if summary.candidate_recall is not None:
        out.print(f"known links among the candidates: {summary.candidate_recall:.2%}", markup=False)
    if summary.review:
        out.print(f"{summary.review:,} pairs in the review band", markup=False)
    if summary.at_threshold is not None:
        point = summary.at_threshold._replace(threshold=summary.threshold)  # its own is that of the pair just above
        out.print(f"{point_line(point)}; on labelled links{held_out(summary.folds)}", markup=False)
    elif summary.candidate_recall is not None:
        none = "no pair of labels that were held out is a link" if summary.folds else "no labelled pair is a link"
        reason = "labels are too few to hold some out" if chosen and not summary.folds else none
        out.print(f"precision is not known: {reason}", markup=False)


def _clusters(counts: Mapping[str, int]) -> str:
    """Counts of clusters, and what has become of those of an earlier run."""
    apart = f"; {counts['apart']:,} links are between two of them" if counts["apart"] else ""
    since = f"; {since_before(counts)}" if "kept" in counts else ""
    return f"{counts['found']:,} clusters{apart}{since}"


def point_line(point: ThresholdPoint) -> str:
    """Figures of a threshold, as a line."""
    low, high = point.precision_interval
    return (
        f"threshold {point.threshold:.6f}: precision {point.precision:.2%} ({low:.2%} to {high:.2%}), "
        f"recall {point.recall:.2%}, F1 {point.f1:.2%}"
    )


LinksTable = Annotated[
    Path,
    typer.Argument(
        help="Links, what nsed dedupe or nsed match --id wrote, say, or another program: Parquet, Arrow, CSV, TSV, "
        "JSON lines; a glob in quotes.",
        show_default=False,
    ),
]
ClusterOutput = Annotated[
    Path,
    typer.Option(
        "--output", "-o", help="File of the clusters, id and cluster: .parquet, .arrow, .tsv, .csv.", show_default=False
    ),
]
LinkColumns = Annotated[str, typer.Option("--columns", help="Columns of the two ids.")]
ProbabilityColumn = Annotated[
    str, typer.Option("--probability", help="Column that --threshold looks at, a probability or another score.")
]
LinkThreshold = Annotated[
    float | None,
    typer.Option(
        "--threshold",
        help="Probability from which on a pair is a link.",
        show_default="pairs whose column match says so, as nsed match writes it; without one, all",
    ),
]
LinkMethodOption = Annotated[
    Literal["components", "average", "infomap"],
    typer.Option(
        "--method",
        help="How links become clusters: all that chains of them connect; or, with --threshold, average linkage or "
        "Infomap (extra cognates) within these, by the probabilities of all pairs in the table.",
    ),
]
RecordsPath = Annotated[
    Path | None,
    typer.Option(
        "--records",
        help="Table of all records: those without a link have clusters of their own.",
        show_default=False,
    ),
]
RecordsId = Annotated[str, typer.Option("--id", help="Column of --records that names a record.")]
EarlierPath = Annotated[
    Path | None,
    typer.Option(
        "--previous",
        help="What an earlier run wrote, here or by nsed dedupe --clusters: clusters keep their numbers, new ones "
        "follow.",
        show_default=False,
    ),
]
Memory = Annotated[
    str,
    typer.Option("--memory", help="Memory that DuckDB may use before it goes to disk; 4 bytes per record come on top."),
]


def links_to_clusters(
    table: LinksTable,
    output: ClusterOutput,
    columns: LinkColumns = "id_a,id_b",
    probability: ProbabilityColumn = "probability",
    threshold: LinkThreshold = None,
    method: LinkMethodOption = "components",
    records: RecordsPath = None,
    id_: RecordsId = "id",
    previous: EarlierPath = None,
    memory: Memory = "1GB",
) -> None:
    """Put records that links connect into clusters, of a table of links of any size, and write `id` and `cluster`.

    `nsed cluster links pairs.parquet -o clusters.parquet`: links may be more than memory holds (DuckDB, extra `link`).
    Clusters are numbered from 1 in the order of their first ids, ids sorted, whatever the order of the links. Every id
    in the table has a cluster, also one whose links are all below the threshold.

    **Links of Splink**: `--columns unique_id_l,unique_id_r --probability match_probability --threshold 0.9`.
    """
    from nsed.duckdb import cluster_files

    both = split_columns(columns) or []
    if len(both) != 2:
        raise ArgumentError("--columns", got=columns, expected="two names of columns: id_a,id_b")
    found = cluster_files(
        table,
        output,
        columns=(both[0], both[1]),
        probability=probability,
        threshold=threshold,
        method=method,
        records=records,
        id_column=id_,
        previous=previous,
        memory=memory,
        progress=job_progress("links"),
    )
    since = f"; {since_before(found.since)}" if found.since else ""
    told = f"{found.clusters:,} clusters of {found.records:,} records by {found.links:,} links"
    out.print(f"{told}, at most {found.largest:,} records in one{since}", markup=False)
