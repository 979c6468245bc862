"""Files of pairs: what is read, and what is said of files that are wrong."""

import re
import subprocess
import sys
import tracemalloc
import warnings
from itertools import chain, pairwise

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from nsed.datasets.word_list import read_word_list
from nsed.errors import ArgumentError, DataError, HeaderWarning
from nsed.text import read_pairs
from nsed.text.readers import read_sources
from nsed.text.readers.batches import BatchOptions, source_batches
from nsed.text.readers.delimited import COMMA, Row, looks_like_header, named_columns
from nsed.text.readers.dictionaries import read_pronunciations
from nsed.text.texts import Texts


@pytest.fixture
def write(tmp_path):
    def make(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return make


@pytest.mark.parametrize("path", [3, None, [("a", "b")]])
def test_what_is_no_path_is_told_how_to_be_pairs(path):
    for read in (read_pairs, read_sources):
        with pytest.raises(ArgumentError, match=r"path: got .*, expected the path of a file .* nsed.Pairs.of\("):
            read(path)


GOOD = {
    "tsv": ("a.tsv", "ab\tAB\ncd\tCD\n", [("ab", "AB"), ("cd", "CD")], None),
    "no last line end": ("a.tsv", "ab\tAB\ncd\tCD", [("ab", "AB"), ("cd", "CD")], None),
    "windows": ("a.tsv", b"\xef\xbb\xbfab\tAB\r\n\r\ncd\tCD\r\n", [("ab", "AB"), ("cd", "CD")], None),
    "labels": ("a.tsv", "a\tA\t1\nb\tX\t0\n", [("a", "A"), ("b", "X")], [True, False]),
    "labels in words": ("a.tsv", "a\tA\tTrue\nb\tX\t NO \n", [("a", "A"), ("b", "X")], [True, False]),
    "header": ("a.tsv", "source\ttarget\tlabel\na\tA\tyes\n", [("a", "A")], [True]),
    "short header": ("a.tsv", "Source\tTarget\na\tA\n", [("a", "A")], None),
    "quotes in tsv": ("a.tsv", "\"a\t'A\n", [('"a', "'A")], None),
    "empty target": ("a.tsv", "a\t\n\tb\n", [("a", ""), ("", "b")], None),
    "csv": ("a.csv", '"a,b",AB\nc,"C\nC"\n', [("a,b", "AB"), ("c", "C\nC")], None),
    "dict": (
        "a.dict",
        ";;; comment\nREAD  R EH D\nREAD(2)  R IY D\nd'arc\tD AA R K # name\n",
        [("READ", "R EH D"), ("READ", "R IY D"), ("d'arc", "D AA R K")],
        None,
    ),
}


@pytest.mark.parametrize("case", GOOD)
def test_good_files(write, case):
    name, content, expected, labels = GOOD[case]
    pairs = read_pairs(write(name, content))
    assert list(pairs) == expected
    assert pairs.labels == labels


BAD = {
    "one column": ("a.tsv", "a\tA\nb\n", r"a\.tsv:2: expected 2 columns separated by a tab, found 1: 'b'"),
    "commas in tsv": ("a.tsv", "a,A\n", r"a\.tsv:1: expected at least 2 columns separated by a tab, found 1: 'a,A'"),
    "empty": ("a.tsv", "", r"a\.tsv: the file is empty"),
    "only empty lines": ("a.csv", "\n\n", r"a\.csv: the file is empty"),
    "label": ("a.tsv", "a\tA\tmaybe\n", r"a\.tsv:1: label 'maybe' is none of 1, true, yes, 0, false, no"),
    "label missing": ("a.tsv", "a\tA\t1\nb\tB\n", r"a\.tsv:2: expected 3 columns .*, found 2: 'b.*B'"),
    "a column too many": (
        "a.csv",
        "a,A\nb,B,0\n",
        r"a\.csv:2: expected 2 columns separated by a comma, found 3: 'b,B,0'",
    ),
    "only a header": (
        "a.tsv",
        "source\ttarget\n",
        r"a\.tsv:1: there is a header but no pair below it: 'source.*target'",
    ),
    "no label": ("a.tsv", "a\tA\tnote\n", r"label 'note' is none of .*; if the third column holds no labels, name"),
    "latin": ("a.tsv", b"a\tA\nb\t\xe9\n", r"a\.tsv:2: not UTF-8 text: .*: 'b\t\\xe9'"),
    "utf-16": ("a.tsv", "a\tA\n".encode("utf-16"), r"a\.tsv:1: not UTF-8 text: .*: '\\xff\\xfea.* UTF-16: convert it"),
    "semicolons": ("a.csv", "a;A\n", r"a\.csv:1: expected at least 2 columns .*: 'a;A'. There are semicolons in it"),
    "tabs in csv": ("a.csv", "a\tA\n", r"There are tabs in it: let the name of the file end in \.tsv"),
    "latin csv": ("a.csv", b"a,A\nb,B\nc,\xe9\n", r"a\.csv:3: not UTF-8 text: .*: 'c,\\xe9'"),
    "latin dict": ("a.dict", b"A  AH\nCAF\xc9  K AE F\n", r"a\.dict:2: not UTF-8 text: .*: 'CAF\\xc9  K AE F'"),
    "ending": ("a.xlsx", "", r"a\.xlsx: no reader for '\.xlsx'; known: \.arrow, \.csv"),
    "quotes": ("a.csv", 'a,"A\n', r"a\.csv:1: not readable as CSV: unexpected end of data"),
    "word alone": ("a.dict", "READ  R EH D\nWORD\n", r"a\.dict:2: expected a word and its phones, found 'WORD'"),
    "empty dict": ("a.dict", ";;; nothing\n", r"a\.dict: the file is empty"),
    "a column twice": (
        "a.tsv",
        "source\ttarget\tlabel\tlabel\na\tA\t1\t0\n",
        r"a\.tsv:1: several columns are named 'label', expected one; there are: source, target, label, label. Rename",
    ),
    "a column twice in csv": (
        "a.csv",
        "source,target,source\na,A,b\n",
        r"a\.csv:1: several columns are named 'source'",
    ),
    "not parquet": ("a.parquet", "a\tA\n", r"a\.parquet: cannot be read: "),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_named_with_their_line(write, case):
    name, content, message = BAD[case]
    with pytest.raises(DataError, match=message):
        read_pairs(write(name, content))


def test_pronunciations_of_sigmorphon_and_wikipron(write):
    content = "\ufeffcolour\tk ʌ l ɚ\r\nread\tɹ ɛ d\nread\tɹ iː d\n\nread\tɹ ɛ d\n天\ttʰ i ɛ n ⁵⁵ \n"
    pairs = read_pronunciations(write("eng.tsv", content))
    assert list(pairs) == [("colour", "k ʌ l ɚ"), ("read", "ɹ ɛ d"), ("read", "ɹ iː d"), ("天", "tʰ i ɛ n ⁵⁵")]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tA\nb\n", r"a\.tsv:2: expected 2 columns separated by a tab, found 1: 'b'"),
        ("a\tA\nb\tB\t1\n", r"a\.tsv:2: expected 2 columns separated by a tab, found 3: 'b.tB.t1'"),
        ("a\tA\nb\t \n", r"a\.tsv:2: expected a word and its sounds, found 'b.t '"),
        ("\tA\n", r"a\.tsv:1: expected a word and its sounds, found '.tA'"),
        (b"a\tA\n\nb\t\xe9\n", r"a\.tsv:3: not UTF-8 text: .*: 'b\t.xe9'"),
        ("\n", r"a\.tsv: the file is empty; expected lines with a word, a tab and its sounds"),
    ],
)
def test_bad_pronunciations(write, content, message):
    with pytest.raises(DataError, match=message):
        read_pronunciations(write("a.tsv", content))


