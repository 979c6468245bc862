"""`nsed candidates` and `nsed lookup`: the references nearest to each query, and their recall; an index on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nsed.cli.arguments import Columns, load_model, split_columns
from nsed.cli.console import err, out, progress_bar
from nsed.cli.tables import Header, RowFormatOption, TableOutput
from nsed.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsed.jobs.candidates import Candidates, Recall
    from nsed.jobs.lookup import LookupIndex
    from nsed.jobs.vector_index import Ranked

Reference = Annotated[
    Path,
    typer.Argument(help="File of references: a string per line, or a table, see --on; or a folder of --save."),
]
Queries = Annotated[
    Path | None,
    typer.Argument(help="File of queries, as that of the references; - is standard input.", show_default=False),
]
On = Annotated[
    str | None,
    typer.Option("--on", "--column", help="Column of the strings, of both tables; by default source or the first."),
]
By = Annotated[
    str | None,
    typer.Option(
        "--by",
        help="Generators, separated by commas: ngrams (one script), operations (a model's table, across scripts), "
        "nbest (a transducer's targets), vectors (of a Matcher's or Transducer's encoder), exact. By default "
        "operations or nbest where the model suits, else ngrams.",
        show_default=False,
    ),
]
ModelOption = Annotated[
    Path | None,
    typer.Option("--model", help="Folder or name of a model, for operations, nbest and vectors.", show_default=False),
]
K = Annotated[int, typer.Option("--k", "-k", min=1, help="Candidates of a query, of each generator.")]
RankerOption = Annotated[
    Path | None,
    typer.Option(
        "--ranker",
        help="Folder or name of a second model, which chooses the k among five times as many candidates; best is "
        "a transducer that turns references into queries.",
        show_default=False,
    ),
]
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
Block = Annotated[
    list[str] | None,
    typer.Option(
        "--block",
        help="Columns, separated by commas: records that agree in all of them are compared, by DuckDB; repeatable.",
        show_default=False,
    ),
]
Rule = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        help="SQL condition on columns of two records, a and b: such pairs are compared, by DuckDB; repeatable.",
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
    ranker: RankerOption = None,
    block: Block = None,
    rule: Rule = None,
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
    `--mine pairs.tsv` writes these matches and wrong candidates, to train a model that tells candidates apart. With
    `--block` or `--rule`, all pairs of a query, `a`, and a reference, `b`, that fulfil one are candidates; those of
    generators too, where `--by` names some. A `--ranker`, slower than the search, finds more.
    """
    from nsed.jobs.blocking import equal_keys
    from nsed.jobs.candidates import recall_of
    from nsed.text import read_pairs
    from nsed.text.readers import read_sources

    if queries is None and recall is None and save is None:
        raise ArgumentError("QUERIES", got="none", expected="queries, --recall LABELLED or --save FOLDER")
    target = TableOutput.of(output, format_, header)
    rules, named = [*map(equal_keys, block or []), *(rule or [])], split_columns(by)
    if rules:
        index = None if named is None else fitted(reference, on=on, by=named, model=model, k=k, ranker=ranker)
        listed = _by_rules(reference, queries, on, rules, index, others={"--save": save, "--mine": mine})
        if recall is not None:
            names = [f"{len(rules)} rules", *(named or [])]
            show_recall(recall_of(*listed, read_pairs(recall, columns=split_columns(columns))), names, len(listed[2]))
        _write(*listed, target)
        return
    index = fitted(reference, on=on, by=named, model=model, k=k, ranker=ranker)
    if save is not None:
        index.save(save)
    if recall is not None:
        show_recall(measured(index, recall, columns), index.generators_, len(index.references))
    if mine is not None:
        _write_mined(index, recall, columns, TableOutput.of(mine, None, True))
    if queries is not None:
        texts = read_sources(queries, column=on).texts
        with progress_bar("looking for candidates", len(texts), unit="queries") as bar:
            found = index.query(texts, on_batch=bar.advance)
        _write(found, texts, index.references, target)


