"""`nsed review`: what deserves a look, and what becomes of the corrections."""

import json
from dataclasses import replace

import pytest

import nsed
from nsed.errors import ArgumentError, ConfigError, DataError
from support.commands import run


def test_a_review_is_corrected_and_read_back_as_overrides_and_as_training_pairs(transducer, tmp_path):
    path = tmp_path / "review.tsv"
    run("review", transducer, "-", "--top", 2, "-o", path, stdin="CCB\nCACAB\nCB\n")
    header, first, second = (line.split("\t") for line in path.read_text().splitlines())
    assert header == ["source", "target", "probability", "margin", "entropy", "answers", "reviewed_target"]
    assert float(first[2]) <= float(second[2])
    assert first[5].startswith(f"{first[1]} | ")
    path.write_text(path.read_text().replace(f"{first[0]}\t{first[1]}\t", f"{first[0]}\tabcab\t"))
    assert list(nsed.read_pairs(path)) == [(first[0], "abcab"), (second[0], second[1])]
    answer = run("transduce", transducer, "--text", first[0], "--exceptions", path, "--no-header")
    assert answer.split("\t")[1] == "abcab"
    run("train", path, tmp_path / "tuned", "--from", transducer, "--set", "train.steps=5")
    assert nsed.load(tmp_path / "tuned").config.encoder == replace(nsed.load(transducer).config.encoder, dropout=0.0)
    assert json.loads((tmp_path / "tuned" / "run.json").read_text())["pairs"] == {"training": 2, "validation": 2}


def test_a_review_of_pairs_shows_likely_errors_of_the_data(transducer, tmp_path):
    (tmp_path / "pairs.tsv").write_text("CB\tcb\nCCB\taaa\n")
    lines = run("review", transducer, tmp_path / "pairs.tsv", "--format", "json").splitlines()
    first, _ = map(json.loads, lines)
    assert (first["source"], first["target"]) == ("CCB", "aaa")
    assert first["answers"].startswith("ccb | ")
    assert first["disagreement"] > 1
    assert "disagreement" in run("review", transducer, tmp_path / "pairs.tsv", "--format", "table")
    with pytest.raises(ArgumentError, match="--format: got table, expected tsv or json beside --output"):
        run("review", transducer, tmp_path / "pairs.tsv", "--format", "table", "-o", tmp_path / "out.txt")


def test_what_cannot_be_reviewed_or_tuned_is_said(model, transducer, pairs, tmp_path):
    with pytest.raises(ArgumentError, match=r"MODEL: got .*, which gives no answers, expected a transducer or a"):
        run("review", model, pairs)
    with pytest.raises(ConfigError, match=r"encoder\.dim: got 8, expected \d+, as the model to start from has it"):
        run("train", pairs, tmp_path / "out", "--from", transducer, "--set", "encoder.dim=8")
    with pytest.raises(ArgumentError, match="--model: got matcher, expected transducer, as the model to start"):
        run("train", pairs, tmp_path / "out", "--from", transducer, "--model", "matcher")


def test_a_review_of_labelled_pairs_is_read_back_with_its_labels(matcher, labelled, tmp_path):
    run("review", matcher, labelled, "--top", 1000, "-o", tmp_path / "review.tsv")
    before, after = nsed.read_pairs(labelled), nsed.read_pairs(tmp_path / "review.tsv")
    assert rows(before) == rows(after)
    assert list(before) != list(after)  # the least certain come first


def rows(pairs):
    return sorted(zip(pairs.sources, pairs.targets, pairs.labels, strict=True))


@pytest.mark.parametrize(("by", "column", "sign"), [("confidence", 2, 1), ("margin", 3, 1), ("entropy", 4, -1)])
def test_the_order_is_the_one_that_was_asked_for(by, column, sign, transducer):
    words = "CCB\nCACAB\nCB\nBAAACB\nABBA\nC\nBCAAB\n"
    _, *lines = (line.split("\t") for line in run("review", transducer, "-", "--by", by, stdin=words).splitlines())
    values = [sign * float(line[column]) for line in lines]
    assert len(lines) == 7
    assert values == sorted(values)


@pytest.mark.parametrize("words", ["CCB\nCACAB\n", "CCB\tbbb\nCACAB\taaa\n"])
def test_rows_of_a_review_that_nobody_edited_are_no_overrides(words, transducer, tmp_path):
    path = tmp_path / "review.tsv"
    run("review", transducer, "-", "-o", path, stdin=words)
    assert len(nsed.Overrides.read(path)) == 0
    first = path.read_text().splitlines()[1].split("\t")
    path.write_text(path.read_text().replace(f"{first[0]}\t{first[1]}\t", f"{first[0]}\tabcab\t"))
    asked = [part for line in words.splitlines() for part in ("--text", line.split("\t")[0])]
    answers = run("transduce", transducer, *asked, "--overrides", path, "--no-header").splitlines()
    marked = [line.split("\t")[:2] for line in answers if line.endswith("\t1")]
    assert marked == [[first[0], "abcab"]]


def test_a_review_of_an_empty_file_is_an_error_that_says_so(transducer, tmp_path):
    (tmp_path / "empty.txt").write_bytes(b"")
    with pytest.raises(DataError, match=r"empty\.txt: the file is empty; expected lines with words or pairs"):
        run("review", transducer, tmp_path / "empty.txt")