@pytest.mark.parametrize("name", ["none.tsv", "none.csv", "none.dict", "none.parquet", "none.arrow"])
def test_missing_file(tmp_path, name):
    with pytest.raises(DataError, match=rf"{name}: cannot be read: No such file"):
        read_pairs(tmp_path / name)


@pytest.mark.parametrize("name", ["a.tsv", "a.csv"])
def test_columns_are_chosen_by_name(write, name):
    rows = [["id", "ipa", "word", "same"], ["1", "kæt", "cat", "1"], ["2", "dɒɡ", "dog", "0"]]
    path = write(name, "\n".join(("\t" if name.endswith("tsv") else ",").join(row) for row in rows))
    pairs = read_pairs(path, columns=["word", "ipa", "same"])
    assert list(pairs) == [("cat", "kæt"), ("dog", "dɒɡ")]
    assert pairs.labels == [True, False]
    with pytest.raises(DataError, match=r":1: no column named 'phones'; the header has: id, ipa, word, same"):
        read_pairs(path, columns=["word", "phones"])


def test_a_column_that_is_there_twice_is_not_read_as_if_it_were_there_once(write):
    path = write("a.tsv", "word\tipa\tword\na\tA\tb\n")
    with pytest.raises(DataError, match=r"a\.tsv:1: several columns are named 'word', expected one"):
        read_pairs(path, columns=["word", "ipa"])
    with pytest.raises(DataError, match=r"a\.tsv:1: several columns are named 'word', expected one"):
        read_sources(path, column="word")
    with pytest.raises(DataError, match=r"words\.tsv:1: several columns are named 'TOKENS', expected one"):
        read_word_list(write("words.tsv", "DOCULECT\tCONCEPT\tTOKENS\tTOKENS\tCOGID\nA\tb\tc\td\te\n"))
    twice = pa.Table.from_arrays([pa.array(["a"])] * 3, names=["source", "target", "source"])
    pyarrow.feather.write_feather(twice, path.with_suffix(".arrow"))
    with pytest.raises(DataError, match=r"a\.arrow: several columns are named 'source', expected one"):
        read_pairs(path.with_suffix(".arrow"))