def _by_rules(
    reference: Path,
    queries: Path | None,
    on: str | None,
    rules: list[str],
    index: Candidates | None,
    others: dict[str, Path | None],
) -> tuple[Ranked, list[str], list[str]]:
    """Candidates of two tables by rules, and the strings of both."""
    from nsed.jobs.blocking import table_candidates
    from nsed.jobs.records import read_table

    if queries is None or on is None or reference.is_dir():
        got = f"{reference}, {queries or 'no QUERIES'}, {f'--on {on}' if on else 'no --on'}"
        raise ArgumentError("--rule, --block", got=got, expected="two tables, and --on COLUMN of the strings of both")
    for name, path in others.items():
        if path is not None:
            raise ArgumentError(name, got="--rule or --block too", expected="generators alone: they make an index")
    tables = read_table(queries, on), read_table(reference, on)
    found = table_candidates(*tables, on, rules, index)
    one, other = (table.column(on).to_pylist() for table in tables)
    return found, one, other


def fitted(
    path: Path, *, on: str | None, by: list[str] | None, model: Path | None, k: int, ranker: Path | None = None
) -> Candidates:
    """Index of a file of references, or one that was saved."""
    from nsed.jobs.candidates import SETTINGS, Candidates
    from nsed.text.readers import read_sources

    if (path / SETTINGS).is_file():
        if by or model or ranker:
            raise ArgumentError("--by, --model, --ranker", got=f"{path}, an index that has its own", expected="nothing")
        index = Candidates.load(path)
        index.k = k
        return index
    texts = read_sources(path, column=on).texts
    loaded = {name: load_model(one) for name, one in (("model", model), ("ranker", ranker)) if one is not None}
    return Candidates(by, k=k, **loaded).fit(texts)  # type: ignore[arg-type]  # names are checked there


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


def show_recall(recall: Recall, names: Sequence[str], references: int) -> None:
    """Print recall, on standard error: standard output is for candidates."""
    shown = ", ".join(f"recall@{k} {share:.2%}" for k, share in recall.at.items())
    low, high = recall.interval
    err.print(
        f"{' + '.join(names)}, {references:,} references, {recall.matches:,} matches: {shown} "
        f"(the last: {low:.2%} to {high:.2%})",
        markup=False,
    )
    if recall.missing:
        err.print(f"{recall.missing:,} more matches have no string among the references", markup=False)
    for query, reference in recall.lost[:5]:
        err.print(f"  not found: {query} - {reference}", markup=False)


def _write(found: Ranked, texts: Sequence[str], references: Sequence[str], target: TableOutput) -> None:
    from nsed.jobs.candidates import rank_of

    target.write(
        {
            "query": [texts[row] for row in found.queries.tolist()],
            "reference": [references[row] for row in found.references.tolist()],
            "rank": rank_of(found.queries) + 1,
            "score": found.scores,
        }
    )
    if target.path is not None:
        out.print(f"{len(found.queries):,} candidates of {len(texts):,} queries", markup=False)


ACTIONS = ("build", "add", "remove", "query")


def _action(given: str) -> str:
    """Action that is known. Raises `ArgumentError`, with the command that was probably meant, for a file of strings."""
    from nsed.registry import did_you_mean

    if given not in ACTIONS:
        meant = f"build INDEX {given} --on COLUMN" if Path(given).is_file() else f"query {given} --text TEXT"
        expected, known = (
            f"one of {', '.join(ACTIONS)}",
            did_you_mean(given, ACTIONS) or f"Perhaps: nsed lookup {meant}",
        )
        raise ArgumentError("ACTION", got=given, expected=expected, advice=known)
    return given


Action = Annotated[
    str,
    typer.Argument(
        help="What to do with the index: build, add, remove or query.",
        metavar="|".join(ACTIONS),
        callback=_action,
        autocompletion=lambda: list(ACTIONS),
        show_default=False,
    ),
]
IndexPath = Annotated[Path, typer.Argument(help="Folder of the index.", show_default=False)]
RowsPath = Annotated[
    Path | None,
    typer.Argument(
        help="Table of strings; for remove of ids, see --id, or a file with one per line.", show_default=False
    ),
]
LookupOn = Annotated[
    str | None, typer.Option("--on", "--column", help="Column of the strings; by default source or the first.")
]
IdColumn = Annotated[
    str | None,
    typer.Option("--id", help="Column of ids, for build, add and remove; by default the strings themselves."),
]
Text = Annotated[list[str] | None, typer.Option("--text", help="A query; repeatable.", show_default=False)]
Nearest = Annotated[int, typer.Option("--k", "-k", min=1, help="Strings that a query is answered with.")]


