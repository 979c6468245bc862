"""Columns of Arrow: which strings are the same, and what is refused."""

import numpy as np
import pyarrow as pa
import pytest

from nsed.errors import ArgumentError
from nsed.text import Pairs, SymbolSplitter, Tokenizer, Vocabulary
from nsed.text.texts import Texts

WORDS = ["no", "", "grün", "no", "ноль", "no"]


@pytest.mark.parametrize(
    "column",
    [
        pa.array(WORDS),
        pa.array(WORDS, type=pa.large_string()),
        pa.array(WORDS).dictionary_encode(),
        pa.chunked_array([WORDS[:2], WORDS[2:]]),
        pa.chunked_array([pa.array(part).dictionary_encode() for part in (WORDS[:4], WORDS[4:])]),
        pa.chunked_array([WORDS, []]),
        pa.array(WORDS, type=pa.string_view()),
        pa.array(["unused", *WORDS, "too"]).dictionary_encode().slice(1, len(WORDS)),
    ],
    ids=lambda column: f"{type(column).__name__} {column.type}",
)
def test_rows_are_those_of_the_column(column):
    texts = Texts.of_arrow(column)
    assert list(texts) == WORDS
    assert [texts[place] for place in range(len(texts))] == WORDS
    assert sorted(texts.different) == sorted(set(WORDS))
    assert list(texts[1:4]) == WORDS[1:4]


def test_an_empty_column():
    for column in (pa.array([], pa.string()), pa.chunked_array([], pa.string())):
        assert list(Texts.of_arrow(column)) == []


def test_what_is_no_string_is_refused_with_its_place():
    with pytest.raises(ArgumentError, match="None at place 1"):
        Texts.of_arrow(pa.array(["a", None]), name="source")
    with pytest.raises(ArgumentError, match="None at place 1"):
        Texts.of_arrow(pa.DictionaryArray.from_arrays([0, 1], ["a", None]))
    with pytest.raises(ArgumentError, match="int64"):
        Texts.of_arrow(pa.array([1, 2]), name="source")


def test_pairs_of_a_table_have_its_columns():
    table = pa.table({"source": ["a", "b"], "target": ["c", "c"], "source_language": ["x", "y"], "other": [1, 2]})
    pairs = Pairs.of(table, [1, 0])
    assert list(pairs) == [("a", "c"), ("b", "c")]
    assert list(pairs.source_languages) == ["x", "y"]
    assert pairs.labels == [True, False]
    assert pairs.target_languages is None
    assert list(pairs.chosen([1]).sources) == ["b"]
    assert np.array_equal(pairs.targets.rows, [0, 0])


def test_equal_columns_are_equal_and_many_small_dictionaries_are_one():
    texts = Texts.of_arrow(pa.array(WORDS))
    assert texts == WORDS
    assert texts == Texts.of_arrow(pa.array(WORDS).dictionary_encode())
    assert texts != [*WORDS[:-1], "yes"]
    parts = [pa.array([f"{part} {word}" for word in range(100)]).dictionary_encode() for part in range(3)]
    small = pa.chunked_array([part.cast(pa.dictionary(pa.int8(), pa.string())) for part in parts])
    assert len(Texts.of_arrow(small).different) == 300


def test_a_table_without_its_columns_is_refused():
    with pytest.raises(ArgumentError, match="columns \\['target'\\] too"):
        Pairs.of(pa.table({"source": ["a"], "x": ["b"]}))


@pytest.mark.parametrize("rows", [[], [2], [0, 1, 2, 3], [3, 3, 0, 2, 3, 0], [2, 2]])
def test_different_strings_are_encoded_once_and_the_encoding_is_that_of_a_list(rows, monkeypatch):
    texts = Texts(["abc", "not here: xyz", "", "cab"], np.array(rows, dtype=np.int64))
    tokenizer = Tokenizer("source", SymbolSplitter(), Vocabulary.of("abc:ehnotrxyz "))
    split = []
    monkeypatch.setattr(SymbolSplitter, "split", lambda self, text: split.append(text) or tuple(text))
    encoded = tokenizer.encode(texts)
    assert len(split) == len(set(rows))
    expected = tokenizer.encode(list(texts))
    for name in ("flat", "starts", "lengths", "longest"):
        assert np.array_equal(getattr(encoded, name), getattr(expected, name))
        assert np.asarray(getattr(encoded, name)).dtype == np.asarray(getattr(expected, name)).dtype
    assert np.array_equal(encoded.padded(np.arange(len(rows))), expected.padded(np.arange(len(rows))))