def test_further_columns_are_kept_where_they_are_wanted(write, tmp_path):
    text = write("a.tsv", "source\ttarget\tid\t\tid\nab\tba\t1\tx\t2\n")
    assert read_pairs(text).others is None
    assert read_pairs(text, keep_others=True).others.to_pylist() == [{"id": "1", "column_4": "x", "id_5": "2"}]
    bare = read_pairs(write("b.tsv", "ab\tba\t1\tnote\n"), keep_others=True)
    assert (bare.labels, bare.others.to_pylist()) == ([True], [{"column_4": "note"}])
    pyarrow.parquet.write_table(pa.table({"source": ["a"], "id": [7], "target": ["b"]}), tmp_path / "a.parquet")
    typed = read_pairs(tmp_path / "a.parquet", keep_others=True)
    assert typed.others.schema.field("id").type == pa.int64()
    assert typed.chosen([0, 0]).others["id"].to_pylist() == [7, 7]


def test_every_row_with_a_null_is_named_or_rejected(tmp_path):
    source = pa.array(["a", None, "b", None], pa.string())
    pyarrow.parquet.write_table(pa.table({"source": source, "target": list("wxyz")}), tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"a\.parquet:2: column 'source': expected text, found None .2 rows .*: 2, 4"):
        read_pairs(tmp_path / "a.parquet")
    rejects = []
    assert list(read_pairs(tmp_path / "a.parquet", on_reject=rejects.append)) == [("a", "w"), ("b", "y")]
    assert [(reject.row, reject.cells) for reject in rejects] == [(2, [None, "x"]), (4, [None, "z"])]


def test_a_dictionary_has_no_columns_to_choose(write):
    with pytest.raises(ArgumentError, match=r"columns: got .* has no header"):
        read_pairs(write("a.dict", "A  AH\n"), columns=["word", "phones"])


