"""Pairs in every form that a caller may have them in, and what is said about those that are none."""

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from nsed.errors import ArgumentError
from nsed.text import Pairs
from nsed.text.columns import MANY, checked_column
from nsed.text.pairs import parse_labels
from nsed.text.texts import Texts

SOURCES, TARGETS = ["no", "", "grün", "no"], ["nee", "x", "green", "ноль"]
ROWS = list(zip(SOURCES, TARGETS, strict=True))
COLUMNS = {"source": SOURCES, "target": TARGETS}
LABELS = [True, False, True, False]
TABLE = pa.table(COLUMNS)


class Stream:
    """What polars and DuckDB look like from here: an Arrow stream, and nothing else."""

    def __init__(self, values):
        self.values = values

    def __arrow_c_stream__(self, requested_schema=None):
        return self.values.__arrow_c_stream__(requested_schema)


class SeriesStream(Stream):
    """A Series of polars or of pandas 3: it knows its type, and can be walked along."""

    dtype = "str"

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter(self.values.to_pylist())


def polars():
    return pytest.importorskip("polars", reason="polars is not installed")


def as_views(table):
    return table.cast(pa.schema([(name, pa.string_view()) for name in table.column_names]))


TABLES = {
    "table": TABLE,
    "record batch": TABLE.to_batches()[0],
    "list of batches": TABLE.to_batches(max_chunksize=3),
    "reader": TABLE.to_reader(max_chunksize=3),
    "chunks": pa.concat_tables([TABLE[:1], TABLE[1:]]),
    "dictionaries": pa.table({name: pa.array(column).dictionary_encode() for name, column in COLUMNS.items()}),
    "stream": Stream(TABLE),
    "stream of string views": Stream(as_views(TABLE)),
    "dict of lists": COLUMNS,
    "dict of arrays": {"source": np.array(SOURCES), "target": pa.array(TARGETS)},
    "dict of generators": {"source": (text for text in SOURCES), "target": (text for text in TARGETS)},
    "pandas": pd.DataFrame(COLUMNS),
    "pandas, string": pd.DataFrame(COLUMNS, dtype="string"),
    "pandas, category": pd.DataFrame(COLUMNS, dtype="category"),
    "pandas, Arrow": pd.DataFrame(COLUMNS, dtype=pd.ArrowDtype(pa.large_string())),
    "pandas with an index": pd.DataFrame(COLUMNS, index=pd.Index([7, 5, 5, 1], name="id")),
    "pandas, other names": pd.DataFrame({"a": SOURCES, "b": TARGETS}, index=[7, 5, 5, 1]),
    "pandas, numbered": pd.DataFrame(ROWS),
    "pandas, one name twice": pd.DataFrame(ROWS, columns=["name", "name"]),
    "pandas, further columns": pd.DataFrame({"id": [1, "two", None, 4.0], **COLUMNS}),
    "other names": pa.table({"b": SOURCES, "a": TARGETS}),
    "the other way round": TABLE.select(["target", "source"]),
    "tuples": ROWS,
    "generator": (row for row in ROWS),
    "items": dict(enumerate(ROWS)).values(),
    "keys that are pairs": dict.fromkeys(ROWS),
    "dicts": TABLE.to_pylist(),
    "Series of tuples": pd.Series(ROWS),
    "numpy": np.array(ROWS),
    "numpy, objects": np.array(ROWS, dtype=object),
    "numpy, StringDType": np.array(ROWS, dtype=np.dtypes.StringDType()),
}


@pytest.mark.parametrize("form", TABLES)
def test_pairs_in_every_form_are_the_same_pairs(form):
    assert list(Pairs.of(TABLES[form])) == ROWS


def test_rows_are_counted_from_one_for_those_who_read_of_them():
    pairs = Pairs.of([("a", "b"), ("c" * 30, "d")])
    assert pairs.row_of(("a", "b")) == "in row 1 ('a')"
    assert pairs.row_of(("c" * 30, "d")) == f"in row 2 ('{'c' * 20}…')"
    assert pairs.row_of(("x", "y")) == "in 'x'"


def test_batches_of_other_columns_are_refused():
    batches = [*TABLE.to_batches(), *TABLE.rename_columns(["a", "b"]).to_batches()]
    with pytest.raises(
        ArgumentError, match=r"pairs: got record batches of \['source', 'target'\] and \['a', 'b'\], expected"
    ):
        Pairs.of(batches)
    assert Pairs.of(TABLE.to_batches(), LABELS).labels == LABELS


