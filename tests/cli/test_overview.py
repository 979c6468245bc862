"""The commands that tell what there is: help, version, models, doctor, and the demonstration."""

import re

import pytest

import nsed
from nsed.errors import ArgumentError, ModelFileError, NsedError
from support.commands import run

COMMANDS = [
    "demo",
    "train",
    "evaluate",
    "models",
    "mix",
    "doctor",
    "bench",
    "transduce",
    "review",
    "match",
    "cluster",
    "correspondences",
    "label",
    "score",
    "align",
    "explain",
    "operations",
    "rules",
    "data",
]


DATA_COMMANDS = [
    ["data", name] for name in ("rules", "cognates", "cmudict", "check", "list", "fetch", "export", "align")
]


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), *DATA_COMMANDS])
def test_every_command_has_help(command):
    assert "Usage:" in run(*command, "--help")


def test_version():
    assert run("--version").strip() == nsed.__version__


@pytest.mark.slow
def test_demo():
    shown = run("demo")
    assert re.search(r"unigram .*\n.* [0-9]% of \d+ such cases right", shown)
    assert re.search(r"CNN .*\n.* (9[5-9]|100)% of \d+ such cases right", shown)
    assert re.search(r"CNN .* (99\.[5-9]|100\.0)% of 300 unseen strings right", shown)
    assert "BAAACB → acb" in shown
    assert "flagships → F L AE G SH IH P S  p = 0.999  f→F l→L a→AE g→G s→SH -h i→IH p→P s→S" in shown


@pytest.mark.slow
def test_shipped_models_answer_without_a_download():
    assert run("transduce", "g2p-en", "--no-header", stdin="flagships\n").startswith("flagships\tF L AE G SH IH P S\t")
    assert "\nFLAGSHIPS\tF L AE G SH IH P S\t" in run("transduce", "g2p-en", "--text", "FLAGSHIPS")
    assert len(run("transduce", "translit-ar-en", "--text", "محمد", "--nbest", 3).splitlines()) == 1 + 3
    assert "English spelling to pronunciation" in run("models")
    assert "BSD, Carnegie Mellon University" in run("models", "g2p-en")
    with pytest.raises(ArgumentError, match="NAME: got g2p, expected one of cognates, cognates-austronesian, g2p-en"):
        run("models", "g2p")
    with pytest.raises(ModelFileError, match=r"no such folder; shipped models: cognates, cognates-a"):
        run("transduce", "g2p", "--text", "a")


def test_a_shipped_model_with_a_typo_is_not_only_a_missing_folder():
    for arguments in (["transduce", "g2p-eng", "--text", "a"], ["models", "g2p-eng"]):
        with pytest.raises(NsedError, match=r"g2p-eng.*Did you mean 'g2p-en'\?"):
            run(*arguments)


@pytest.mark.slow
def test_doctor_says_which_kernels_score_the_pairs_of_a_mixtures_members():
    lines = run("doctor", "cognates")
    assert "table_scores by" in lines
    assert "no kernel" not in lines