@pytest.mark.parametrize(
    ("name", "save"), [("a.parquet", pa.parquet.write_table), ("a.arrow", pa.feather.write_feather)]
)
def test_arrow_files(tmp_path, name, save):
    save(pa.table({"source": ["a", "b"], "target": ["A", "B"], "label": [1, 0], "n": [1, 2]}), tmp_path / name)
    pairs = read_pairs(tmp_path / name)
    assert list(pairs) == [("a", "A"), ("b", "B")]
    assert pairs.labels == [True, False]
    assert read_pairs(tmp_path / name, columns=["target", "source"]).labels is None
    save(pa.table({"source": pa.array([], pa.string()), "target": pa.array([], pa.string())}), tmp_path / f"no-{name}")
    with pytest.raises(DataError, match=f"no-{name}: there are columns but no row below them: source, target"):
        read_pairs(tmp_path / f"no-{name}")
    with pytest.raises(DataError, match="no column named 'ipa'; the file has: source, target, label, n"):
        read_pairs(tmp_path / name, columns=["source", "ipa"])
    with pytest.raises(DataError, match=":1: column 'n': expected text, found 1"):
        read_pairs(tmp_path / name, columns=["source", "n"])


def save_damaged(folder):
    """Files that crash whoever computes with them: a dictionary's index, a string's offset, and what is no UTF-8."""
    beyond = pa.DictionaryArray.from_arrays(pa.array([0, 99_999_999], pa.int32()), ["a", "b"], safe=False)
    for name, column in {"index": beyond, "offset": pa.array(["ab", "cd"]), "text": pa.array(["ab", "cd"])}.items():
        table = pa.table({"source": column, "target": ["AB", "CD"]})
        with pa.ipc.new_file(folder / f"{name}.arrow", table.schema) as file:
            file.write_table(table)
    for name, before, after in (("offset", "\2\0\0\0\4\0\0\0", "\2\0\0\0\0\0\0\x40"), ("text", "abcd", "ab\xffd")):
        path = folder / f"{name}.arrow"
        path.write_bytes(path.read_bytes().replace(before.encode("latin-1"), after.encode("latin-1")))


READ_ALL = """
import sys, nsed
for path in sys.argv[1:]:
    try:
        nsed.read_pairs(path)
    except nsed.NsedError as error:
        print(error)
"""


