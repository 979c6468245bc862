"""Scores of Spark's tables are those of the model itself. Runs where pyspark and Java are."""

import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import nsed
from nsed.jobs import fixed_scores
from nsed.spark import score

WHERE = "pyspark, about 400 MB, is not part of the extra test: pip install -c constraints.txt 'pyspark>=4'"
sql = pytest.importorskip("pyspark.sql", reason=WHERE)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 or later on the path"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
GOLDEN = Path(__file__).parent / "golden" / "models"


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    builder = sql.SparkSession.builder.master("local[2]").appName("nsed")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


def random_rows(count):
    letters = np.random.default_rng(0).choice(list("abc"), size=(count, 2, 4))
    return [(number, "".join(one).upper(), "".join(other)) for number, (one, other) in enumerate(letters)]


ROWS = random_rows(300)
PAIRS = [(source, target) for _, source, target in ROWS]


def collected(frame, column):
    return np.array([row[column] for row in sorted(frame.collect(), key=lambda row: row["id"])])


@pytest.mark.parametrize("scorer", ["score", "probability"])
def test_scores_are_those_of_the_model_and_columns_are_kept(spark, scorer):
    model = nsed.load(GOLDEN / "levenshtein")
    scored = score(spark.createDataFrame(ROWS, ["id", "source", "target"]), model, scorer=scorer)
    assert scored.columns == ["id", "source", "target", scorer]
    assert np.array_equal(collected(scored, scorer), getattr(model, scorer)(PAIRS))


@pytest.mark.parametrize(("partitions", "rows_of_a_batch"), [(1, 10_000), (2, 7), (5, 64)])
def test_deterministic_scores_of_a_network_are_the_same_bit_for_bit(spark, partitions, rows_of_a_batch):
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", rows_of_a_batch)
    model = nsed.load(GOLDEN / "matcher-rnn")
    frame = spark.createDataFrame(ROWS, ["id", "a", "b"]).repartition(partitions)
    scored = score(frame, model, columns=("a", "b"), output="similarity", deterministic=True)
    assert np.array_equal(collected(scored, "similarity"), fixed_scores(model, PAIRS))
    plain = score(frame, model, columns=("a", "b"))
    assert np.allclose(collected(plain, "score"), model.score(PAIRS), atol=1e-5)


def test_program_of_the_page_runs(spark):
    page = (Path(__file__).parents[1] / "docs/libraries.md").read_text(encoding="utf-8")
    space = {}
    exec(re.search(r"```python\n(# score_names\.py\n.*?)```", page, flags=re.DOTALL)[1], space)
    assert space["scored"].columns == ["british", "american", "score"]
    first, second = space["scored"].collect()
    assert first["score"] == fixed_scores(space["model"], [("colour", "color")])[0]
    assert second["score"] is None


def test_null_has_no_score(spark):
    rows = [(1, "ab", None), (2, None, "b"), (3, "ab", "ab"), (4, "", "")]
    scored = score(
        spark.createDataFrame(rows, "id int, source string, target string"), nsed.load(GOLDEN / "levenshtein")
    )
    assert collected(scored, "score").tolist() == [None, None, 1.0, 1.0]


def test_what_is_wrong_is_said_before_anything_runs(spark):
    frame, model = spark.createDataFrame(ROWS, ["id", "source", "score"]), nsed.load(GOLDEN / "levenshtein")
    with pytest.raises(nsed.NsedError, match="columns: got 'target', expected one of id, source, score"):
        score(frame, model)
    with pytest.raises(nsed.NsedError, match="output: got 'score', which the table has"):
        score(frame, model, columns=("source", "score"))
    with pytest.raises(nsed.NsedError, match="model: got a Transducer without `probability`"):
        score(frame, nsed.load(GOLDEN / "transducer-exact"), columns=("source", "score"), scorer="probability")
