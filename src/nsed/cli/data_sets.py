"""`nsed data list`, `fetch` and `export`: the data sets that have names."""

from collections.abc import Iterator, Sequence
from importlib import util
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from nsed.cli.arguments import open_output, write_tsv
from nsed.cli.console import err, out, progress_bar
from nsed.datasets import Splits, load
from nsed.datasets.catalogue import DATASETS, DataSet
from nsed.datasets.fetching import Place, fetch_file, files_of, find
from nsed.errors import DataError
from nsed.text import Pairs
from nsed.text.pairs import COLUMNS

SetName = Annotated[str, typer.Argument(help="See nsed data list.", show_default=False)]


def list_sets(
    name: Annotated[str | None, typer.Argument(help="Show all that is known of this one.", show_default=False)] = None,
) -> None:
    """List the data sets that have names, and where they are."""
    if name is not None:
        _show_card(name)
        return
    table = Table("name", "what", "size", "licence", "where", box=None, pad_edge=False)
    for each in DATASETS:
        dataset = DATASETS[each]
        table.add_row(each, *(escape(text) for text in (dataset.what, dataset.size, dataset.licence, _where(dataset))))
    out.print(table)


def fetch_sets(
    names: Annotated[list[str], typer.Argument(help="See nsed data list.", show_default=False)],
    folder: Annotated[
        Path | None,
        typer.Option("--from", help="Copy from this folder instead of the public address.", show_default=False),
    ] = None,
) -> None:
    """Fetch data sets into the cache and show the paths of their files.

    The cache is the folder that **NSED_CACHE** names, else nsed in the user's folder for caches. An interrupted
    download goes on where it broke. A file appears under its name only when its SHA-256 is right. What the folder has
    that **NSED_DATA** names is used from there.
    """
    wanted = [(name, file) for name in names for file in files_of(name)]
    for name, file in wanted:
        with progress_bar(file.name, None if file.member else file.size, unit="bytes") as bar:
            path = fetch_file(file, name, folder=folder, on_bytes=bar.reach)
        typer.echo(path)


def export(
    name: SetName,
    folder: Annotated[Path, typer.Argument(help="Where training.tsv, validation.tsv and test.tsv go.")],
) -> None:
    """Write the parts of a data set as TSV, for `nsed train`, `nsed evaluate` and other programs.

    `g2p-cmudict` has no validation words that training has too; word lists are split by concepts (`nsed data cognates`
    knows other ways); `cmudict` is split by words, `rules` by sources, `febrl` by people.
    """
    write_parts(folder, load(name))
    options = [
        f"--{side}-symbols {kind}"
        for side, kind in zip(("source", "target"), DATASETS[name].symbols, strict=True)
        if kind != "graphemes"
    ]
    if options:
        err.print(f"to train on them: {' '.join(options)}")


def write_parts(folder: Path, splits: Splits) -> None:
    """A file with a header for each part."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(folder, f"cannot be made: {error.strerror}") from None
    for name, pairs in splits._asdict().items():
        header = [column for column, cells in zip(COLUMNS, _columns(pairs), strict=True) if cells is not None]
        with open_output(folder / f"{name}.tsv") as stream:
            write_tsv(stream, chain([header], pair_rows(pairs)))
        typer.echo(f"{folder / name}.tsv: {len(pairs):,} pairs", err=True)


def pair_rows(pairs: Pairs) -> Iterator[tuple[object, ...]]:
    """All columns that there are, labels as 1 and 0."""
    return zip(*(column for column in _columns(pairs) if column is not None), strict=True)


def _columns(pairs: Pairs) -> tuple[Sequence[object] | None, ...]:
    """In the order of `COLUMNS`."""
    labels = None if pairs.labels is None else [int(label) for label in pairs.labels]
    return pairs.sources, pairs.targets, labels, pairs.source_languages, pairs.target_languages


def _where(dataset: DataSet) -> str:
    if dataset.package:
        return "embedded" if util.find_spec(dataset.package) else f"pip install {dataset.package}"
    if not dataset.files:
        return "embedded"
    found = [place.place for file in dataset.files if (place := find(file))]
    if len(found) == len(dataset.files):
        return " and ".join(place.value for place in Place if place in found)
    return f"to be fetched ({len(found)} of {len(dataset.files)} files are here)" if found else "to be fetched"


def _show_card(name: str) -> None:
    dataset = DATASETS[name]
    facts = {
        "what": dataset.what,
        "size": dataset.size,
        "columns": dataset.columns,
        "licence": dataset.licence,
        "cite": dataset.citation,
        "where": _where(dataset),
    }
    for file in dataset.files:
        found = find(file)
        facts[file.name] = f"{found.path if found else file.url} (SHA-256 {file.sha256})"
    for fact, text in facts.items():
        out.print(f"{fact}: {text}", markup=False)
