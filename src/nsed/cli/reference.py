"""`nsed data align`: alignments by a statistical aligner, to compare a model's with."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from nsed.cli.arguments import Columns, open_output, split_columns
from nsed.cli.console import err
from nsed.datasets.reference_alignments import statistical_links, to_pharaoh
from nsed.evaluate.alignment import HEURISTICS
from nsed.text import Pairs, Symboliser, SymbolKind, read_pairs, reader_for


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
    symmetrise, names = HEURISTICS[heuristic], split_columns(columns)
    data = [read_pairs(path, columns=names) for path in (pairs, *(more or ()))]
    targets = Symboliser(target_symbols or reader_for(pairs).target_symbols)
    together = _positives(data)
    with err.status(f"aligning {len(together):,} pairs, there and back"):
        both_ways = statistical_links(together, source=Symboliser(source_symbols), target=targets)
    lines = map(to_pharaoh, both_ways.symmetrised(symmetrise))
    with open_output(output) as stream:
        stream.writelines(f"{line}\n" for line in _line_by_line(data[0], lines))
    typer.echo(f"{output}: {len(data[0]):,} alignments", err=True)


def _positives(data: list[Pairs]) -> Pairs:
    positives = [pairs.positives() for pairs in data]
    sources = list(chain.from_iterable(pairs.sources for pairs in positives))
    return Pairs(sources, list(chain.from_iterable(pairs.targets for pairs in positives)))


def _line_by_line(pairs: Pairs, lines: Iterator[str]) -> Iterator[str]:
    """The lines of the positives, in the places of these."""
    return (next(lines) if positive else "" for positive in pairs.labels or [True] * len(pairs))