def lookup(
    action: Action,
    index: IndexPath,
    rows: RowsPath = None,
    on: LookupOn = None,
    id_: IdColumn = None,
    text: Text = None,
    k: Nearest = 10,
    by: By = None,
    model: ModelOption = None,
    format_: RowFormatOption = None,
    header: Header = True,
    output: OutputPath = None,
) -> None:
    """Keep an index of strings on disk, and look up the nearest ones.

    `nsed lookup build cities.index cities.tsv --on name --id id`, then `nsed lookup query cities.index --text Wien`:
    `query`, `id`, `text`, `score`. `add` puts more rows in, or others in the place of those with the same ids; `remove`
    takes ids away: those of a table's column `--id`, or lines of a file. What is near is what `--by` and `--model` said
    when the index was built, see `nsed candidates`.
    """
    from nsed.jobs.lookup import LookupIndex

    if action == "query":
        _query_index(LookupIndex(index), rows, on, text, k, TableOutput.of(output, format_, header))
        return
    if rows is None:
        raise ArgumentError("ROWS", got="none", expected=f"a file, to {action} what is in it")
    if action == "remove":
        opened = LookupIndex(index)
        opened.remove(_ids_of(rows, id_ or on))
    else:
        ids, texts = _read_rows(rows, on, id_)
        loaded = None if model is None else load_model(model)
        made: dict[str, Any] = {"by": split_columns(by), "model": loaded}  # names are checked there
        if action == "add":
            opened = LookupIndex(index)
            opened.add(ids, texts)
        else:
            opened = LookupIndex.build(index, ids, texts, **made)
    out.print(f"{index}: {len(opened):,} strings", markup=False)


def _ids_of(path: Path, column: str | None) -> list[str]:
    """Ids to be removed: lines of a file, or a column of a table, the one that `add` took them from."""
    from nsed.jobs.records import read_ids
    from nsed.text.readers.batches import TABLES
    from nsed.text.readers.lines import STDIN, open_text

    if column is None and path.suffix.lower() not in (".csv", ".dict", *TABLES):
        with open_text(path) as stream:
            lines = [line for line in (line.rstrip("\r\n") for line in stream) if line]
        if path == STDIN or not any("\t" in line for line in lines[:1]):
            return lines
    return [one for one in read_ids(path, column) if one]


def _read_rows(path: Path, on: str | None, id_: str | None) -> tuple[list[str], list[str]]:
    from nsed.errors import DataError
    from nsed.jobs.records import whole_numbers
    from nsed.text.readers import read_sources

    texts, others = read_sources(path, column=on)
    if id_ is None:
        different = list(dict.fromkeys(texts))
        return different, different
    if others is None or id_ not in others.column_names:
        raise DataError(path, f"no column {id_!r} beside that of the strings")
    ids = whole_numbers(others.column(id_)).to_pylist()
    missing = [row for row, one in enumerate(ids, start=1) if one in (None, "")]
    if missing:
        raise DataError(path, f"{id_} of row {missing[0]:,} is missing; expected one for each string")
    return [str(one) for one in ids], list(texts)


def _query_index(
    index: LookupIndex, path: Path | None, on: str | None, text: list[str] | None, k: int, to: TableOutput
) -> None:
    if (path is None) == (text is None):
        raise ArgumentError("ROWS or --text", got="both" if text else "neither", expected="one of them")
    queries = list(text) if text is not None else []
    if path is not None:
        from nsed.text.readers import read_sources

        queries = list(read_sources(path, column=on).texts)
    found = [(query, *hit) for query, hits in zip(queries, index.query(queries, k), strict=True) for hit in hits]
    names = ("query", "id", "text", "score")
    to.write({name: [row[place] for row in found] for place, name in enumerate(names)})
