"""`nsed data list`, `fetch`, `export` and `align`: the data sets that have names, and reference alignments of any."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import util
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import table as console
from rich.markup import escape

from nsed.cli.arguments import Columns, SymbolKind, open_output, split_columns
from nsed.cli.console import err, out, progress_bar
from nsed.cli.tables import TableOutput
from nsed.errors import DataError
from nsed.jobs.table_files import RowFormat, Table, answered, other_columns

if TYPE_CHECKING:
    from nsed.datasets import Splits
    from nsed.datasets.catalogue import DataSet
    from nsed.text import Pairs

HEURISTICS = ("grow-diag", "grow-diag-final-and", "intersection", "union")
"""Symmetrisation heuristics: names of `nsed.evaluate.alignment.HEURISTICS`."""
SetName = Annotated[str, typer.Argument(help="See nsed data list.", show_default=False)]


def list_sets(
    name: Annotated[str | None, typer.Argument(help="Show all that is known of this one.", show_default=False)] = None,
) -> None:
    """List the data sets that have names, and where they are."""
    from nsed.datasets.catalogue import DATASETS

    if name is not None:
        _show_card(name)
        return
    table = console.Table("name", "what", "size", "licence", "where", box=None, pad_edge=False)
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
    from nsed.datasets.fetching import fetch_file, files_of

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
    from nsed.datasets import load
    from nsed.datasets.catalogue import DATASETS

    write_parts(folder, load(name), DATASETS[name].symbols)


def write_parts(folder: Path, splits: Splits, symbols: tuple[SymbolKind, SymbolKind]) -> None:
    """Write the split as TSV, a file with a header for each part, and say how to read what the strings are made of."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(folder, f"cannot be made: {error.strerror}") from None
    for name, pairs in splits._asdict().items():
        TableOutput(folder / f"{name}.tsv", RowFormat.TSV, header=True).write(pair_table(pairs))
        typer.echo(f"{folder / name}.tsv: {len(pairs):,} pairs", err=True)
    sides = zip(("source", "target"), symbols, strict=True)
    options = [f"--{side}-symbols {kind}" for side, kind in sides if kind != "graphemes"]
    if options:
        err.print(f"to train on them: {' '.join(options)}; of cognates rather letters, see docs/cognate-sets.md")


def pair_table(pairs: Pairs) -> Table:
    """Columns of pairs: source, target, and whatever else there is."""
    return answered({"source": pairs.sources, "target": pairs.targets}, {}, other_columns(pairs))


def _where(dataset: DataSet) -> str:
    from nsed.datasets.fetching import Place, find

    if dataset.package:
        return "embedded" if util.find_spec(dataset.package) else f"pip install {dataset.package}"
    if not dataset.files:
        return "embedded"
    found = [place.place for file in dataset.files if (place := find(file))]
    if len(found) == len(dataset.files):
        return " and ".join(place.value for place in Place if place in found)
    return f"to be fetched ({len(found)} of {len(dataset.files)} files are here)" if found else "to be fetched"


def _show_card(name: str) -> None:
    from nsed.datasets.catalogue import DATASETS
    from nsed.datasets.fetching import find

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


def align(
    pairs: Annotated[Path, typer.Argument(help="File of the pairs to align.", show_default=False)],
    output: Annotated[Path, typer.Argument(help="Where the links go, a line for each pair.", show_default=False)],
    more: Annotated[
        list[Path] | None,
        typer.Option(help="More pairs to learn from, say the training file; may be given several times."),
    ] = None,
    heuristic: Annotated[
        str, typer.Option(help=f"How both directions become one: {', '.join(HEURISTICS)}.")
    ] = "grow-diag-final-and",
    source_symbols: Annotated[SymbolKind, typer.Option(help="What sources are made of.")] = "graphemes",
    target_symbols: Annotated[
        SymbolKind | None, typer.Option(help="What targets are made of; by default graphemes, in a .dict tokens.")
    ] = None,
    columns: Columns = None,
) -> None:
    """Align pairs with eflomal, a statistical word aligner, and write which symbols belong together.

    It learns from the pairs themselves, and from `--more`; of labelled ones from those that match, the others get empty
    lines. It runs from source to target and back; `--heuristic` makes one alignment of both (the paper has grow-diag).
    The output is a Pharaoh file, `0-0 1-2`, as `nsed evaluate --alignments` takes it. Needs the extra `align`.
    """
    from nsed.evaluate import alignment
    from nsed.evaluate.alignment import statistical_links, to_pharaoh
    from nsed.text import SymbolSplitter, read_pairs, reader_for

    symmetrise, names = alignment.HEURISTICS[heuristic], split_columns(columns)
    data = [read_pairs(path, columns=names) for path in (pairs, *(more or ()))]
    targets = SymbolSplitter(target_symbols or reader_for(pairs).target_symbols)
    together = _positives(data)
    with err.status(f"aligning {len(together):,} pairs, there and back"):
        both_ways = statistical_links(together, source=SymbolSplitter(source_symbols), target=targets)
    lines = map(to_pharaoh, both_ways.symmetrised(symmetrise))
    with open_output(output) as stream:
        stream.writelines(f"{line}\n" for line in _line_by_line(data[0], lines))
    typer.echo(f"{output}: {len(data[0]):,} alignments", err=True)


def _positives(data: list[Pairs]) -> Pairs:
    from nsed.text import Pairs

    positives = [pairs.positives() for pairs in data]
    sources = list(chain.from_iterable(pairs.sources for pairs in positives))
    return Pairs(sources, list(chain.from_iterable(pairs.targets for pairs in positives)))


def _line_by_line(pairs: Pairs, lines: Iterator[str]) -> Iterator[str]:
    """Pharaoh lines of the positives, in the places of these."""
    return (next(lines) if positive else "" for positive in pairs.labels or [True] * len(pairs))
