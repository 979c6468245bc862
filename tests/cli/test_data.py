"""`nsed data`: pairs of word lists by every protocol, leaks between files, reference alignments."""

import json
import re
from importlib.util import find_spec

import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.errors import ArgumentError, DataError, UnknownNameError
from support.commands import run


@pytest.mark.skipif(find_spec("eflomal") is None, reason="needs the extra align")
def test_reference_alignments_of_a_file(pairs, tmp_path):
    (tmp_path / "labelled.tsv").write_text("CC\tcc\t1\nAB\tcc\t0\nCBC\tcbc\t1\n")
    run("data", "align", tmp_path / "labelled.tsv", tmp_path / "out.pharaoh", "--more", pairs, "--heuristic", "union")
    lines = (tmp_path / "out.pharaoh").read_text().splitlines()
    assert len(lines) == 3
    assert lines[1] == ""  # no match, no links
    assert {"0-0", "2-2"} <= set(lines[2].split())
    with pytest.raises(UnknownNameError, match="heuristic: got 'onion'"):
        run("data", "align", pairs, tmp_path / "out.pharaoh", "--heuristic", "onion")


def test_cognate_pairs_of_a_word_list(tmp_path):
    words = [("L1", "hand", "h a n d", "1"), ("L2", "hand", "h a n t", "1"), ("L1", "foot", "f u t", "2")] * 4
    lines = ["DOCULECT\tCONCEPT\tTOKENS\tCOGID", *map("\t".join, words)]
    (tmp_path / "words.tsv").write_text("\n".join(lines))
    run("data", "cognates", tmp_path / "words.tsv", tmp_path / "pairs", "--protocol", "published", "--held-out", 50)
    training = nsed.read_pairs(tmp_path / "pairs" / "training.tsv")
    assert len(training) == (8 * 8 + 4 * 4) * 11 - 100
    assert set(training.source_languages) == {"L1", "L2"}
    with pytest.raises(DataError, match=r"words.tsv:1: no column CLASS; there are: DOCULECT, CONCEPT, TOKENS, COGID"):
        run("data", "cognates", tmp_path / "words.tsv", tmp_path / "pairs", "--classes", "CLASS")


@pytest.fixture
def words(tmp_path):
    """A word list of twenty concepts in three languages; two of the words have one origin."""
    rows = [(f"L{n}", f"c{concept}", f"{concept} {n}", f"{concept}.{n > 1}") for concept in range(20) for n in range(3)]
    lines = ["DOCULECT\tCONCEPT\tTOKENS\tCOGID\tCLASS", *("\t".join([*row, row[3]]) for row in rows)]
    (tmp_path / "words.tsv").write_text("\n".join(lines))
    return tmp_path / "words.tsv"


def parts_of(folder):
    return [folder / f"{part}.tsv" for part in ("training", "validation", "test")]


@pytest.mark.parametrize(
    ("protocol", "options", "sizes"),
    [
        ("published", ["--held-out", 50], [1000, 50, 50]),
        ("published-fixed", ["--held-out", 50], [1000, 50, 50]),
        ("concepts", [], [42, 6, 12]),
        ("languages", ["--hold-out-language", "L1"], [18, 2, 40]),
    ],
)
def test_protocols_of_cognates(words, protocol, options, sizes):
    run("data", "cognates", words, words.parent / "pairs", "--protocol", protocol, *options)
    assert [len(nsed.read_pairs(path)) for path in parts_of(words.parent / "pairs")] == sizes


def test_the_default_protocol_is_not_the_one_that_leaks(words):
    run("data", "cognates", words, words.parent / "pairs")
    assert json.loads((words.parent / "pairs" / "controls.json").read_text())["protocol"] == "concepts"
    assert run("data", "check", *parts_of(words.parent / "pairs"), "--strict").endswith("no leak\n")


def test_training_on_cognates_does_not_read_their_spaces_as_symbols(words):
    pairs, folder = words.parent / "pairs", words.parent / "model"
    written = CliRunner().invoke(app, ["data", "cognates", str(words), str(pairs)])
    said = " ".join(written.stderr.split())
    assert f"nsed train {pairs}/training.tsv MODEL --validation {pairs}/validation.tsv" in said
    trained = CliRunner().invoke(app, ["train", str(pairs / "training.tsv"), str(folder), "--model", "edit-distance"])
    said = " ".join(trained.stderr.split())
    assert "sources as tokens (segments with spaces between them); targets as tokens (segments" in said
    model = nsed.load(folder)
    assert (model.config.source_symbols, model.config.target_symbols) == ("tokens", "tokens")
    assert not any(" " in symbol for symbol in model.tokenizers.source.vocabulary.symbols)
    run(
        "train",
        pairs / "training.tsv",
        folder,
        "--overwrite",
        "--model",
        "edit-distance",
        "--source-symbols",
        "graphemes",
    )
    config = nsed.load(folder).config
    assert (config.source_symbols, config.target_symbols) == ("graphemes", "tokens")


