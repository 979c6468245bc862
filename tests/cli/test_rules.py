"""`nsed rules`, as users type it."""

import json
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.errors import ArgumentError, DataError, NotExplainableError
from nsed.explain.rules import rules


def run(*arguments, stdin=None):
    result = CliRunner().invoke(app, ["rules", *map(str, arguments)], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files of pairs and a model of each."""
    folder = tmp_path_factory.mktemp("rules")
    for name, pairs in (
        ("us", [("colour", "color"), ("honour", "honor"), ("grey", "gray")] * 4),
        ("uk", [("color", "colour"), ("honor", "honour"), ("gray", "grey")] * 4),
    ):
        (folder / f"{name}.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs))
        nsed.LearnableEditDistance.fit(pairs).save(folder / name)
    return folder


def test_rules_of_pairs_as_tsv(folder):
    shown = run(folder / "us", folder / "us.tsv", "--format", "tsv")
    (head, *lines) = (line.split("\t") for line in shown.splitlines())
    table = rules(nsed.load(folder / "us"), nsed.read_pairs(folder / "us.tsv"))
    assert head[:4] == ["operation", "source", "target", "count"]
    assert [tuple(line[:3]) for line in lines] == [rule.name for rule in table.ranked(top=50)]
    deleted = next(line for line in lines if line[:3] == ["delete", "u", ""])
    assert float(deleted[3]) == pytest.approx(8, abs=0.1)


def test_rules_in_a_terminal_and_as_a_page(folder, tmp_path):
    shown = run(folder / "us", folder / "us.tsv", "--top", 3)
    assert len(shown.splitlines()) >= 4
    assert "honour honor" in shown.replace("\n", " ")
    assert run(folder / "us", folder / "us.tsv", "--format", "html", "-o", tmp_path / "r.html") == ""
    assert "<title>Rules of" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_rules_as_json_by_surprise(folder):
    lines = run(folder / "us", folder / "us.tsv", "--by", "surprise", "--top", 0, "--min-count", 1, "--format", "json")
    read = [json.loads(line) for line in lines.splitlines()]
    surprises = [rule["surprise"] for rule in read]
    assert surprises == sorted(surprises, reverse=True)
    assert all(rule["count"] >= 1 for rule in read)
    assert {context["symbol"] for rule in read for context in rule["contexts"] if context["edge"]} == {"^", "$"}


def test_rules_of_weights(folder):
    shown = run(folder / "us")
    assert "-u" in shown
    assert "count" not in shown
    with pytest.raises(NotExplainableError, match=r"g2p-en: a network that sees context .*: nsed rules g2p-en PAIRS"):
        run("g2p-en")
    with pytest.raises(ArgumentError, match="by: got surprise, expected support: these rules have no contexts"):
        run(folder / "us", "--by", "surprise")


@pytest.mark.filterwarnings("ignore::nsed.UnknownSymbolWarning")
def test_two_models_and_two_data_sets(folder, tmp_path):
    pairs = folder / "us.tsv"
    (tmp_path / "kept.tsv").write_text("colour\tcolour\nhonour\thonour\n" * 4)
    lines = run(folder / "us", pairs, "--against-data", tmp_path / "kept.tsv", "--format", "json").splitlines()
    kept, deleted = map(json.loads, lines[:2])
    assert [kept["kind"], deleted["kind"]] == ["keep", "delete"]
    assert kept["source"] == deleted["source"] == "u"
    assert deleted["counts"][0] > 7 > deleted["counts"][1]
    compared = [folder / "us", "--against", folder / "uk", "--format", "tsv"]
    assert run(*compared, "-", stdin=pairs.read_text()) == run(*compared, pairs)
    assert "G²" in run(folder / "us", pairs, "--against", folder / "uk", "--top", 5)
    run(folder / "us", "--against", folder / "uk", "--format", "html", "-o", tmp_path / "d.html")
    assert "against" in (tmp_path / "d.html").read_text(encoding="utf-8")
    (head, *_) = run(folder / "us", pairs, "--against", folder / "uk", "--format", "tsv").splitlines()
    assert head.endswith("difference\tG2\tp")


def test_what_is_wrong_is_said(folder, tmp_path, monkeypatch):
    model, pairs = folder / "us", folder / "us.tsv"
    with pytest.raises(ArgumentError, match="--against, --against-data: got both, expected one of them"):
        run(model, pairs, "--against", model, "--against-data", pairs)
    with pytest.raises(ArgumentError, match="--against-data: got no PAIRS"):
        run(model, "--against-data", pairs)
    with pytest.raises(ArgumentError, match="--by: got surprise"):
        run(model, pairs, "--against", model, "--by", "surprise")
    with pytest.raises(ArgumentError, match="--columns: got a,b, expected nothing without PAIRS"):
        run(model, "--columns", "a,b")
    (tmp_path / "wrong.tsv").write_text("colour\n")
    with pytest.raises(DataError, match=r"wrong\.tsv:1: expected at least 2 columns"):
        run(model, tmp_path / "wrong.tsv")
    (tmp_path / "empty.tsv").write_text("")
    with pytest.raises((ArgumentError, DataError), match=r"empty\.tsv"):
        run(model, tmp_path / "empty.tsv")
    (tmp_path / "negative.tsv").write_text("a\tb\t0\n")
    with pytest.raises(ArgumentError, match=r"PAIRS: got .*negative\.tsv, with no pair that matches"):
        run(model, tmp_path / "negative.tsv")
    monkeypatch.setattr("nsed.cli.rules.load_model", lambda *_: object())
    with pytest.raises(NotExplainableError, match="this model has no lattice"):
        run(model, pairs)


def test_a_picture_has_the_counts_and_the_deletions(folder, tmp_path):
    run(folder / "us", folder / "us.tsv", "--picture", tmp_path / "counted.svg")
    counted = ElementTree.parse(tmp_path / "counted.svg")
    words = {element.text for element in counted.iter() if element.text}
    assert {"c", "r", "−"} <= words
    assert any(text.startswith("u → −: 8") for text in words)
    run(folder / "us", "--picture", tmp_path / "weights.svg")
    assert "probability of the operation" in (tmp_path / "weights.svg").read_text()
    run(folder / "us", folder / "us.tsv", "--picture", tmp_path / "counted.png")
    assert (tmp_path / "counted.png").read_bytes().startswith(b"\x89PNG")
