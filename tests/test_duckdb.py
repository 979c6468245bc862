"""Models as functions of SQL: the numbers of the model itself, whatever vectors DuckDB makes, and levels for Splink."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from splink import Linker, SettingsCreator, block_on
from splink.backends.duckdb import DuckDBAPI

import nsed
from nsed.duckdb import register, splink_comparison, splink_level
from nsed.errors import MissingExtraError

GOLDEN = Path(__file__).parent / "golden" / "models"


@pytest.fixture
def connection():
    with duckdb.connect() as opened:
        yield opened


@pytest.fixture(scope="module")
def model():
    return nsed.load(GOLDEN / "levenshtein")


@pytest.mark.parametrize("scorer", ["score", "probability"])
def test_function_gives_the_numbers_of_the_model(connection, model, scorer):
    letters = np.random.default_rng(0).choice(list("abc"), size=(10_000, 2, 3))
    sources, targets = (["".join(row) for row in letters[:, side]] for side in (0, 1))
    connection.register("pairs", pa.table({"row": range(10_000), "source": sources, "target": targets}))
    register(connection, "name_sim", model, scorer=scorer)
    found = connection.sql("SELECT name_sim(source, target) AS score FROM pairs ORDER BY row").fetchnumpy()["score"]
    assert np.array_equal(found, getattr(model, scorer)(sources, targets))


def test_function_says_what_matches_and_what_strings_become(connection, model):
    register(connection, "same_name", model, scorer="match")
    pairs = [("grey", "gray"), ("grey", "blue"), ("lay", "lay")]
    values = ", ".join(map(str, pairs))
    rows = connection.sql(f"SELECT same_name(a, b) FROM (VALUES {values}) t(a, b)")
    assert [one for (one,) in rows.fetchall()] == model.match(pairs).tolist()
    assert connection.sql("SELECT same_name('a', NULL)").fetchall() == [(None,)]
    transducer = nsed.load(GOLDEN / "transducer-exact")
    register(connection, "respell", transducer, scorer="transduce")
    words = ["AB", "BA", "AB", None]
    connection.register("words", pa.table({"row": range(4), "word": words}))
    found = [one for (one,) in connection.sql("SELECT respell(word) FROM words ORDER BY row").fetchall()]
    assert found == [*transducer.transduce_best(words[:3]), None]


def test_null_has_no_score_and_empty_strings_have(connection, model):
    register(connection, "name_sim", model)
    rows = connection.sql(
        "SELECT name_sim(a, b) FROM (VALUES ('ab', NULL), (NULL, NULL), ('', ''), ('ab', '')) t(a, b)"
    )
    assert rows.fetchall() == [(None,), (None,), (1.0,), (0.0,)]
    assert connection.sql("SELECT name_sim(a, a) FROM (SELECT 'x' AS a WHERE false)").fetchall() == []


def test_functions_join_tables(connection, model):
    register(connection, "name_sim", model)
    connection.sql("CREATE TABLE names AS SELECT * FROM (VALUES ('grey'), ('green'), ('blue')) t(name)")
    best = "SELECT arg_max(name, name_sim('gray', name)), max(name_sim('gray', name)) FROM names"
    assert connection.sql(best).fetchall() == [("grey", 0.75)]


def test_a_name_that_is_taken_is_said_and_can_be_freed(connection, model):
    register(connection, "name_sim", model)
    with pytest.raises(nsed.NsedError, match=r"name: got 'name_sim', .* connection\.remove_function\('name_sim'\)"):
        register(connection, "name_sim", model)
    connection.remove_function("name_sim")
    register(connection, "name_sim", model, scorer="probability")


def test_what_cannot_be_scored_so_is_refused(connection):
    with pytest.raises(nsed.NsedError, match="model: got a Transducer without `probability`"):
        register(connection, "name_sim", nsed.load(GOLDEN / "transducer-exact"), scorer="probability")
    with pytest.raises(nsed.NsedError, match="model: got a Transducer without `match`, expected one that has learned"):
        register(connection, "same", nsed.load(GOLDEN / "transducer-exact"), scorer="match")
    with pytest.raises(nsed.NsedError, match="without `transduce`, expected a transducer"):
        register(connection, "respell", nsed.load(GOLDEN / "levenshtein"), scorer="transduce")
    with pytest.raises(nsed.NsedError, match="scorer: got 'align', expected one of score, probability, match"):
        register(connection, "aligned", nsed.load(GOLDEN / "levenshtein"), scorer="align")


def test_errors_of_the_model_reach_the_query(connection):
    class Broken:
        def score(self, pairs):
            raise nsed.NsedError("a score of the model is not a number")

    register(connection, "name_sim", Broken())
    with pytest.raises(duckdb.Error, match="a score of the model is not a number"):
        connection.sql("SELECT name_sim(a, a) FROM (VALUES ('x')) t(a)").fetchall()


def test_splink_compares_records_by_the_function(connection, model):
    register(connection, "name_sim", model)
    names = pd.DataFrame({"unique_id": range(5), "name": ["grey", "gray", "green", "grey", None], "city": "a"})
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[splink_comparison("name", "name_sim", [0.5, 0.7])],
        blocking_rules_to_generate_predictions=[block_on("city")],
    )
    linker = Linker(DuckDBAPI(connection=connection).register(names), settings)
    found = linker.inference.predict().as_pandas_dataframe()
    levels = {
        frozenset([one, other]): level
        for one, other, level in zip(found.name_l, found.name_r, found.gamma_name, strict=True)
        if one is not None and other is not None
    }
    assert levels == {
        frozenset(["grey"]): 3,
        frozenset(["grey", "gray"]): 2,
        frozenset(["grey", "green"]): 1,
        frozenset(["gray", "green"]): 0,
    }
    assert set(found.gamma_name[found.name_l.isna() | found.name_r.isna()]) == {-1}


def test_splink_is_asked_for_only_where_it_is_needed(monkeypatch):
    level = splink_level("name", "name_sim", 0.9).get_comparison_level("duckdb")
    assert level.sql_condition == 'name_sim("name_l", "name_r") >= 0.9'
    monkeypatch.setitem(__import__("sys").modules, "splink.comparison_level_library", None)
    with pytest.raises(MissingExtraError, match="splink is not installed"):
        splink_level("name", "name_sim", 0.9)