@pytest.mark.slow
def test_a_damaged_arrow_file_does_not_crash_the_process(tmp_path):
    save_damaged(tmp_path)
    command = [sys.executable, "-c", READ_ALL, *sorted(tmp_path.glob("*.arrow"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    for line, reason in zip(done.stdout.splitlines(), ["out of bounds", "offset", "UTF8"], strict=True):
        assert re.search(rf"\.arrow: cannot be read: .*{reason}", line)


def test_arrow_files_of_the_first_kind_and_with_a_column_twice_are_refused(tmp_path):
    (tmp_path / "old.feather").write_bytes(b"FEA1\0\0\0\0FEA1")
    with pytest.raises(DataError, match=r"old\.feather: Feather version 1, which is not read: write it again"):
        read_pairs(tmp_path / "old.feather")
    table = pa.Table.from_arrays([pa.array(["a"])] * 3, names=["source", "target", "source"])
    pa.parquet.write_table(table, tmp_path / "twice.parquet")
    with pytest.raises(DataError, match=r"twice\.parquet: several columns are named 'source'"):
        read_pairs(tmp_path / "twice.parquet")


def test_values_that_python_does_not_have_are_named(tmp_path):
    table = pa.table(
        {"source": pa.array([2**30], pa.date32()), "target": ["A"], "label": pa.array([2**30], pa.date32())}
    )
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r":1: column 'source': expected text, found DataType\(date32"):
        read_pairs(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r":1: label DataType\(date32.* is none of"):
        read_pairs(tmp_path / "a.parquet", columns=["target", "target", "label"])


def test_a_column_of_a_trillion_nulls_is_no_text():
    """Not one of them is made a value of Python: first of a million, where that would be seen, and would end."""
    for count in (10**6, 10**12):
        nulls = pa.Array.from_buffers(pa.null(), count, [None])
        tracemalloc.start()
        with pytest.raises(ArgumentError, match="column: got None at place 0 of Arrow's type null, expected a string"):
            Texts.of_arrow(nulls)
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert most < 10**6


def test_standard_input_is_utf8_and_may_have_a_byte_order_mark(write, monkeypatch):
    with write("a.txt", b"\xef\xbb\xbf\xc3\xa9\tA\n").open(encoding="latin-1") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert list(read_pairs("-")) == [("é", "A")]
    with write("b.txt", b"\xe9\tA\n").open(encoding="latin-1") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        with pytest.raises(DataError, match="-: not UTF-8 text"):
            read_pairs("-")
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(DataError, match="-: standard input is closed"):
        read_pairs("-")


@pytest.mark.parametrize("columns", [["a"], ["a", "b", "c", "d", "a", "b"]])
def test_columns_are_two_to_five(write, columns):
    with pytest.raises(ArgumentError, match=r"columns: got .* expected the names of 2, 3 or 5: source, target, label"):
        read_pairs(write("a.tsv", "a\tb\tc\td\n"), columns=columns)


@pytest.mark.parametrize("labels", [[1, 0], [True, False], ["yes", "false"], [1.0, 0.0]])
def test_labels_of_arrow_files(tmp_path, labels):
    pa.parquet.write_table(
        pa.table({"source": ["a", "b"], "target": ["A", "B"], "label": labels}), tmp_path / "a.parquet"
    )
    assert read_pairs(tmp_path / "a.parquet").labels == [True, False]


@pytest.mark.parametrize("wrong", [2, "maybe", None, float("nan")])
def test_labels_that_are_none(tmp_path, wrong):
    first = True if wrong is None else wrong
    table = pa.table({"source": ["a", "b"], "target": ["A", "B"], "label": [type(first)(1), wrong]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r":2: label .* is none of 1, true, yes"):
        read_pairs(tmp_path / "a.parquet")


def test_the_papers_dictionary(data_folder):
    pairs = read_pairs(data_folder / "g2p-cmudict" / "train.dict")
    assert len(pairs) == 108_952
    assert pairs.sources[0] == "'CAUSE"
    assert pairs.targets[0] == "K AH Z"


def test_the_papers_transliterations(data_folder):
    pairs = read_pairs(data_folder / "translit-ar2en" / "eval.tsv")
    assert len(pairs) == 1_431
    assert next(iter(pairs)) == ("آب", "abbe")


def test_the_papers_word_lists_by_column(data_folder):
    pairs = read_pairs(data_folder / "cognates" / "indo-european.tsv", columns=["CONCEPT", "TOKENS"])
    assert next(iter(pairs)) == ("I", "e ɡ ɔ́ː")


@pytest.mark.parametrize(
    ("text", "rows", "labels"),
    [
        ("source\ttarget\tprobability\nab\tba\t0.5\n", [("ab", "ba")], None),
        ("Source\tTarget\tnote\tlabel\nab\tba\tx\t0\n", [("ab", "ba")], [False]),
        ("source\ttarget\t1\nab\tba\t0\n", [("source", "target"), ("ab", "ba")], [True, False]),
    ],
)
def test_columns_beyond_the_usual_ones_are_left_alone_below_a_header(tmp_path, text, rows, labels):
    (tmp_path / "pairs.tsv").write_text(text)
    pairs = read_pairs(tmp_path / "pairs.tsv")
    assert (list(pairs), pairs.labels) == (rows, labels)


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("a.tsv", "word\tpron\nhand\tHH AE N D\n", "word,pron"),
        ("a.csv", "name_a,name_b\nAnna,Ana\nJohn,Jon\n", "name_a,name_b"),
        ("a.tsv", "Arabic\tEnglish\nسامي\tSami\n", "Arabic,English"),
    ],
)
def test_a_header_of_other_names_is_not_read_as_a_pair_without_a_word(write, name, text, columns):
    path = write(name, text)
    with pytest.warns(HeaderWarning, match=rf"{name}:1: the first row, .* looks like a header.*--columns {columns} "):
        pairs = read_pairs(path)
    assert len(pairs) == len(read_pairs(path, columns=columns.split(","))) + 1


def test_a_header_of_other_names_above_labels_is_called_one(write):
    with pytest.raises(DataError, match=r":1: label 'cognate' is none of .*looks like a header.*word,ipa,cognate"):
        read_pairs(write("a.tsv", "word\tipa\tcognate\nhand\tHand\t1\n"))


@pytest.mark.parametrize(
    ("header", "named"),
    [
        ("id,name_a,name_b,label", "name_a,name_b,label"),
        ("query,reference,rank,score", "query,reference"),
        ("id_a,id_b,left,right,is_match", "left,right,is_match"),
        ("british,american,verdict", "british,american"),
    ],
)
def test_columns_that_an_error_advises_to_name_are_those_of_the_pair(write, header, named):
    row = ["7", "colour", "color", "grey", "1"][: header.count(",") + 1]
    path = write("a.csv", f"{header}\n{','.join(row)}\n")
    with pytest.raises(DataError, match=rf":1: label .* --columns {named}$"):
        read_pairs(path)


def test_advice_below_a_header_is_not_to_name_columns_again(write):
    path = write("a.csv", "id,name_a,name_b\n1,colour,color\n")
    with pytest.raises(DataError, match="if the column 'name_b' holds no labels, name another as the third, or two"):
        read_pairs(path, columns=["id", "name_a", "name_b"])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("word\tfreq\nread\t10\n", "word"),
        ("lexeme\tzipf\nread\t10\nhand\t7.5\n", "lexeme"),
        ("id\tword\tnumber\na\tread\t10\nb\thand\t7\n", "word"),
    ],
)
def test_a_word_above_numbers_is_not_read_as_a_source_without_a_word(write, text, named):
    path = write("a.tsv", text)
    for read in (read_sources, lambda path: list(source_batches(path, BatchOptions()))):
        with pytest.warns(HeaderWarning, match=rf":1: the first row, .*--column {named} "):
            read(path)


