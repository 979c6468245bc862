"""`nsed candidates`: the references that are worth a comparison with each query, and the recall of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nsed.cli.arguments import Columns, load_model, split_columns
from nsed.cli.console import err, out, progress_bar
from nsed.cli.tables import Header, RowFormatOption, TableOutput
from nsed.errors import ArgumentError

if TYPE_CHECKING:
    from nsed.jobs.candidates import Candidates, Recall

Reference = Annotated[
    Path,
    typer.Argument(help="File of references: a string per line, or a table, see --on; or a folder of --save."),
]
Queries = Annotated[
    Path | None,
    typer.Argument(help="File of queries, as that of the references; - is standard input.", show_default=False),
]
On = Annotated[
    str | None, typer.Option("--on", help="Column of the strings, of both tables; by default source or the first.")
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="Generators, separated by commas: ngrams (one script), operations (a model's table, across scripts), "
        "nbest (a transducer's targets), exact. By default operations or nbest where the model suits, else ngrams.",
        show_default=False,
    ),
]
ModelOption = Annotated[
    Path | None,
    typer.Option("--model", help="Folder or name of a model, for operations and nbest.", show_default=False),
]
K = Annotated[int, typer.Option("--k", "-k", min=1, help="Candidates of a query, of each generator.")]
RecallPath = Annotated[
    Path | None,
    typer.Option("--recall", help="Labelled pairs of a query and a reference: say how many matches are found."),
]
Mine = Annotated[
    Path | None,
    typer.Option(
        "--mine",
        help="With --recall: write its matches, and the best wrong candidates of their queries, as labelled pairs.",
        show_default=False,
    ),
]
Save = Annotated[Path | None, typer.Option("--save", help="Write the index to this folder, to be used again.")]
OutputPath = Annotated[Path | None, typer.Option("--output", "-o", help="Write here instead of to standard output.")]


def candidates(
    reference: Reference,
    queries: Queries = None,
    on: On = None,
    by: By = None,
    model: ModelOption = None,
    k: K = 20,
    recall: RecallPath = None,
    columns: Columns = None,
    mine: Mine = None,
    save: Save = None,
    format_: RowFormatOption = None,
    header: Header = True,
    output: OutputPath = None,
) -> None:
    """Find the references that each query most likely belongs to, and measure what that loses.

    Writes `query`, `reference`, `rank` and `score`: `nsed candidates cities.tsv names.tsv --on name -o pairs.parquet`.
    Across two scripts, by the operations that a model has learned: `--model MODEL`. With `--recall labelled.tsv` it
    says which share of the matches is among the candidates, at several k: what is lost here, no model finds later.
    `--mine pairs.tsv` writes these matches and wrong candidates, to train a model that tells candidates apart.
    """
    if queries is None and recall is None and save is None:
        raise ArgumentError("QUERIES", got="none", expected="queries, --recall LABELLED or --save FOLDER")
    target = TableOutput.of(output, format_, header)
    index = fitted(reference, on=on, by=split_columns(by), model=model, k=k)
    if save is not None:
        index.save(save)
    if recall is not None:
        show_recall(measured(index, recall, columns), index)
    if mine is not None:
        _write_mined(index, recall, columns, TableOutput.of(mine, None, True))
    if queries is not None:
        _write(index, queries, on, target)


def fitted(path: Path, *, on: str | None, by: list[str] | None, model: Path | None, k: int) -> Candidates:
    """Index of a file of references, or one that was saved."""
    from nsed.jobs.candidates import SETTINGS, Candidates
    from nsed.text.readers import read_sources

    if (path / SETTINGS).is_file():
        if by or model:
            raise ArgumentError("--by, --model", got=f"{path}, an index that has its own", expected="nothing")
        index = Candidates.load(path)
        index.k = k
        return index
    texts = read_sources(path, column=on).texts
    loaded = None if model is None else load_model(model)
    return Candidates(by, k=k, model=loaded).fit(texts)  # type: ignore[arg-type]  # names are checked there


def measured(index: Candidates, path: Path, columns: str | None) -> Recall:
    """Recall on a file of labelled pairs."""
    from nsed.text import read_pairs

    pairs = read_pairs(path, columns=split_columns(columns))
    with progress_bar("measuring recall", None, unit="queries") as bar:
        return index.recall(pairs, on_batch=bar.advance)


def _write_mined(index: Candidates, labelled: Path | None, columns: str | None, target: TableOutput) -> None:
    from nsed.text import read_pairs

    if labelled is None:
        raise ArgumentError("--mine", got="no --recall", expected="--recall LABELLED, whose matches are mined")
    mined = index.mine(read_pairs(labelled, columns=split_columns(columns)))
    labels = [int(label) for label in mined.labels or ()]
    target.write({"source": list(mined.sources), "target": list(mined.targets), "label": labels})


def show_recall(recall: Recall, index: Candidates) -> None:
    """Print recall, on standard error: standard output is for candidates."""
    shown = ", ".join(f"recall@{k} {share:.2%}" for k, share in recall.at.items())
    low, high = recall.interval
    err.print(
        f"{' + '.join(index.generators_)}, {len(index.references):,} references, {recall.matches:,} matches: {shown} "
        f"(the last: {low:.2%} to {high:.2%})",
        markup=False,
    )
    if recall.missing:
        err.print(f"{recall.missing:,} more matches have no string among the references", markup=False)
    for query, reference in recall.lost[:5]:
        err.print(f"  not found: {query} - {reference}", markup=False)


def _write(index: Candidates, queries: Path, on: str | None, target: TableOutput) -> None:
    from nsed.jobs.candidates import rank_of
    from nsed.text.readers import read_sources

    texts = read_sources(queries, column=on).texts
    with progress_bar("looking for candidates", len(texts), unit="queries") as bar:
        found = index.query(texts, on_batch=bar.advance)
    target.write(
        {
            "query": [texts[row] for row in found.queries.tolist()],
            "reference": [index.references[row] for row in found.references.tolist()],
            "rank": rank_of(found.queries) + 1,
            "score": found.scores,
        }
    )
    if target.path is not None:
        out.print(f"{len(found.queries):,} candidates of {len(texts):,} queries", markup=False)
