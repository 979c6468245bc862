"""Data sets with names, from the command line."""

import hashlib
import json
import re

import pytest
from typer.testing import CliRunner

import nsed
from nsed.__main__ import app
from nsed.datasets.catalogue import DATASETS, DataFile, DataSet
from nsed.datasets.splits import unseen_validation
from nsed.errors import ArgumentError, DownloadError, NsedError, UnknownNameError

PARTS = {"train": "A  AH\nA  EY\nB  B IY\n", "valid": "A  AH\nC  S IY\n", "test": "D  D IY\n"}
LETTERS = ("graphemes", "tokens")


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with the files of a small dictionary, whose address answers nobody, and an empty cache beside it."""
    monkeypatch.setenv("NSED_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("NSED_DATA", raising=False)
    (tmp_path / "mine" / "toy").mkdir(parents=True)
    files = []
    for part, content in PARTS.items():
        (tmp_path / "mine" / "toy" / f"{part}.dict").write_text(content)
        digest = hashlib.sha256(content.encode()).hexdigest()
        files.append(DataFile(f"toy/{part}.dict", f"http://127.0.0.1:9/{part}", digest, len(content)))
    toy = DataSet(
        "Letters", "5", "letter", "free", "nobody", unseen_validation, tuple(files), None, ("graphemes", "tokens")
    )
    monkeypatch.setitem(DATASETS._entries, "toy", toy)
    return tmp_path / "mine"


def where(name):
    return re.search(
        rf"^{name} .*?(cached|in NSED_DATA|embedded|to be fetched)", run("data", "list"), flags=re.MULTILINE
    )[1]


def test_a_set_is_listed_fetched_and_exported(folder, tmp_path, monkeypatch):
    assert (where("toy"), where("rules")) == ("to be fetched", "embedded")
    paths = run("data", "fetch", "toy", "--from", folder).split()
    assert paths == [str(tmp_path / "cache" / "toy" / f"{part}.dict") for part in PARTS]
    assert where("toy") == "cached"
    shown = CliRunner().invoke(app, ["data", "export", "toy", str(tmp_path / "parts")])
    assert "to learn from them: nsed train" in shown.stderr
    assert (tmp_path / "parts" / "validation.tsv").read_text() == "source\ttarget\nC\tS IY\n"
    assert list(nsed.read_pairs(tmp_path / "parts" / "test.tsv")) == [("D", "D IY")]
    report = json.loads(run("data", "check", "toy", "--json"))
    assert [part["pairs"] for part in report["parts"]] == [3, 1, 1]
    assert report["leaks"] == 0
    monkeypatch.setenv("NSED_DATA", str(folder))
    assert where("toy") == "in NSED_DATA"


def test_all_that_is_known_of_a_set(folder):
    shown = run("data", "list", "toy")
    for file in DATASETS["toy"].files:
        assert f"{file.name}: {file.url} (SHA-256 {file.sha256})" in shown
    assert "licence: free" in shown


def test_without_a_network_every_file_is_named(tmp_path, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DownloadError) as raised:
        run("data", "fetch", "toy")
    for file in DATASETS["toy"].files:
        assert f"{file.url}\n    as {tmp_path / 'cache' / file.name}\n    SHA-256 {file.sha256}" in str(raised.value)


def test_labels_and_symbols_of_exported_rules(tmp_path):
    run("data", "export", "rules-matching", tmp_path / "parts")
    assert set(nsed.read_pairs(tmp_path / "parts" / "test.tsv").labels) == {True, False}


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        (["fetch", "toi"], UnknownNameError, "data set: got 'toi', expected one of: .* Did you mean 'toy'"),
        (["fetch", "rules"], ArgumentError, "nsed data export rules FOLDER writes it"),
        (["export", "toy", "parts"], NsedError, "toy is not here yet: nsed data fetch toy"),
        (["check", "tio"], UnknownNameError, "data set: got 'tio'"),
        (["list", "tio"], UnknownNameError, "data set: got 'tio'"),
        (["cognates", "cognates-ie", "pairs"], NsedError, "cognates-ie is not here yet: nsed data fetch cognates-ie"),
    ],
)
def test_what_is_wrong_is_said(arguments, kind, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=message):
        run("data", *arguments)
    assert not list(tmp_path.glob("pa*"))


def test_cognates_of_a_named_list(tmp_path, monkeypatch):
    rows = [f"{one}\t{concept}\tx {concept} {one}\t{concept + 1}" for concept in range(10) for one in "XYZ"]
    path = tmp_path / "mine" / "toy" / "words.tsv"
    path.write_text("\n".join(["DOCULECT\tCONCEPT\tTOKENS\tCOGID", *rows]))
    file = DataFile("toy/words.tsv", "", hashlib.sha256(path.read_bytes()).hexdigest(), 0)
    monkeypatch.setitem(DATASETS._entries, "words", DataSet("", "", "", "", "", None, (file,)))
    monkeypatch.setenv("NSED_DATA", str(tmp_path / "mine"))
    run("data", "cognates", "words", tmp_path / "one", "--protocol", "languages", "--hold-out-language", "Z")
    assert "Z" not in nsed.read_pairs(tmp_path / "one" / "training.tsv").source_languages
    run("data", "export", "words", tmp_path / "three")
    assert len(nsed.read_pairs(tmp_path / "three" / "training.tsv")) == 7 * 3


def test_cognates_of_a_cldf_word_list(tmp_path):
    pycldf = pytest.importorskip("pycldf")
    dataset = pycldf.Wordlist.in_dir(tmp_path / "cldf")
    dataset.add_component("CognateTable")
    rows = [(f"{concept}-{language}", concept, language) for concept in range(10) for language in "XYZ"]
    dataset.write(
        FormTable=[
            {"ID": name, "Language_ID": language, "Parameter_ID": str(concept), "Form": f"{concept}{language}"}
            for name, concept, language in rows
        ],
        CognateTable=[{"ID": name, "Form_ID": name, "Cognateset_ID": str(concept)} for name, concept, _ in rows],
    )
    run("data", "cognates", tmp_path / "cldf", tmp_path / "pairs", "--protocol", "concepts")
    assert len(nsed.read_pairs(tmp_path / "pairs" / "training.tsv")) == 7 * 3
    with pytest.raises(ArgumentError, match="--classes: got CLASS, expected nothing with CLDF"):
        run("data", "cognates", tmp_path / "cldf", tmp_path / "pairs", "--classes", "CLASS")