@pytest.mark.parametrize("header", ["target,source", "Target,Source"])
def test_a_header_of_target_and_source_is_one_and_the_sides_are_not_swapped(write, header):
    assert list(read_pairs(write("a.csv", f"{header}\nHH AE N D,hand\n"))) == [("hand", "HH AE N D")]
    tsv = write("a.tsv", f"{header}\nHH AE N D,hand\n".replace(",", "\t"))
    assert list(read_pairs(tsv)) == [("hand", "HH AE N D")]
    assert list(read_pairs(write("b.tsv", "target\ttarget\na\tb\n"))) == [("target", "target"), ("a", "b")]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "name\nWien\nGraz\n", r"'name', looks like a header, .* --column name \(in Python, column='name'"),
        ("a.tsv", "\nword\nhand\nfoot\n", r"a\.tsv:2: the first row, 'word', looks like a header, but is read as a so"),
        ("a.txt", "city_name\nWien\n", "'city_name', looks like a header, but is read as a source"),
        ("a.csv", "city;country\nWien;AT\nGraz;AT\n", "'city;country', is read as one column. There are semicolons"),
        ("a.tsv", "word,ipa\nhand,hænd\n", "'word,ipa', is read as one column. There are commas in it: let the name"),
        ("a.csv", "word\tipa\nhand\thænd\n", r"'word\\tipa', is read as one column. There are tabs in it: let"),
    ],
)
def test_a_header_above_one_column_or_another_separator_is_not_read_without_a_word(write, name, text, message):
    path = write(name, text)
    for read in (read_sources, lambda path: list(source_batches(path, BatchOptions()))):
        with pytest.warns(HeaderWarning, match=message):
            read(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_sources(path, column=text.strip().splitlines()[0])


@pytest.mark.parametrize(
    "text",
    [
        "name\n",
        "hand\nname\n",
        "one\ntwo\n",
        "word\nhand\nword\n",
        "Smith, John\nDoe, Jane\n",
        "a;b\nc\n",
        "\n\nhand\n",
    ],
)
def test_ordinary_lines_are_not_called_a_header(write, text):
    path = write("a.txt", text)
    assert list(read_sources(path).texts) == text.splitlines()
    list(source_batches(path, BatchOptions(rows=1)))


def test_advice_on_columns_can_be_pasted_into_a_shell(write, tmp_path):
    path = write("a.csv", "Name links,Naïve Spalte,label\ncolour,color,1\n")
    with pytest.raises(DataError, match=r"--columns 'Name links,Naïve Spalte,label'$"):
        read_pairs(path)
    with pytest.warns(HeaderWarning, match=r"--columns 'full name,other name' \(in Python, columns=\['full name'"):
        read_pairs(write("b.csv", "full name,other name\ncolour,color\n"))
    table = pa.table({"my name": ["a"], "your name": ["b"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"--column 'my name'$"):
        read_sources(tmp_path / "a.parquet")


def test_parquet_and_arrow_in_a_csv_are_not_called_utf_16(write, tmp_path):
    table = pa.table({"source": ["hand"], "target": ["Hand"]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "a.arrow")
    for name, advice in (
        ("parquet", "Parquet: let its name end in .parquet"),
        ("arrow", "an Arrow table: let its name"),
    ):
        path = write("a.csv", (tmp_path / f"a.{name}").read_bytes())
        for read in (read_pairs, read_sources, lambda path: list(source_batches(path, BatchOptions()))):
            with pytest.raises(DataError, match=f"not UTF-8 text: .*The file is {advice}"):
                read(path)


def test_latin_1_is_told_how_to_become_utf_8(write):
    path = write("a b.tsv", "Käse\tcheese\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"If it is Latin-1, .*, iconv -f WINDOWS-1252 -t UTF-8 '.*a b\.tsv' > NEW$"):
        read_pairs(path)
    with pytest.raises(DataError, match="looks like UTF-16: convert it, iconv -f UTF-16 -t UTF-8"):
        read_pairs(write("c.tsv", "Käse\tcheese\n".encode("utf-16")))


def test_a_header_of_a_single_column_is_not_read_as_a_source_without_a_word(write):
    with pytest.warns(HeaderWarning, match=r"a\.csv:1: the first row, 'word', looks like a header.*--column word "):
        read_sources(write("a.csv", "word\nread\nhand\n"))
    assert read_sources(write("b.csv", "hand\nword\n")).texts == ["hand", "word"]
    assert read_sources(write("c.csv", "source\nhand\n")).texts == ["hand"]


def test_a_word_above_numbers_is_not_read_as_a_pair_without_a_word(write):
    with pytest.warns(HeaderWarning, match=r":1: the first row, 'numeral' and 'digits', .*--columns numeral,digits "):
        read_pairs(write("a.tsv", "numeral\tdigits\ntwo\t2\nten\t10\n"))


def test_labels_that_are_right_in_frames_are_right_in_text(write):
    labels = ["1.0", "0.0", "Y", "n", "T", "f", "1", "no"]
    path = write("a.tsv", "".join(f"a\tb\t{label}\n" for label in labels))
    assert read_pairs(path).labels == [True, False] * 4
    assert list(read_pairs(write("b.tsv", "source\ttarget\tn\na\tb\t7\n"))) == [("a", "b")]
    for label in ("2", "0.5", "nan", "yn", "-1", ""):
        with pytest.raises(DataError, match="is none of 1, true, yes"):
            read_pairs(write("c.tsv", f"a\tb\t{label}\n"))


def test_parquet_columns_of_other_names_are_to_be_named(tmp_path):
    table = pa.table({"id": ["1"], "a": ["colour"], "b": ["color"], "label": [1]})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"the file has: id, a, b, label. Name .* --columns a,b,label"):
        read_pairs(tmp_path / "a.parquet")
    with pytest.raises(DataError, match=r"no column named 'source'; .* --column a"):
        read_sources(tmp_path / "a.parquet")


def test_a_header_above_sources_is_not_read_as_a_source_without_a_word(write):
    path = write("a.tsv", "word\tgloss\nhand\tpart of the arm\n")
    with pytest.warns(HeaderWarning, match=r":1: the first row, 'word' and 'gloss', .*--column word "):
        assert len(read_sources(path).texts) == 2


@pytest.mark.parametrize(
    "text",
    [
        "form\tforms\nword\twords\n",
        "word\tWort\nname\tName\n",
        "name\tN EY M\nword\tW ER D\n",
        "word\tword\nname\tname\n",
        "a\tb\nc\td\n",
        "word\tname\nlabel\tword\nword\tlemma\n",
    ],
)
def test_ordinary_pairs_are_not_called_a_header(write, text):
    read_pairs(write("a.tsv", text))  # a warning would be an error


def test_no_row_of_the_papers_data_would_look_like_a_header(data_folder):
    files = [data_folder / "g2p-cmudict/test.dict", data_folder / "translit-ar2en/test.tsv"]
    words = [word.tokens for path in data_folder.glob("cognates/*.tsv") for word in read_word_list(path)]
    pairs = chain(*map(read_pairs, files), pairwise(words))
    assert not any(looks_like_header(pair, ()) for pair in pairs)


@pytest.mark.parametrize("ending", ["tsv", "csv", "parquet"])
def test_languages_are_read_without_a_label_by_their_names_and_by_names_given(tmp_path, ending):
    names = ["source", "target", "source_language", "target_language"]
    for given in (names, ["word", "ipa", "from", "to"]):
        path = tmp_path / f"{given[0]}.{ending}"
        rows = [["Kuh", "k uː", "de", "de"], ["vache", "v a ʃ", "fr", "fr"]]
        if ending == "parquet":
            columns = dict(zip(given, map(list, zip(*rows, strict=True)), strict=True))
            pyarrow.parquet.write_table(pa.table(columns), path)
        else:
            separator = "\t" if ending == "tsv" else ","
            path.write_text("\n".join(separator.join(row) for row in [given, *rows]), encoding="utf-8")
        pairs = read_pairs(path, columns=None if given is names else given)
        assert (pairs.labels, pairs.languages) == (None, ["de", "fr"])


def test_errors_repeat_neither_thousands_of_column_names_nor_what_a_terminal_would_obey(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"column{number}" for number in range(5000)) + "\n")
    with pytest.raises(DataError, match=r"no column named 'a', 'b'; the header has: column0, column1") as raised:
        read_pairs(path, columns=["a", "b"])
    assert len(str(raised.value)) < 1000
    path.write_text('"two\nlines",\x1b[31mred\n')
    with pytest.raises(DataError, match=r"the header has: 'two\\nlines', '\\x1b\[31mred'$"):
        read_pairs(path, columns=["a", "b"])
    path.write_text(f"a,b,c\nx,y,{'z' * 100_000}\n")
    with pytest.raises(DataError, match=r"wide\.csv:2: label 'zzz.* is none of 1, true") as raised:
        read_pairs(path, columns=["a", "b", "c"])
    assert len(str(raised.value)) < 1000


def test_named_columns_of_a_table_with_semicolons_have_the_advice_of_unnamed_ones(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("a;b;label\nx;y;1\n", encoding="utf-8")
    for columns in (["a", "b"], None):
        with pytest.raises(DataError, match="There are semicolons in it: write the table with commas"):
            read_pairs(path, columns=columns)
    with pytest.raises(DataError, match=r"no column named 'b'.*There are semicolons in it"):
        read_sources(path, column="b")


def test_a_name_of_a_column_that_is_as_long_as_a_file_is_not_repeated_whole(tmp_path):
    """Names come from foreign metadata, too: a find of fuzzing."""
    rows = iter([Row(1, ["ID", "Form"]), Row(2, ["1", "hant"])])
    with pytest.raises(DataError, match=r"no column 9+\.\.\. \(2000 characters\); there are: ID, Form") as raised:
        list(named_columns(tmp_path / "forms.csv", rows, [["9" * 2000]], separator=COMMA))
    assert len(str(raised.value)) < 500
