"""`nsed cluster` as users type it."""

import json
import re

import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.errors import ArgumentError, DataError, UnknownNameError

LANGUAGES = ("L1", "L2", "L3", "L4")


def run(*arguments, stdin=None):
    result = CliRunner().invoke(app, ["cluster", *map(str, arguments)], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


def lines(*, start="", classes=True):
    """Of each of 20 concepts two classes of two words that are alike; a comment as LingPy writes it."""
    yield "# Wordlist"
    yield "ID\tDOCULECT\tCONCEPT\tTOKENS" + "\tCOGID" * classes
    for concept in range(20):
        for place, language in enumerate(LANGUAGES):
            origin = f"{start}{concept}.{place // 2}"
            cells = [f"{concept}{place}", language, f"{start}c{concept}", f"{origin} {origin} {origin}x {place}"]
            yield "\t".join(cells + [origin] * classes)


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.tsv"
    path.write_text("\n".join(lines()) + "\n")
    return path


def read(path):
    return [line.split("\t") for line in path.read_text().splitlines()]


@pytest.mark.parametrize("method", ["average", "components", "labels", "infomap"])
def test_test_concepts_with_a_threshold_of_validation_concepts(words, tmp_path, method):
    shown = run("levenshtein", words, "--concepts", "test", "--method", method, "-o", tmp_path / "sets.tsv").stdout
    assert re.search(r"tuned on validation concepts \(B-cubed F 100.0%\)", shown)
    assert re.search(r"words +16\s+concepts +4\s+clusters +8\s+classes +8\s", shown)
    for figure in ("B-cubed F +100.00%", "pairwise F +100.00%", "adjusted Rand +1.0", "mean of concepts +1.0"):
        assert re.search(figure, shown)
    header, *rows = read(tmp_path / "sets.tsv")
    assert header == ["ID", "DOCULECT", "CONCEPT", "TOKENS", "COGID", "CLUSTER"]
    assert [int(row[-1]) for row in rows] == [number // 2 for number in range(16)]


def test_concepts_are_those_of_the_protocol(words, tmp_path):
    folder, parts = tmp_path / "pairs", {}
    CliRunner().invoke(app, ["data", "cognates", str(words), str(folder), "--protocol", "concepts", "--seed", "3"])
    for part in ("training", "validation", "test"):
        run("levenshtein", words, "--concepts", part, "--seed", 3, "-o", tmp_path / f"{part}.tsv")
        parts[part] = {row[3] for row in read(tmp_path / f"{part}.tsv")[1:]}
        assert parts[part] == {text for row in read(folder / f"{part}.tsv")[1:] for text in row[:2]}
    assert sum(map(len, parts.values())) == 80


def test_words_without_classes_go_to_standard_output():
    result = run("levenshtein", "-", "--threshold", 0.5, stdin="\n".join(lines(classes=False)))
    assert result.stdout.splitlines()[:2] == ["ID\tDOCULECT\tCONCEPT\tTOKENS\tCLUSTER", "00\tL1\tc0\t0.0 0.0 0.0x 0\t0"]
    assert len(result.stdout.splitlines()) == 81
    assert "B-cubed" not in result.output


def test_another_list_tunes_the_threshold(words, tmp_path):
    other = tmp_path / "other.tsv"
    other.write_text("\n".join(lines(start="o")))
    shown = run("levenshtein", words, "--tune", other, "-o", tmp_path / "sets.tsv").stdout
    assert "tuned on other.tsv (B-cubed F 100.0%)" in shown
    with pytest.raises(ArgumentError, match=r"--tune: got .*, with 80 of them, .* use --concepts test"):
        run("levenshtein", words, "--tune", words)
    with pytest.raises(ArgumentError, match=r"--threshold: got 0\.5, expected nothing beside --tune"):
        run("levenshtein", words, "--tune", other, "--threshold", 0.5)


def test_models_of_all_kinds(words, tmp_path):
    pairs = [("a b", "a b"), ("a c", "a c")]
    config = nsed.EditDistanceConfig(source_symbols="tokens", target_symbols="tokens")
    nsed.LearnableEditDistance.fit(pairs, config=config).save(tmp_path / "table")
    with pytest.warns(nsed.UnknownSymbolWarning):
        shown = run(tmp_path / "table", words, "--concepts", "test", "-o", tmp_path / "sets.tsv").stdout
    assert re.search(r"B-cubed F +\d+\.\d\d%", shown)
    with pytest.raises(ArgumentError, match="--threshold: got nothing, expected a number, or --tune or --concepts"):
        run(tmp_path / "table", words)
    small = {"encoder": {"kind": "unigram", "dim": 8}, "train": {"steps": 2, "batch_pairs": 8, "device": "cpu"}}
    labelled = nsed.Pairs(["a b", "c d"] * 4, ["a b", "x y"] * 4, [True, False] * 4)
    config = nsed.config.from_mapping(nsed.MatcherConfig, small)
    nsed.Matcher.fit(labelled, validation=labelled, config=config).save(tmp_path / "matcher")
    with pytest.warns(nsed.UnknownSymbolWarning):
        shown = run(tmp_path / "matcher", words, "-o", tmp_path / "sets.tsv").stdout
    assert re.search(r"threshold +0.5000\s+as probable as not", shown)


def test_what_is_wrong_is_said(words, tmp_path):
    with pytest.raises(UnknownNameError, match=r"method: got 'avrage', .* Did you mean 'average'"):
        run("levenshtein", words, "--method", "avrage")
    with pytest.raises(DataError, match=r"words.tsv:2: no column ORIGIN; there are: ID, DOCULECT"):
        run("levenshtein", words, "--classes", "ORIGIN", "--threshold", 0.5)
    once = "DOCULECT\tCONCEPT\tTOKENS\nL1\thand\ta\nL1\tfoot\tb\n"
    with pytest.raises(ArgumentError, match="words: got 2 words of 2 concepts, expected at least two words of one"):
        run("levenshtein", "-", "--threshold", 0.5, stdin=once)
    run("levenshtein", words, "--threshold", 0.5, "-o", tmp_path / "sets.tsv")
    with pytest.raises(DataError, match=r"sets.tsv:1: there is a column CLUSTER already"):
        run("levenshtein", tmp_path / "sets.tsv", "--threshold", 0.5)
    (tmp_path / "short.tsv").write_text("DOCULECT\tCONCEPT\tTOKENS\nL1\n")
    with pytest.raises(DataError, match=r"short.tsv:2: expected 3 columns separated by a tab, found 1: 'L1'"):
        run("levenshtein", tmp_path / "short.tsv", "--threshold", 0.5)


def test_figures_are_written_too(words, tmp_path):
    figures = tmp_path / "figures.json"
    run("levenshtein", words, "--concepts", "test", "--figures", figures, "-o", tmp_path / "sets.tsv")
    read = json.loads(figures.read_text())
    assert (read["method"], read["b_cubed"]["f1"], read["origin"][:8]) == ("average", 1.0, "tuned on")
    unknown = tmp_path / "unknown.tsv"
    unknown.write_text("\n".join(lines(classes=False)) + "\n")
    with pytest.raises(ArgumentError, match=r"--figures: got .*, expected nothing: the list has no classes"):
        run("levenshtein", unknown, "--threshold", "0.5", "--figures", figures, "-o", tmp_path / "sets.tsv")
