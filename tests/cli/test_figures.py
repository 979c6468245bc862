"""A score on a split that leaks is never shown alone."""

import json

import pytest
from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.cli.figures import CONTROLS, CONTROLS_FILE, cautions_of


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split())


@pytest.fixture
def folder(tmp_path):
    rows = ["DOCULECT\tCONCEPT\tTOKENS\tCOGID"]
    for concept in range(20):
        for language in range(4):
            sounds = ((concept * 7 + place * place + language * (place > 2)) % 10 for place in range(5))
            tokens = " ".join("abcdefghij"[sound] for sound in sounds)
            rows.append(f"L{language}\tC{concept}\t{tokens}\t{concept * 2 + language // 3 + 1}")
    (tmp_path / "words.tsv").write_text("\n".join(rows) + "\n")
    return tmp_path


def test_the_published_protocol_says_that_it_leaks(folder):
    split = folder / "published"
    run("data", "cognates", folder / "words.tsv", split, "--protocol", "published", "--held-out", 100)
    written = json.loads((split / CONTROLS_FILE).read_text())
    assert written["protocol"] == "published"
    test = written["parts"]["test"]
    assert test["leaks"] > 0
    (caution,) = cautions_of(split / "test.tsv")
    assert caution.message.startswith(f"this split leaks, {test['leaks']:,} of its pairs are in the training file. ")
    assert [figure.value for figure in caution.figures] == [test[name]["f1"] for name in CONTROLS]
    run("train", split / "training.tsv", folder / "model", "--model", "lookup")
    shown = run("evaluate", folder / "model", split / "test.tsv", "-o", folder / "figures.json")
    assert f"caution: {caution.message}" in shown
    for figure in caution.figures:
        assert f"F1 {figure.value:.2%} {figure.note}" in shown
    figures = json.loads((folder / "figures.json").read_text())
    assert figures["cautions"][0]["message"] == caution.message
    assert figures["f1"] == test["lookup"]["f1"]


def test_new_concepts_do_not_leak(folder):
    run("data", "cognates", folder / "words.tsv", folder / "concepts", "--protocol", "concepts")
    (caution,) = cautions_of(folder / "concepts" / "test.tsv")
    assert caution.message == "Without a model:"
    assert caution.figures[0].value == 0


def test_other_files_have_nothing_to_say(tmp_path):
    assert cautions_of(tmp_path / "test.tsv") == ()
    (tmp_path / CONTROLS_FILE).write_text("[]")
    assert cautions_of(tmp_path / "test.tsv") == ()
    (tmp_path / CONTROLS_FILE).write_text("not JSON")
    assert cautions_of(tmp_path / "test.tsv") == ()
