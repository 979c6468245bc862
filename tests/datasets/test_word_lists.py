"""Word lists of LingPy and of CLDF: what is read, and what is said of those that are wrong."""

import pytest

from nsed.datasets import Word, read_cldf, read_word_list
from nsed.datasets import cldf as cldf_module
from nsed.datasets.word_list import doubtful_classes
from nsed.errors import DataError, NsedError

HAND = [Word("Dutch", "hand", "h ɑ n t", "1"), Word("German", "hand", "h a n t", "1")]
HEADER = "ID\tDOCULECT\tCONCEPT\tTOKENS\tCOGID\n"


@pytest.fixture
def word_list(tmp_path):
    def make(content):
        path = tmp_path / "words.tsv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


GOOD = {
    "plain": f"{HEADER}1\tDutch\thand\th ɑ n t\t1\n2\tGerman\thand\th a n t\t1\n",
    "windows": f"\ufeff{HEADER}1\tDutch\thand\th ɑ n t\t1\n2\tGerman\thand\th a n t\t1\n".replace("\n", "\r\n"),
    "written by LingPy": (
        "# Wordlist\n\n# META\n@author:somebody\n<tre>\n(Dutch,German);\n</tre>\n# DATA\n"
        f"{HEADER}#\n1\tDutch\thand\th ɑ n t\t1\n#\n2\tGerman\thand\th a n t\t1\n\t\t\t\t\n"
    ),
    "other names": "Cogid\tlanguage\tgloss\tSegments\n1\tDutch\thand\th ɑ n t\n1\tGerman\thand\th a n t\n",
    "a transcription": "cogid\ttaxa\tconcept\tIPA\n1\tDutch\thand\thɑnt\n1\tGerman\thand\th a n t\n",
    "tokens go before": (
        "doculect\tconcept\tipa\ttokens\tcogid\nDutch\thand\tx\th ɑ n t\t1\nGerman\thand\tx\th a n t\t1\n"
    ),
}


@pytest.mark.parametrize("case", GOOD)
def test_good_lists(word_list, case):
    assert read_word_list(word_list(GOOD[case])) == HAND