def test_files_of_pairs_do_not_lose_ids_concepts_and_glosses(words):
    lines = words.read_text().splitlines()
    named = [f"{line}\t{number}\tthe {line.split()[1]}" for number, line in enumerate(lines)]
    words.write_text("\n".join([f"{lines[0]}\tID\tENGLISH", *named[1:]]))
    known = {line.split("\t")[5]: line.split("\t") for line in named}
    for protocol, columns in (("concepts", ["concept", "gloss"]), ("published", ["source_concept", "target_concept"])):
        held_out = ["--held-out", 50] if protocol == "published" else []
        run("data", "cognates", words, words.parent / protocol, "--protocol", protocol, *held_out)
        for path in parts_of(words.parent / protocol):
            pairs = nsed.read_pairs(path, keep_others=True)
            assert pairs.others.column_names[:4] == ["source_id", "target_id", *columns]
            for (source, target), row in zip(pairs, pairs.others.to_pylist(), strict=True):
                one, other = known[row["source_id"]], known[row["target_id"]]
                assert (one[2], other[2]) == (source, target)
                assert (one[1], other[1]) == (row[columns[0]], row.get("target_concept", row[columns[0]]))
                assert row.get("gloss", row.get("source_gloss")) == f"the {one[1]}"


def test_cognates_of_two_families(words):
    other = words.parent / "other.tsv"
    other.write_text(words.read_text().replace(" ", " x "))
    run("data", "cognates", words, words.parent / "pairs", "--protocol", "families", "--test-list", other)
    training, validation, test = map(nsed.read_pairs, parts_of(words.parent / "pairs"))
    assert [len(training), len(validation), len(test)] == [54, 6, 60]
    assert all(" x " in source for source in test.sources)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--protocol", "concept"], "protocol: got 'concept', expected one of: .* Did you mean 'concepts'"),
        (["--protocol", "languages"], "--hold-out-language: got nothing, expected a value with --protocol languages"),
        (["--protocol", "families"], "--test-list: got nothing, expected a value with --protocol families"),
        (["--protocol", "concepts", "--held-out", 5], "--held-out: got 5, expected nothing with --protocol concepts"),
        (["--test-list", "x.tsv"], "--test-list: got x.tsv, expected nothing with --protocol concepts"),
        (
            ["--protocol", "published-fixed", "--classes", "CLASS"],
            "--classes: got CLASS, expected COGID with --protocol published-fixed",
        ),
    ],
)
def test_options_that_a_protocol_does_not_take_or_lacks(words, options, message):
    with pytest.raises(ArgumentError, match=message):
        run("data", "cognates", words, words.parent / "pairs", *options)
    assert not (words.parent / "pairs").exists()


def test_a_leaking_split_is_found_out(words):
    run("data", "cognates", words, words.parent / "pairs", "--protocol", "published", "--held-out", 50)
    arguments = ["data", "check", *map(str, parts_of(words.parent / "pairs"))]
    shown = run(*arguments)
    assert re.search(r"positives +\d+ +\d+ +\d+\n", shown)
    assert re.search(r"[1-9]\d* leaks\n$", shown)
    report = json.loads(run(*arguments, "--json", "--symbols", "tokens"))
    assert report["leaks"] == sum(each["same_pairs"] + each["reversed_pairs"] for each in report["overlaps"]) > 0
    assert [each["tuned_on"] for each in report["controls"]] == ["validation.tsv"] * 2
    assert report["controls"][1]["chains"]["f1"] == 1
    assert CliRunner().invoke(app, [*arguments, "--strict"]).exit_code == 1


def test_an_honest_split_passes_the_strict_check(words):
    run("data", "cognates", words, words.parent / "pairs", "--protocol", "concepts")
    assert run("data", "check", *parts_of(words.parent / "pairs"), "--strict").endswith("no leak\n")


def test_the_check_of_files_in_two_folders_and_of_pairs_without_labels(tmp_path, pairs):
    (tmp_path / pairs.name).write_text("AB\tab\nneu\tnew\n" + pairs.read_text().splitlines()[0])
    shown = run("data", "check", pairs, tmp_path / pairs.name, "--json")
    report = json.loads(shown)
    assert [part["part"] for part in report["parts"]] == [str(pairs), str(tmp_path / pairs.name)]
    assert report["controls"] == []
    assert report["overlaps"][0]["same_source"] >= 1
    assert "sources, other target" in run("data", "check", pairs, tmp_path / pairs.name)
    with pytest.raises(ArgumentError, match=r"OTHERS: got .*, expected different files"):
        run("data", "check", pairs, pairs)
    with pytest.raises(DataError, match=r"none\.tsv: cannot be read: No such file"):
        run("data", "check", pairs, tmp_path / "none.tsv")