def test_polars_frames_and_columns():
    frame = polars().DataFrame({**COLUMNS, "label": LABELS})
    assert list(Pairs.of(frame)) == ROWS
    assert Pairs.of(frame).labels == LABELS
    assert list(Pairs.of(frame.rename({"source": "a", "target": "b"})[["a", "b"]])) == ROWS
    assert list(Pairs.of_columns(frame["source"], frame["target"].cast(polars().Categorical))) == ROWS
    with pytest.raises(ArgumentError, match=r"pairs: got one column \(Series\)"):
        Pairs.of(frame["source"])
    with pytest.raises(ArgumentError, match="sources: got a table with"):
        Pairs.of_columns(frame, frame["target"])


def test_a_lazy_frame_is_told_to_be_collected():
    lazy = polars().LazyFrame(COLUMNS)
    for given in (lambda: Pairs.of(lazy), lambda: checked_column(lazy, "sources")):
        with pytest.raises(ArgumentError, match=r"got a LazyFrame, whose .* Collect it first: frame.collect"):
            given()
    assert list(Pairs.of(lazy.collect())) == ROWS


def test_every_row_without_a_string_is_named():
    frame = pd.DataFrame({"source": ["a", None, "b", float("nan")], "target": list("wxyz")})
    with pytest.raises(ArgumentError, match=r"source: got None at place 1, .*dropna\(\).* 2 rows have none: 1, 3\."):
        Pairs.of(frame)


def test_a_null_of_polars_is_not_told_to_use_what_polars_lacks():
    frame = polars().DataFrame({"source": ["a", None], "target": ["x", "y"]})
    with pytest.raises(ArgumentError, match=r"source: got None at place 1, .* or df\.drop_nulls\(\) of polars"):
        Pairs.of(frame)


FORMS = {
    "list": list,
    "tuple": tuple,
    "generator": iter,
    "Texts": Texts.of,
    "array": pa.array,
    "large": lambda texts: pa.array(texts, pa.large_string()),
    "view": lambda texts: pa.array(texts, pa.string_view()),
    "dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "dictionary of views": lambda texts: pa.DictionaryArray.from_arrays(
        pa.array(range(len(texts)), pa.uint32()), pa.array(texts, pa.string_view())
    ),
    "chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    "stream": lambda texts: Stream(pa.chunked_array([texts])),
    "Series stream": lambda texts: SeriesStream(pa.chunked_array([texts])),
    "Series": lambda texts: pd.Series(texts, index=range(len(texts), 0, -1)),
    "Series, string": lambda texts: pd.Series(texts, dtype="string"),
    "Series, category": lambda texts: pd.Series(texts, dtype="category"),
    "Series, Arrow": lambda texts: pd.Series(texts, dtype=pd.ArrowDtype(pa.string())),
    "Index": pd.Index,
    "numpy": np.array,
    "numpy, objects": lambda texts: np.array(texts, dtype=object),
}


@pytest.mark.parametrize("form", FORMS)
def test_two_columns_in_every_form(form):
    sources, targets = FORMS[form](SOURCES), FORMS[form](TARGETS)
    pairs = Pairs.of_columns(sources, targets, LABELS)
    assert list(pairs) == ROWS
    assert pairs.labels == LABELS
    assert all(type(text) is str for text in pairs.sources)
    assert list(Texts.of_column(FORMS[form]([]))) == []


def test_a_call_gives_pairs_or_two_columns():
    assert list(Pairs.given(TABLE)) == list(Pairs.given(SOURCES, TARGETS)) == ROWS
    pairs = Pairs.of(TABLE)
    assert Pairs.given(pairs) is pairs
    with pytest.raises(ArgumentError, match=r"sources: got .* at place 0, expected a string. A column holds strings"):
        Pairs.given(ROWS, LABELS)


def test_strings_that_no_utf8_can_hold_are_kept():
    halves = ["\ud83d", "a"]
    for column in (halves, np.array(halves), pd.Series(halves, dtype=object)):
        assert list(Texts.of_column(column)) == halves
    assert list(Pairs.of(pd.DataFrame({"a": halves, "b": halves}, dtype=object))) == [(text, text) for text in halves]


EMPTY = {
    "list": [],
    "dict": {},
    "table": TABLE[:0],
    "no batches": pa.Table.from_batches([], schema=TABLE.schema),
    "frame": pd.DataFrame({"source": [], "target": []}),
    "filtered frame": pd.DataFrame({"source": [1.0], "target": ["x"]})[:0],
    "columns": {"source": [], "target": []},
    "numpy": np.zeros((0, 2), dtype=str),
}


