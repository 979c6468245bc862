"""Cognate sets as other programs read them: EDICTOR and LingPy, CLDF, Nexus."""

import logging
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.baselines.lingpy import quietly
from nsed.datasets.cldf import read_cldf, read_cldf_table
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError
from nsed.jobs.cognate_sets import align_sets, cognate_sets, nexus_lines, split_morphemes

ROWS = """\
key\tLANGUAGE\tGLOSS\tFORM\tTOKENS\tCOGID
a\tOld Norse\thand\thǫnd\th ɔ n d\t7
b\tGerman\thand\thant\th a n t\t7
c\tItalian\thand\tmano\tm a n o\t9
d\tSpanish\thand\tmano\tm a n o\t9
e\tOld Norse\tfish\tfiskr\tf i s k r\t3
f\tGerman\tfish\tfiʃ\tf ɪ ʃ\t3
g\tItalian\tfish\tpeʃe\tp e ʃ e\t3
"""


@pytest.fixture
def words(tmp_path):
    (tmp_path / "words.tsv").write_text(ROWS)
    return tmp_path / "words.tsv"


def cluster(*arguments):
    result = CliRunner().invoke(app, ["cluster", "levenshtein", "--threshold", "0.4", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def read(path):
    header, *rows = (line.split("\t") for line in path.read_text().splitlines())
    return [dict(zip(header, row, strict=True)) for row in rows]


def test_edictor_and_lingpy_read_sets_from_1_with_aligned_words(words, tmp_path):
    cluster(words, "--format", "edictor", "-o", tmp_path / "sets.tsv")
    rows = read(tmp_path / "sets.tsv")
    assert list(rows[0]) == ["ID", "DOCULECT", "CONCEPT", "TOKENS", "COGID", "ALIGNMENT", "key", "FORM", "INPUT_COGID"]
    assert [row["ID"] for row in rows] == [str(number) for number in range(1, 8)]
    assert min(int(row["COGID"]) for row in rows) == 1
    for number in {row["COGID"] for row in rows}:
        aligned = [row["ALIGNMENT"].split() for row in rows if row["COGID"] == number]
        assert len({len(row) for row in aligned}) == 1
    assert all([one for one in row["ALIGNMENT"].split() if one != "-"] == row["TOKENS"].split() for row in rows)
    with quietly():
        from lingpy import Alignments

        found = Alignments(str(tmp_path / "sets.tsv"), ref="cogid", transcription="tokens")
    assert {number: [found[number, "cogid"], found[number, "tokens"]] for number in found} == {
        int(row["ID"]): [int(row["COGID"]), row["TOKENS"].split()] for row in rows
    }


def test_words_of_a_set_have_columns_of_equal_number():
    words = [Word("A", "x", tokens, "") for tokens in ("f i s k r", "f ɪ ʃ", "p e ʃ e", "f ɪ ʃ", "a")]
    sets = cognate_sets([0, 0, 0, 0, 1])
    aligned = align_sets(words, sets)
    assert len({len(row) for row in aligned[:4]}) == 1
    assert (aligned[1], aligned[4]) == (aligned[3], ["a"])


def test_cldf_is_valid_and_reads_back(words, tmp_path):
    cluster(words, "--format", "cldf", "-o", tmp_path / "cldf")
    pycldf = pytest.importorskip("pycldf")
    dataset = pycldf.Dataset.from_metadata(tmp_path / "cldf" / "Wordlist-metadata.json")
    assert dataset.validate(logging.getLogger("cldf"))
    languages = {row["ID"]: row["Name"] for row in dataset["LanguageTable"]}
    assert languages["Old_Norse"] == "Old Norse"
    (first, *_) = dataset["CognateTable"]
    assert (first["Alignment"][0], first["Cognate_Detection_Method"]) == ("h", "nsed cluster levenshtein, average")
    found = read_cldf(tmp_path / "cldf")
    classes = [(word.tokens, word.cognate_class) for word in found]
    assert classes[:3] == [("h ɔ n d", "1"), ("h a n t", "1"), ("m a n o", "2")]
    cluster(tmp_path / "cldf", "--format", "cldf", "-o", tmp_path / "again")  # from CLDF to CLDF
    again = read_cldf_table(tmp_path / "again")
    assert [row.cells for row in again.rows] == [row.cells for row in read_cldf_table(tmp_path / "cldf").rows]
    with pytest.raises(ArgumentError, match=r"--output: got .*, expected the name of a new folder"):
        cluster(words, "--format", "cldf", "-o", tmp_path / "cldf")
    with pytest.raises(ArgumentError, match="--format: got cldf, expected table, edictor or nexus without --output"):
        cluster(words, "--format", "cldf")


def test_partial_cognates_in_cldf_are_slices_of_the_segments(compounds, tmp_path):
    cluster(compounds, "--partial", "--format", "cldf", "-o", tmp_path / "cldf")
    pycldf = pytest.importorskip("pycldf")
    dataset = pycldf.Dataset.from_metadata(tmp_path / "cldf" / "Wordlist-metadata.json")
    assert dataset.validate(logging.getLogger("cldf"))
    rows, forms = list(dataset["CognateTable"]), {row["ID"]: row for row in dataset["FormTable"]}
    assert [row["ID"] for row in rows] == ["1-1", "1-2", "2-1", "2-2", "3-1", "4-1", "5-1", "6-1"]
    assert [row["Segment_Slice"] for row in rows[:4]] == [["1:4"], ["6:9"], ["1:4"], ["6:7"]]
    for row in rows:
        sliced = dataset.get_subsequence(row, form=forms[row["Form_ID"]])
        assert sliced == [sound for sound in row["Alignment"] if sound != "-"]
    assert rows[0]["Cognateset_ID"] == rows[2]["Cognateset_ID"] != rows[1]["Cognateset_ID"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--partial",)])
def test_the_validator_of_cldf_accepts_what_is_written(compounds, tmp_path, options):
    cluster(compounds, *options, "--format", "cldf", "-o", tmp_path / "cldf")
    command = [sys.executable, "-m", "pycldf", "validate", str(tmp_path / "cldf" / "Wordlist-metadata.json")]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_nexus_has_a_character_for_each_set_and_says_what_is_missing(words):
    found = list(nexus_lines(*listed([0, 0, 1, 1, 2, 2, 3])))
    assert "DIMENSIONS NTAX=4 NCHAR=4;" in found[2]
    states = dict(re.findall(r"^    (\w+) +([01?]+)$", "\n".join(found), flags=re.MULTILINE))
    assert states == {"Old_Norse": "1010", "German": "1010", "Italian": "0101", "Spanish": "01??"}
    assert re.search(r"1 hand_1,\s+2 hand_2,\s+3 fish_3,\s+4 fish_4;", "\n".join(found))
    assert cluster(words, "--format", "nexus").startswith("#NEXUS\nBEGIN DATA;\n")


def listed(clusters):
    cells = [line.split("\t") for line in ROWS.splitlines()[1:]]
    return [Word(language, concept, tokens, "") for _, language, concept, _, tokens, _ in cells], cognate_sets(clusters)


COMPOUNDS = """\
DOCULECT\tCONCEPT\tTOKENS
Dutch\tglove\th ɑ n t + s x u n
German\tglove\th a n t _ ʃ uː
Dutch\thand\th ɑ n t
German\thand\th a n t
Italian\thand\tm a n o
Spanish\thand\tm a n o
"""


@pytest.fixture
def compounds(tmp_path):
    (tmp_path / "compounds.tsv").write_text(COMPOUNDS, encoding="utf-8")
    return tmp_path / "compounds.tsv"


def test_morphemes_have_sets_of_their_own(compounds, tmp_path):
    cluster(compounds, "--partial", "-o", tmp_path / "sets.tsv")
    rows = read(tmp_path / "sets.tsv")
    assert list(rows[0]) == ["DOCULECT", "CONCEPT", "TOKENS", "COGIDS"]
    dutch, german = (row["COGIDS"].split() for row in rows[:2])
    assert dutch[0] == german[0]
    assert dutch[1] != german[1]
    assert [row["COGIDS"] for row in rows[2:]] == ["4", "4", "5", "5"]


def test_partial_sets_are_aligned_morpheme_by_morpheme(compounds, tmp_path):
    cluster(compounds, "--partial", "--format", "edictor", "-o", tmp_path / "sets.tsv")
    rows = read(tmp_path / "sets.tsv")
    for row in rows:
        assert len(row["ALIGNMENT"].split("+")) == len(row["COGIDS"].split())
    kept = [one for one in rows[1]["ALIGNMENT"].split() if one != "-"]
    assert kept == ["h", "a", "n", "t", "+", "ʃ", "uː"]


def test_relatives_are_found_in_other_concepts(compounds, tmp_path):
    options = ("--across", "concepts", "--across-threshold", "0.7")
    cluster(compounds, "--partial", *options, "-o", tmp_path / "sets.tsv")
    rows = read(tmp_path / "sets.tsv")
    hands = [row["CROSSIDS"].split()[0] for row in rows[:4]]
    assert len(set(hands)) == 1
    assert rows[4]["CROSSIDS"] not in hands
    cluster(compounds, "--partial", "--across", "concepts", "-o", tmp_path / "strict.tsv")  # 0.99: nothing is joined
    strict = read(tmp_path / "strict.tsv")
    assert [row["CROSSIDS"] for row in strict] == [row["COGIDS"] for row in strict]


def test_word_without_a_morpheme_is_told():
    with pytest.raises(ArgumentError, match=r"got '\+' \(A, x\), expected a morpheme at least"):
        split_morphemes([Word("A", "x", "+", "")])