BAD = {
    "a missing column": (
        HEADER.replace("CONCEPT", "X"),
        r"words\.tsv:1: no column CONCEPT or GLOSS .*; there are: ID",
    ),
    "after comments": (f"# a\n@b\n{HEADER.replace('COGID', 'X')}", r"words\.tsv:3: no column COGID; there are: ID,"),
    "no header": (
        "1\tDutch\thand\th ɑ n t\t1\n",
        r"words\.tsv:1: no column DOCULECT .*, nor CONCEPT .*: 1, Dutch, .* a word already, put a header above",
    ),
    "CSV": (
        "ID,DOCULECT,CONCEPT,TOKENS,COGID\n1,Dutch,hand,h ɑ n t,1\n",
        r"words\.tsv:1: no column .*The row has no tab but commas: write the list with a tab .* not as CSV",
    ),
    "several other names": (
        HEADER.replace("CONCEPT", "X").replace("TOKENS", "Y"),
        r":1: no column CONCEPT .* nor TOKENS .*; there are: ID, DOCULECT, X, Y, COGID\. Rename",
    ),
    "a set of all words in none": (
        f"{HEADER}1\tDutch\thand\th a\t0\n",
        r"words\.tsv:2: no cognate class: .*An empty cell and 0 are none: number the word",
    ),
    "no sounds": (HEADER.replace("TOKENS", "X"), r"words\.tsv:1: no column TOKENS or SEGMENTS or IPA"),
    "only a header": (HEADER, r"words\.tsv:1: there is a header but no row below it: 'ID.tDOCULECT"),
    "only comments": ("# nothing\n", r"words\.tsv: the file is empty"),
    "too few fields": (f"{HEADER}1\tDutch\thand\n", r"words\.tsv:2: expected 5 columns .*, found 3: '1.tDutch.thand'"),
    "too many fields": (
        f"{HEADER}\n1\tDutch\thand\th a\t1\t2\n",
        r"words\.tsv:3: expected 5 columns separated by a tab, found 6: '1.tDutch",
    ),
    "an empty cell": (
        f"{HEADER}1\tDutch\thand\t\t1\n",
        r"words\.tsv:2: no tokens: 'Dutch.thand.t.t1'\. Fill the cell",
    ),
    "no class": (f"{HEADER}1\tDutch\thand\th a\t\n", r"words\.tsv:2: no cognate class: 'Dutch.thand.th a.t'"),
    "mixed encodings": (
        HEADER.encode() + "1\tDutch\thand\th ɑ\t1\n".encode() + "2\tFrench\tété\tx\t1\n".encode("latin-1"),
        r"words\.tsv:3: not UTF-8 text: .*'2\tFrench\t.xe9t.xe9",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_lists_are_named_with_their_line(word_list, case):
    content, message = BAD[case]
    with pytest.raises(DataError, match=message):
        read_word_list(word_list(content))


@pytest.fixture
def cldf(tmp_path):
    """A CLDF Wordlist of two forms, as pycldf writes it."""
    pycldf = pytest.importorskip("pycldf")
    dataset = pycldf.Wordlist.in_dir(tmp_path / "cldf")
    dataset.add_component("CognateTable")
    forms = [
        ("f1", "Dutch", "hɑnt", "h ɑ n t"),
        ("f2", "German", "hant", "h a n t"),
        ("f3", "Greek", "çeri", "ç e r i"),
    ]
    dataset.write(
        FormTable=[
            {"ID": name, "Language_ID": language, "Parameter_ID": "hand", "Form": form, "Segments": segments.split()}
            for name, language, form, segments in forms
        ],
        CognateTable=[{"ID": name, "Form_ID": name, "Cognateset_ID": "1"} for name in ("f1", "f2")],
    )
    return tmp_path / "cldf"


@pytest.mark.parametrize("name", [".", "Wordlist-metadata.json"])
def test_forms_with_cognate_sets(cldf, name):
    assert read_cldf(cldf / name) == HAND


def test_words_of_cldf_do_not_lose_their_ids_and_the_names_of_their_concepts(tmp_path):
    dataset = pytest.importorskip("pycldf").Wordlist.in_dir(tmp_path)
    dataset.add_component("ParameterTable")
    dataset.add_component("CognateTable")
    dataset.write(
        FormTable=[{"ID": "f1", "Language_ID": "L", "Parameter_ID": "c7", "Form": "f"}],
        ParameterTable=[{"ID": "c7", "Name": "the hand"}],
        CognateTable=[{"ID": "1", "Form_ID": "f1", "Cognateset_ID": "1"}],
    )
    assert [(word.id, word.concept, word.gloss) for word in read_cldf(tmp_path)] == [("f1", "c7", "the hand")]


def change(path, *replacements):
    content = path.read_bytes()
    for old, new in replacements:
        assert old in content
        content = content.replace(old, new)
    path.write_bytes(content)


def test_forms_without_segments(cldf):
    change(cldf / "forms.csv", (b",h a n t,", b",,"))
    assert read_cldf(cldf) == HAND


def test_forms_that_have_cognate_sets_themselves(tmp_path):
    pycldf = pytest.importorskip("pycldf")
    dataset = pycldf.Wordlist.in_dir(tmp_path)
    dataset.write(FormTable=[{"ID": "1", "Language_ID": "L", "Parameter_ID": "P", "Form": "f"}])
    with pytest.raises(DataError, match="neither a CognateTable nor cognate sets in the FormTable"):
        read_cldf(tmp_path)
    dataset.add_columns("FormTable", "http://cldf.clld.org/v1.0/terms.rdf#cognatesetReference")
    form = {"Language_ID": "Dutch", "Parameter_ID": "hand", "Form": "hɑnt"}
    dataset.write(FormTable=[{"ID": "1", "Cognateset_ID": "1", **form}, {"ID": "2", **form}])
    assert read_cldf(tmp_path) == HAND[:1]


BAD_CLDF = {
    "a missing column": ("forms.csv", b"Segments", b"Sgmnts", r"forms\.csv:1: no column Segments; there are: ID, Lang"),
    "too few fields": (
        "forms.csv",
        b",h a n t,,",
        b"",
        r"forms\.csv:3: expected 7 columns .*, found 4: 'f2,German",
    ),
    "an unknown form": ("cognates.csv", b"f2,f2", b"f2,f9", r"cognates\.csv:3: there is no form 'f9' in the FormTable"),
    "a form twice": ("forms.csv", b"f2,", b"f1,", r"forms\.csv:3: a second form 'f1'"),
    "an empty cell": ("cognates.csv", b"f2,1", b"f2,", r"cognates\.csv:3: no cognate class: 'German.thand.th a n t.t'"),
    "mixed encodings": ("forms.csv", b"hant", b"h\xe4nt", r"forms\.csv:3: not UTF-8 text: .*h.xe4nt"),
    "broken metadata": (
        "Wordlist-metadata.json",
        b"{",
        b"[",
        r"metadata\.json: cannot be read as CLDF metadata",
    ),
}


@pytest.mark.parametrize("case", BAD_CLDF)
def test_bad_cldf_is_named_with_its_line(cldf, case):
    name, old, new, message = BAD_CLDF[case]
    change(cldf / name, (old, new))
    with pytest.raises(DataError, match=message):
        read_cldf(cldf)


def test_cldf_of_only_a_header(cldf):
    path = cldf / "cognates.csv"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(DataError, match=r"cognates\.csv:1: there is a header but no row below it: 'ID,Form_ID"):
        read_cldf(cldf)


def test_no_cldf_at_all(cldf, tmp_path, monkeypatch):
    (cldf / "forms.csv").unlink()
    with pytest.raises(DataError, match=r"forms\.csv: cannot be read: No such file"):
        read_cldf(cldf)
    with pytest.raises(DataError, match=r"expected one file \*-metadata.json, found none"):
        read_cldf(tmp_path)
    with pytest.raises(DataError, match=r"none-metadata.json: cannot be read as CLDF metadata: .*No such file"):
        read_cldf(tmp_path / "none-metadata.json")
    monkeypatch.setattr(cldf_module.util, "find_spec", lambda _: None)
    with pytest.raises(NsedError, match=r"`pycldf` is not installed: pip install .*\[cognates\]"):
        read_cldf(cldf)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "cannot be read as CLDF metadata"),
        (b"null", "cannot be read as CLDF metadata"),
        (b"{}", "cannot be read as CLDF metadata"),
        (b'{"dc:conformsTo": "Wordlist"}', "cannot be read as CLDF metadata"),
        (b'{"@context": 9, "tables": []}', "cannot be read as CLDF metadata: AssertionError: 9"),
        (b"[" * 100_000, "cannot be read as CLDF metadata"),
    ],
)
def test_json_that_is_no_metadata_is_named(cldf, content, message):
    (cldf / "Wordlist-metadata.json").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_cldf(cldf)