@pytest.mark.parametrize("form", EMPTY)
def test_no_rows_are_no_pairs(form):
    assert len(Pairs.of(EMPTY[form])) == 0


@pytest.mark.parametrize(
    "labels",
    [[True, False, True, False], [1, 0, 1, 0], [1.0, 0.0, 1.0, 0.0], ["yes", "no", "TRUE", "0"], [1, "no", True, 0.0]],
)
def test_labels_of_tables_and_those_given(labels):
    assert Pairs.of({**COLUMNS, "label": labels}).labels == LABELS
    assert Pairs.of(pd.DataFrame({**COLUMNS, "label": labels})).labels == LABELS
    assert Pairs.of(TABLE, pd.Series(labels, index=[3, 2, 1, 0])).labels == LABELS
    assert Pairs.of(ROWS, iter(labels)).labels == LABELS
    if len(set(map(type, labels))) == 1:
        table = TABLE.append_column("label", pa.array(labels))
        assert Pairs.of(table).labels == Pairs.of(Stream(table)).labels == LABELS
        assert Pairs.of(table, [0, 0, 0, 1]).labels == [False, False, False, True]
        assert Pairs.of(ROWS, pa.array(labels).dictionary_encode()).labels == LABELS
        assert Pairs.of(ROWS, np.array(labels)).labels == LABELS


def test_labels_given_stand_in_for_those_that_cannot_be_read():
    table = {**COLUMNS, "label": ["yes", None, "?", "no"]}
    assert Pairs.of(table, LABELS).labels == LABELS
    with pytest.raises(ArgumentError, match="label: got None at place 1, expected one of 1, true, yes"):
        Pairs.of(table)


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (pa.array(["yes", None]), "None"),
        (pd.Series(["yes", "maybe"], dtype="category"), "'maybe'"),
        ([1, 2], "2"),
        ([[1], [2]], r"\[1\]"),
        ([1, Decimal(1)], "Decimal"),
        (np.array([1.0, np.nan]), "None"),
    ],
)
def test_labels_that_are_none_are_pointed_at(labels, shown):
    with pytest.raises(ArgumentError, match=rf"labels: got {shown}.* at place \d, expected one of"):
        parse_labels(labels)


def test_labels_and_languages_beside_columns_of_other_names():
    table = pa.table({"label": [1, 0, 1, 0], "a": SOURCES, "b": TARGETS, "source_language": ["x", "y", "x", "y"]})
    pairs = Pairs.of(table)
    assert list(pairs) == ROWS
    assert pairs.labels == LABELS
    assert pairs.source_languages == ["x", "y", "x", "y"]
    assert pairs.target_languages is None


