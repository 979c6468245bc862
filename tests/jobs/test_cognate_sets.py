"""Cognate sets as other programs read them: EDICTOR and LingPy, CLDF, Nexus."""

import logging
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.baselines.lingpy import quietly
from nsed.datasets.cldf import CldfForm, read_cldf, read_cldf_table, write_cldf
from nsed.datasets.word_list import Word
from nsed.errors import ArgumentError, DataError
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


def flat(text):
    return " ".join(text.split())


def cluster(*arguments):
    return run_cluster(*arguments).stdout


def run_cluster(*arguments):
    result = CliRunner().invoke(app, ["cluster", "levenshtein", "--threshold", "0.4", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result


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


def test_sets_of_sets_lose_no_column_of_the_first_list(words, tmp_path):
    cluster(words, "--format", "edictor", "-o", tmp_path / "sets.tsv")
    cluster(tmp_path / "sets.tsv", "--threshold", "1", "--format", "edictor", "-o", tmp_path / "again.tsv")
    once, again = read(tmp_path / "sets.tsv"), read(tmp_path / "again.tsv")
    assert [row["INPUT_COGID"] for row in again] == ["7", "7", "9", "9", "3", "3", "3"]
    assert [row["INPUT_INPUT_COGID"] for row in again] == [row["COGID"] for row in once]


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


METADATA = """\
DOCULECT\tCONCEPT\tTOKENS\tISO_CODE\tGLOTTOCODE\tLATITUDE\tCONCEPTICON_ID\tNOTE\tSOURCE\tFAMILY
Dutch\thand\th ɑ n t\tnld\tdutc1256\t52\t1277\t\tSmith2000[12]; Brown {2001}\tIE
German\thand\th a n t\tdeu\tstan1295\t999\t1277\ta note\tsmith2000\tIE
"""


def validated(folder):
    pycldf = pytest.importorskip("pycldf")
    dataset = pycldf.Dataset.from_metadata(folder / "Wordlist-metadata.json")
    assert dataset.validate(logging.getLogger("cldf"))
    return dataset


def test_cldf_does_not_lose_what_is_known_of_languages_concepts_and_forms(tmp_path):
    (tmp_path / "words.tsv").write_text(METADATA)
    result = run_cluster(tmp_path / "words.tsv", "--format", "cldf", "-o", tmp_path / "cldf")
    assert "the columns FAMILY are not in the CLDF Wordlist" in flat(result.stderr)
    assert "Latitude: CLDF does not allow '999'; such values are left out" in flat(result.stderr)
    dataset = validated(tmp_path / "cldf")
    dutch, german = dataset["LanguageTable"]
    assert (dutch["ISO639P3code"], dutch["Glottocode"], float(dutch["Latitude"])) == ("nld", "dutc1256", 52)
    assert (german["Glottocode"], german["Latitude"]) == ("stan1295", None)
    assert [row["Concepticon_ID"] for row in dataset["ParameterTable"]] == ["1277"]
    forms = [(row["Comment"], row["Source"]) for row in dataset["FormTable"]]
    assert forms == [(None, ["Smith2000[12]", "Brown_2001"]), ("a note", ["Smith2000"])]
    assert {source.id: source["title"] for source in dataset.sources} == {
        "Smith2000": "Smith2000",
        "Brown_2001": "Brown 2001",
    }


def test_a_source_that_the_bibliography_has_not_is_none_of_those_that_it_has(tmp_path):
    pytest.importorskip("pycldf")
    (tmp_path / "sources.bib").write_text("@book{smith_2000, title={Another}}")
    said = ["Smith (2000)", "SMITH 2000", "Smith_2000[7]"]
    forms = [
        CldfForm(Word("A", "hand", "h a n d", "1", str(n), ""), "hand", [], "", {"Source": one})
        for n, one in enumerate(said)
    ]
    write_cldf(tmp_path / "cldf", forms, method="none", bibliography=tmp_path / "sources.bib")
    dataset = validated(tmp_path / "cldf")
    titles = {source.id: source["title"] for source in dataset.sources}
    cited = [row["Source"][0].partition("[")[0] for row in dataset["FormTable"]]
    assert [titles[key] for key in cited] == ["Smith (2000)", "SMITH 2000", "Another"]


LANGUAGE_COLUMNS = ("ID", "Name", "Glottocode", "Longitude", "Family")


def test_from_cldf_to_cldf_metadata_and_sources_stay_and_what_is_left_out_is_named(tmp_path):
    dataset = pytest.importorskip("pycldf").Wordlist.in_dir(tmp_path / "given")
    dataset.add_component("LanguageTable", "Family")
    dataset.add_component("ParameterTable", "http://cldf.clld.org/v1.0/terms.rdf#concepticonReference")
    dataset.add_columns("FormTable", "Loan", "Gloss")
    dataset.add_sources("@book{Kluge, title={Etymologie}, year={2002}}")
    form = {"Parameter_ID": "P", "Form": "hant", "Comment": "a\nb", "Source": ["Kluge[7]"], "Loan": "yes"}
    languages = [("L", "German", "stan1295", "12.46", "IE"), ("M", "Dutch", "dutc1256", "5", "IE")]
    dataset.write(
        FormTable=[form | {"ID": name, "Language_ID": name, "Gloss": "hand"} for name in "LM"],
        LanguageTable=[dict(zip(LANGUAGE_COLUMNS, row, strict=True)) for row in languages],
        ParameterTable=[{"ID": "P", "Name": "hand", "Concepticon_ID": "1277"}],
    )
    table = read_cldf_table(tmp_path / "given")
    assert dict(zip(table.header.cells[8:], table.rows[0].cells[8:], strict=True)) == {
        "COMMENT": "a b",
        "SOURCE": "Kluge[7]",
        "Loan": "yes",
        "INPUT_Gloss": "hand",
        "LONGITUDE": "12.46",
        "GLOTTOCODE": "stan1295",
        "Family": "IE",
        "CONCEPTICON_ID": "1277",
    }
    result = run_cluster(tmp_path / "given", "--format", "cldf", "-o", tmp_path / "again")
    assert "the columns Loan, INPUT_Gloss, Family are not in the CLDF Wordlist" in flat(result.stderr)
    again = validated(tmp_path / "again")
    (language, _), (concept,), (word, _) = (again[name] for name in ("LanguageTable", "ParameterTable", "FormTable"))
    assert (language["Name"], language["Glottocode"], float(language["Longitude"])) == ("German", "stan1295", 12.46)
    assert (concept["Name"], concept["Concepticon_ID"]) == ("hand", "1277")
    assert (word["Comment"], word["Source"]) == ("a b", ["Kluge[7]"])
    assert again.sources["Kluge"]["year"] == "2002"


def test_comments_of_forms_languages_and_concepts_are_three_columns(tmp_path):
    pytest.importorskip("pycldf")
    forms = "ID,Language_ID,Parameter_ID,Form,Comment\n1,nl,hand,hand,of a form\n2,de,hand,hant,\n"
    languages = "ID,Name,Comment\nnl,Dutch,of a language\nde,German,\n"
    concepts = "ID,Name,Comment\nhand,HAND,of a concept\n"
    for name, content in (("forms", forms), ("languages", languages), ("parameters", concepts)):
        (tmp_path / f"{name}.csv").write_text(content)
    table = read_cldf_table(tmp_path)
    found = dict(zip(table.header.cells, table.rows[0].cells, strict=True))
    assert len(found) == len(table.header.cells)
    cluster(tmp_path, "--format", "edictor", "-o", tmp_path / "sets.tsv")
    for row in (found, read(tmp_path / "sets.tsv")[0]):
        assert (row["COMMENT"], row["INPUT_Comment"]) == ("of a form", "of a language")
        assert row["INPUT_INPUT_Comment"] == "of a concept"


def test_partial_cognate_sets_stand_in_the_order_of_their_slices(tmp_path):
    dataset = pytest.importorskip("pycldf").Wordlist.in_dir(tmp_path)
    dataset.add_component("CognateTable")
    form = {"Parameter_ID": "x", "Form": "a b", "Segments": ["a", "b"]}
    slices = [("f", "9", "2:2"), ("f", "10", "1:1"), ("g", "9", "1:1"), ("g", "10", "2:2")]
    dataset.write(
        FormTable=[form | {"ID": name, "Language_ID": name} for name in "fg"],
        CognateTable=[
            {"ID": str(number), "Form_ID": name, "Cognateset_ID": own, "Segment_Slice": [where]}
            for number, (name, own, where) in enumerate(slices)
        ],
    )
    table = read_cldf_table(tmp_path)
    assert [row.cells[-2:] for row in table.rows] == [["1", "10 9"], ["1", "9 10"]]


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


@pytest.mark.parametrize(
    ("options", "name"),
    [((), "CLUSTER"), (("--partial",), "COGIDS"), (("--partial", "--across", "concepts"), "CROSSIDS")],
)
def test_no_column_is_written_twice(compounds, tmp_path, options, name):
    first, *rest = COMPOUNDS.splitlines()
    (tmp_path / "with.tsv").write_text("\n".join([f"{first}\t{name}", *(f"{line}\t1" for line in rest)]))
    with pytest.raises(DataError, match=rf"with\.tsv:1: there is a column {name} already"):
        cluster(tmp_path / "with.tsv", *options)
    cluster(tmp_path / "with.tsv", *options, "--format", "edictor", "-o", tmp_path / "sets.tsv")
    header = list(read(tmp_path / "sets.tsv")[0])
    assert len(header) == len(set(header))


def test_morphemes_are_not_called_words_in_the_summary(compounds, tmp_path):
    shown = cluster(compounds, "--partial", "-o", tmp_path / "sets.tsv")
    assert re.search(r"words +6\s+morphemes +8\s", shown)


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
