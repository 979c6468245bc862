"""Help that can be used at once: examples that run, and completion in the shell."""

import os
import shlex
import subprocess
import sys

import pytest

import nsed
from nsed.baselines import Levenshtein
from nsed.cli.commands import COMMANDS, DATA_COMMANDS, EXAMPLES, FIRST_STEPS, WITHIN
from support.commands import run

ALL_COMMANDS = [*COMMANDS, *WITHIN, "label", "serve", *(f"data {name}" for name in DATA_COMMANDS)]


def command_of(example):
    """The command itself, without what stands before a pipe and without the comment."""
    return example.partition("#")[0].rpartition("| ")[2]


def test_every_command_has_examples_in_its_help():
    assert [name for name in ALL_COMMANDS if not EXAMPLES.get(name)] == []
    assert set(EXAMPLES) <= set(ALL_COMMANDS)
    assert "nsed align distance pairs.tsv" in run("align", "--help")
    assert "nsed demo" in run("--help")


@pytest.mark.parametrize("command", ["", *ALL_COMMANDS])
def test_no_example_wraps_in_a_terminal_of_80_columns(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    text = run(*command.split(), "--help")
    shown = {line.strip() for line in text.splitlines()}
    examples = EXAMPLES[command] if command else FIRST_STEPS.split("```")[1].splitlines()[1:]
    assert [one for one in examples if len(one) > 76 or one not in shown] == []
    assert "…" not in text


def test_flags_show_no_value_in_help():
    assert "<bool>" not in run("--help") + run("train", "--help") + run("data", "--help")
    assert "--minutes" in run("train", "--help")


@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_examples_are_of_their_command_and_know_its_options(command):
    known = run(*command.split(), "--help")
    for example in EXAMPLES[command]:
        words = shlex.split(command_of(example))
        assert words[: 1 + len(command.split())] == ["nsed", *command.split()]
        assert all(word in known for word in words if word.startswith("--")), example


FILES = {
    "american.tsv": "id\tword\n7\tlabor\n8\tcolor\n",
    "annotated.tsv": "DOCULECT\tCONCEPT\tTOKENS\tCOGID\n"
    + "".join(f"{one}\tc{n}\ta r m{' x' * n}\t{n}\n" for n in range(1, 12) for one in ("Dutch", "German")),
    "british.tsv": "id\tword\n1\tcolour\n2\tlabour\n",
    "linked.tsv": "id_a\tid_b\tprobability\n1\t2\t0.95\n",
    "labelled.tsv": "colour\tcolor\t1\nlabour\tlabor\t1\ncolour\tlabor\t0\nlabour\tcolor\t0\n",
    "pairs.tsv": "colour\tcolor\nhonour\thonor\n",
    "test.dict": "READ  R EH D\nCHAOS  S AY K IY\n",
    "test.tsv": "honour\thonor\t1\nhonour\tcolor\t0\n",
    "words.tsv": "ID\tDOCULECT\tCONCEPT\tTOKENS\n1\tDutch\thand\th ɑ n t\n2\tGerman\thand\th a n t\n",
    "words.txt": "read\npsyche\n",
}
LONG = (
    "demo",
    "train pairs.tsv model --model",
    "train pairs.tsv model --resume",
    "train fixes.tsv",
    "reproduce table3",
    "bench row-scan",
    "cluster auto",
)
LONG += (
    "label",
    "cluster sca",
    "data cmudict",
    "serve",
    "data fetch",
    "data align",
    "data export",
    "evaluate one",
    "mix both",
)
"""Examples that take long, serve, fetch, need the paper's data or several models; tests of their commands run them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("examples")
    for name, text in FILES.items():
        (made / name).write_text(text, encoding="utf-8")
    nsed.LearnableEditDistance.fit([("colour", "color")]).save(made / "distance")
    pairs = nsed.read_pairs(made / "labelled.tsv")
    Levenshtein.fit(pairs, pairs.labels).save(made / "MODEL")
    return made


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
@pytest.mark.parametrize("command", ALL_COMMANDS)
def test_examples_run(command, folder, monkeypatch):
    monkeypatch.chdir(folder)
    for example in EXAMPLES[command]:
        words = shlex.split(command_of(example))[1:]
        if not " ".join(words).startswith(LONG):
            run(*words, stdin="read\n")


COMPLETED = {
    "nsed tra": {"train", "transduce"},
    "nsed train --mo": {"--model", "--models"},
    "nsed data ch": {"check"},
    "nsed transduce g2p-en --format p": {"parquet"},
}
NSED = "from nsed.__main__ import app; app(prog_name='nsed')"


@pytest.mark.parametrize("line", COMPLETED)
def test_shell_completes_commands_options_and_values(line):
    asked = {"_NSED_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split()) - 1)}
    shown = subprocess.run(
        [sys.executable, "-c", NSED],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert set(shown.stdout.split()) == COMPLETED[line]


def test_script_of_completion_is_for_the_shell_that_asks(monkeypatch):
    monkeypatch.setattr("shellingham.detect_shell", lambda *_, **__: ("bash", "/bin/bash"))  # tests may run without one
    script = run("--show-completion")
    assert "complete -o default -F _nsed_completion nsed" in script
    assert "_NSED_COMPLETE=complete_bash" in script