@pytest.mark.parametrize("delimiter", [b'"ab"', b'""', b'"\\n"'])
def test_a_delimiter_of_no_or_two_characters_is_named(cldf, delimiter):
    change(cldf / "Wordlist-metadata.json", (b'"tables": [', b'"dialect": {"delimiter": %s}, "tables": [' % delimiter))
    with pytest.raises(DataError, match=r"has the delimiter .*, expected , or so|cannot be read as CLDF metadata"):
        read_cldf(cldf)


def test_cldf_with_another_delimiter(cldf):
    change(cldf / "Wordlist-metadata.json", (b'"tables": [', b'"dialect": {"delimiter": ";"}, "tables": ['))
    for name in ("forms.csv", "cognates.csv"):
        change(cldf / name, (b",", b";"))
    assert read_cldf(cldf) == HAND
    change(cldf / "cognates.csv", (b"f2;f2;1;", b"f2;f2;1;;;;;;"))
    with pytest.raises(DataError, match=r"cognates\.csv:3: expected 6 columns separated by a ';', found"):
        read_cldf(cldf)


def test_classes_that_are_none_are_doubted_and_true_ones_are_not():
    """A number that begins again with each concept, and the concept itself, are no classes of one origin."""
    places = [(concept, place) for concept in range(12) for place in range(4)]

    def doubts(name):
        return doubtful_classes([Word(f"L{at}", f"c{concept}", "a", name(concept, at)) for concept, at in places])

    assert doubts(lambda concept, at: f"{concept}.{at // 2}") == []
    (within,) = doubts(lambda concept, at: str(at // 2))
    assert within.startswith("100% of the words are in classes that span concepts, such as 0, of 12 concepts")
    (whole,) = doubts(lambda concept, at: str(concept))
    assert whole.startswith("all words of 100% of the concepts are of one class")
    assert doubts(lambda concept, at: "") == []


@pytest.mark.parametrize("name", [b"\\u0000.csv", b"\\ud800.csv"])
def test_a_table_whose_name_no_file_can_have_is_named(cldf, name):
    change(cldf / "Wordlist-metadata.json", (b"cognates.csv", name))
    with pytest.raises(DataError, match=r"cannot be read as CLDF metadata: .*(null|surrogates)"):
        read_cldf(cldf)


def test_a_long_form_that_is_unknown_is_shortened(cldf):
    change(cldf / "cognates.csv", (b"f2,f2", b"f2," + b"9" * 5000))
    with pytest.raises(DataError, match=r"there is no form '9+\.\.\. \(\d+ characters\) in the FormTable") as caught:
        read_cldf(cldf)
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("ending", [".parquet", ".xlsx"])
def test_a_table_that_is_no_text_is_said_to_be_no_word_list(tmp_path, ending):
    path = tmp_path / f"words{ending}"
    path.write_bytes(b"PAR1\xff")
    with pytest.raises(DataError, match=rf"a {ending} file is no word list, which is TSV, .*, or CLDF: write"):
        read_word_list(path)
