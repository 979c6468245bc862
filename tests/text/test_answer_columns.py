"""Answers are columns of the kind that was asked about, and the same numbers whatever it is."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import nsed

GOLDEN = Path(__file__).parents[1] / "golden" / "models"
SOURCES, TARGETS = ["ab", "", "cab", "ab"], ["b", "ca", "ab", "ab"]
INDEX = [7, 3, 3, 1]
FRAME = pd.DataFrame({"source": SOURCES, "target": TARGETS, "other": 1}, index=INDEX)
TABLES = {
    "pandas": (FRAME, pd.Series),
    "polars": (pl.DataFrame({"source": SOURCES, "target": TARGETS}), pl.Series),
    "arrow": (pa.table({"source": SOURCES, "target": TARGETS}), pa.ChunkedArray),
    "batch": (pa.record_batch({"source": SOURCES, "target": TARGETS}), pa.Array),
    "dict": ({"source": SOURCES, "target": TARGETS}, np.ndarray),
    "tuples": (list(zip(SOURCES, TARGETS, strict=True)), np.ndarray),
    "pairs": (nsed.Pairs(SOURCES, TARGETS), np.ndarray),
    "array": (np.array([SOURCES, TARGETS]).T, np.ndarray),
}
COLUMNS = {
    "pandas": (FRAME["source"], pd.Series),
    "strings": (FRAME["source"].astype("string"), pd.Series),
    "polars": (pl.Series(SOURCES), pl.Series),
    "array": (pa.array(SOURCES), pa.Array),
    "chunked": (pa.chunked_array([SOURCES[:1], SOURCES[1:]]), pa.ChunkedArray),
    "dictionary": (pa.array(SOURCES).dictionary_encode(), pa.Array),
    "index": (pd.Index(SOURCES), np.ndarray),
    "list": (SOURCES, np.ndarray),
    "tuple": (tuple(SOURCES), np.ndarray),
    "numpy": (np.array(SOURCES), np.ndarray),
}
SCORING = ["cross-encoder", "edit-distance", "jaro-winkler", "levenshtein", "lookup", "majority", "matcher-similarity"]


@pytest.fixture(scope="module")
def model():
    return nsed.load(GOLDEN / "levenshtein")


@pytest.mark.parametrize("verb", ["score", "match", "probability"])
@pytest.mark.parametrize("kind", TABLES)
def test_answers_to_tables_are_columns_of_their_kind(model, verb, kind):
    table, expected = TABLES[kind]
    answers = getattr(model, verb)(table)
    assert isinstance(answers, expected)
    assert np.array_equal(np.asarray(answers), getattr(model, verb)(SOURCES, TARGETS))


@pytest.mark.parametrize("verb", ["score", "match", "probability"])
@pytest.mark.parametrize("kind", COLUMNS)
def test_answers_to_columns_are_columns_of_the_kind_of_the_sources(model, verb, kind):
    column, expected = COLUMNS[kind]
    for targets in (TARGETS, pd.Series(TARGETS), pl.Series(TARGETS)):
        answers = getattr(model, verb)(column, targets)
        assert isinstance(answers, expected)
        assert np.array_equal(np.asarray(answers), getattr(model, verb)(SOURCES, TARGETS))


def test_series_keep_their_index_and_have_the_name_of_the_verb(model):
    for answers in (model.score(FRAME), model.score(FRAME["source"], TARGETS)):
        assert answers.index.tolist() == INDEX
        assert answers.name == "score"
    assert FRAME.assign(score=model.score(FRAME)).score.tolist() == model.score(SOURCES, TARGETS).tolist()
    assert model.probability(pl.DataFrame({"a": SOURCES, "b": TARGETS})).name == "probability"


@pytest.mark.parametrize("name", SCORING)
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_every_model_answers_so(name):
    loaded = nsed.load(GOLDEN / name)
    answers = loaded.score(FRAME)
    assert isinstance(answers, pd.Series)
    assert np.array_equal(answers.to_numpy(), loaded.score(SOURCES, TARGETS))


def test_subclasses_of_series_stay_what_they_are(model):
    class Names(pd.Series):
        pass

    assert isinstance(model.score(Names(SOURCES), TARGETS), Names)


def test_empty_columns_stay_empty(model):
    assert len(model.score(pd.Series([], dtype=str), pd.Series([], dtype=str))) == 0
    assert len(model.score(pl.Series([], dtype=pl.String), [])) == 0


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_best_targets_are_a_column_of_the_kind_of_the_sources(kind):
    column, expected = COLUMNS[kind]
    lookup = nsed.load(GOLDEN / "lookup")
    best = lookup.transduce_best(column)
    assert isinstance(best, list if expected is np.ndarray else expected)
    texts = [found[0].text if found else None for found in lookup.transduce(SOURCES)]
    assert (best.to_pylist() if hasattr(best, "to_pylist") else list(best)) == texts