FAULTS = {
    "three columns": (
        pd.DataFrame({"id": [1], "name_a": ["a"], "name_b": ["b"]}),
        r"a table with \['id', 'name_a'",
    ),
    "how to choose": (pd.DataFrame({"id": [1], "name_a": ["a"], "name_b": ["b"]}), r'df\[\["name_a", "name_b"\]\]'),
    "one is missing": (Stream(pa.table({"source": ["a"], "x": ["b"]})), r"expected columns \['target'\] too"),
    "capitals": (pd.DataFrame({"Target": ["a"], "Source": ["b"]}), r"expected columns \['source', 'target'\] too"),
    "capitals beside others": (pa.table({name: ["x"] for name in ("Source", "Target", "a", "b")}), "expected columns"),
    "twice": (pd.DataFrame([["a", "b", "c"]], columns=["source", "source", "target"]), "expected 'source' once"),
    "null": (
        pa.table({"a": ["x", None], "b": ["y", "z"]}),
        r"a: got None at place 1, expected a string. .*dropna\(",
    ),
    "nan": (pd.DataFrame({"a": ["x", "y"], "b": ["y", np.nan]}), r"b: got nan at place 1, .* df.fillna\(\"\"\)"),
    "NA": (pd.DataFrame({"a": ["x", pd.NA], "b": ["y", "z"]}, dtype="string"), "a: got <NA> at place 1, .*dropna"),
    "only nulls": (pd.DataFrame({"a": [None], "b": ["x"]}), "a: got None at place 0, .*dropna"),
    "numbers": (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), r"b: got 1 at place 0, expected a string. Write it as a"),
    "Arrow's numbers": (
        pa.table({"a": ["x"], "b": [1]}),
        "b: got 1 at place 0 of Arrow's type int64, expected",
    ),
    "one number": (pd.DataFrame({"a": ["x", 3], "b": ["y", "z"]}), "a: got 3 at place 1, expected a string"),
    "bytes": ({"source": ["x", b"y"], "target": ["y", "z"]}, "source: got b'y' at place 1, expected a string. Decode"),
    "lengths": ({"source": ["x"], "target": ["y", "z"]}, "targets: got 2 rows, expected 1, as many as sources"),
    "a string": ("ab", r"pairs: got 'ab', expected pairs of strings. A single pair goes into a list: \[\(source, tar"),
    "one pair": (("colour", "color"), "'colour' at place 0, .* A single pair goes into a list"),
    "Series": (pd.Series(["a"]), r"one column \(Series\), expected \(source, target\), .* two columns, or a table"),
    "Index": (pd.Index(["a"]), r"one column \(Index\)"),
    "array": (pa.array(["a"]), r"one column \(StringArray\)"),
    "chunks": (pa.chunked_array([["a"]]), r"one column \(ChunkedArray\)"),
    "numpy": (np.array(["a"]), r"one column \(ndarray\)"),
    "stream": (Stream(pa.chunked_array([["a"]])), r"one column \(Stream\)"),
    "Series stream": (SeriesStream(pa.chunked_array([["a"]])), r"one column \(SeriesStream\)"),
    "lexicon": ({"colour": "color"}, r"a dict of strings, expected a dict of columns. .*pairs.items\(\)"),
    "wide array": (np.array([["a", "b", "c"]]), "at place 0, .* Labels go into their own argument"),
    "a key is missing": ([{"source": "a", "target": "b"}, {"source": "c"}], "target: got None at place 1"),
    "not all dicts": (
        [("a", "b"), {"source": "c", "target": "d"}],
        r"got \{.*\} at place 1, expected \(source, ",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_errors_say_where_and_what_to_do(fault):
    pairs, message = FAULTS[fault]
    with pytest.raises(ArgumentError, match=message):
        Pairs.of(pairs)


COLUMN_FAULTS = {
    "a string": ("ab", "words: got 'ab', expected a list of strings"),
    "frame": (
        pd.DataFrame(COLUMNS),
        r"words: got a table with \['source', 'target'\], expected one column. .*df\[",
    ),
    "table": (TABLE, r"words: got a table with \['source', 'target'\], expected one column"),
    "stream": (Stream(TABLE[:0]), r"words: got a table with \['source', 'target'\], expected one column"),
    "null": (pd.Series(["a", None]), "words: got None at place 1, expected a string. Leave rows"),
    "Arrow's null": (SeriesStream(pa.chunked_array([["a", None]])), "words: got None at place 1, expected a string"),
    "numbers": (np.array([1.5]), "words: got .*1.5.* at place 0, expected a string"),
    "lists": (pa.array([["a"]]), r"words: got \['a'\] at place 0 of Arrow's type list<.*>, expected a string"),
    "two columns": (np.array(ROWS), "words: got .* at place 0, expected a string. A column holds strings"),
    "pairs": (ROWS, "words: got .* at place 0, expected a string. A column holds strings"),
}


@pytest.mark.parametrize("fault", COLUMN_FAULTS)
def test_errors_of_columns_begin_with_their_name(fault):
    column, message = COLUMN_FAULTS[fault]
    with pytest.raises(ArgumentError, match=message):
        Texts.of_column(column, name="words")


@pytest.mark.parametrize(
    ("labels", "message"), [("yes", "'yes', expected a list of labels"), (pd.DataFrame(COLUMNS), "expected one column")]
)
def test_labels_are_one_column_too(labels, message):
    with pytest.raises(ArgumentError, match=f"labels: got .*{message}"):
        Pairs.of(ROWS, labels)


def test_long_lists_are_read_as_short_ones_are():
    column = [f"{number % 7}" for number in range(MANY)]
    halves = ["\ud83d", *column]
    assert list(Texts.of_column(column)) == column
    assert len(Texts.of_column(column).different) == 7
    assert list(Texts.of_column(halves)) == halves
    assert parse_labels([1, True, *[0] * MANY]) == [True, True, *[False] * MANY]
    for wrong in (None, 3):
        with pytest.raises(ArgumentError, match=f"column: got {wrong} at place {MANY}, expected a string"):
            Texts.of_column([*column, wrong])


@pytest.mark.slow
def test_neither_pandas_nor_polars_is_imported():
    code = "import sys; from nsed.text import Pairs; Pairs.of([('a', 'b')], [1]); Pairs.of_columns(['a'], ['b']);"
    code += "print({'pandas', 'polars'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
