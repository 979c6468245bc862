"""`nsed lookup`: an index on disk, built once, changed at any time, and asked for the nearest strings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from nsed.cli.arguments import load_model, split_columns
from nsed.cli.candidates import By, ModelOption
from nsed.cli.console import out
from nsed.cli.tables import Header, RowFormatOption, TableOutput
from nsed.errors import ArgumentError

if TYPE_CHECKING:
    from nsed.jobs.lookup import LookupIndex

Action = Annotated[Literal["build", "add", "remove", "query"], typer.Argument(help="What to do with the index.")]
IndexPath = Annotated[Path, typer.Argument(help="Folder of the index.", show_default=False)]
RowsPath = Annotated[
    Path | None,
    typer.Argument(help="Table of strings, or for remove a file of ids, a line each.", show_default=False),
]
On = Annotated[str | None, typer.Option("--on", help="Column of the strings; by default source or the first.")]
IdColumn = Annotated[str | None, typer.Option("--id", help="Column of ids; by default the strings themselves.")]
Text = Annotated[list[str] | None, typer.Option("--text", help="A query; repeatable.", show_default=False)]
Nearest = Annotated[int, typer.Option("--k", "-k", min=1, help="Strings that a query is answered with.")]
OutputPath = Annotated[Path | None, typer.Option("--output", "-o", help="Write here instead of to standard output.")]


def lookup(
    action: Action,
    index: IndexPath,
    rows: RowsPath = None,
    on: On = None,
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
    takes ids away. What is near is what `--by` and `--model` said when the index was built, see `nsed candidates`.
    """
    from nsed.jobs.lookup import LookupIndex

    if action == "query":
        _query(LookupIndex(index), rows, on, text, k, TableOutput.of(output, format_, header))
        return
    if rows is None:
        raise ArgumentError("ROWS", got="none", expected=f"a file, to {action} what is in it")
    if action == "remove":
        opened = LookupIndex(index)
        opened.remove(line for line in rows.read_text(encoding="utf-8").splitlines() if line)
    else:
        ids, texts = _read(rows, on, id_)
        loaded = None if model is None else load_model(model)
        made: dict[str, Any] = {"by": split_columns(by), "model": loaded}  # names are checked there
        opened = LookupIndex(index) if action == "add" else LookupIndex.build(index, [], [], **made)
        opened.add(ids, texts)
    out.print(f"{index}: {len(opened):,} strings", markup=False)


def _read(path: Path, on: str | None, id_: str | None) -> tuple[list[str], list[str]]:
    from nsed.errors import DataError
    from nsed.text.readers import read_sources

    texts, others = read_sources(path, column=on)
    if id_ is None:
        different = list(dict.fromkeys(texts))
        return different, different
    if others is None or id_ not in others.column_names:
        raise DataError(path, f"no column {id_!r} beside that of the strings")
    return [str(one) for one in others.column(id_).to_pylist()], list(texts)


def _query(
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
