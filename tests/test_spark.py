"""Spark gives the answers of one process, on two executor processes. Runs where pyspark and Java are."""

import json
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import nsed
from nsed.errors import DataError, UnknownSymbolWarning
from nsed.jobs import LinkJob, NumericColumn, TableJob, TextColumn, fixed_scores
from nsed.jobs.linking import LinkRun
from nsed.spark import SparkEngine, new_session, register, score
from support.commands import nsed_process

WHERE = "pyspark, about 400 MB, is not part of the extra test: pip install -c constraints.txt 'pyspark>=4'"
sql = pytest.importorskip("pyspark.sql", reason=WHERE)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java 17 or later on the path"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
GOLDEN = Path(__file__).parent / "golden" / "models"
MASTER = "local-cluster[2,1,1024]"


@pytest.fixture(scope="module")
def spark():
    session = new_session(MASTER)
    session.conf.set("spark.sql.shuffle.partitions", "2")
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


@pytest.mark.parametrize("scorer", ["score", "probability", "match"])
def test_function_of_sql_gives_the_answers_of_the_model(spark, scorer):
    model = nsed.load(GOLDEN / "levenshtein")
    made = register(spark, "name_sim", model, scorer=scorer)
    spark.createDataFrame(ROWS, ["id", "source", "target"]).createOrReplaceTempView("pairs")
    found = spark.sql("SELECT id, name_sim(source, target) AS answer FROM pairs")
    assert np.array_equal(collected(found, "answer"), getattr(model, scorer)(PAIRS))
    frame = spark.createDataFrame([(1, "ab", None), (2, None, None), (3, "ab", "ab")], "id int, a string, b string")
    assert collected(frame.select("id", made("a", "b").alias("answer")), "answer").tolist()[:2] == [None, None]


def test_function_of_sql_transduces_and_is_the_same_bit_for_bit(spark):
    spark.createDataFrame(ROWS, ["id", "source", "target"]).repartition(3).createOrReplaceTempView("pairs")
    network, transducer = nsed.load(GOLDEN / "matcher-rnn"), nsed.load(GOLDEN / "transducer-exact")
    register(spark, "fixed_sim", network, deterministic=True, device="cpu")
    found = spark.sql("SELECT id, fixed_sim(source, target) AS answer FROM pairs")
    assert np.array_equal(collected(found, "answer"), fixed_scores(network, PAIRS))
    register(spark, "respell", transducer, scorer="transduce")
    found = spark.sql("SELECT id, respell(IF(id = 3, NULL, source)) AS answer FROM pairs WHERE id < 20")
    words = [source for source, _ in PAIRS[:20]]
    best = transducer.transduce_best(words)
    assert collected(found, "answer").tolist() == [None if row == 3 else one for row, one in enumerate(best)]
    with pytest.raises(nsed.NsedError, match="deterministic: got True, with 'transduce', expected False"):
        register(spark, "respell", transducer, scorer="transduce", deterministic=True)
    with pytest.raises(nsed.NsedError, match="model: got a Transducer without `probability`"):
        register(spark, "name_sim", transducer, scorer="probability")


def test_device_of_a_job_is_that_of_its_executors(spark, tmp_path):
    model, inputs = nsed.load(GOLDEN / "matcher-rnn"), written(tmp_path / "in", 20, files=1)
    with pytest.raises(Exception, match="meta"):  # a device that has no numbers
        TableJob(inputs, tmp_path / "out.tsv", engine=SparkEngine(session=spark, device="meta"), **SIZES).score(model)
    TableJob(inputs, tmp_path / "b.tsv", engine=SparkEngine(session=spark, device="cpu"), **SIZES).score(model)
    job = TableJob(inputs, f"{tmp_path}/c/", engine=SparkEngine(session=spark, device="cpu"), **SIZES)
    job.score(model)
    assert json.loads((tmp_path / "c/manifest.json").read_text())["job"]["device"] == "cpu"


def test_program_of_the_page_runs(spark):
    page = (Path(__file__).parents[1] / "docs/libraries.md").read_text(encoding="utf-8")
    space = {}
    exec(re.search(r"```python\n(# score_names\.py\n.*?)```", page, flags=re.DOTALL)[1], space)
    assert space["scored"].columns == ["british", "american", "score"]
    first, second = space["scored"].collect()
    assert first["score"] == fixed_scores(space["model"], [("colour", "color")])[0]
    assert second["score"] is None


def test_function_of_the_page_runs(spark):
    page = (Path(__file__).parents[1] / "docs/libraries.md").read_text(encoding="utf-8")
    space = {}
    exec(re.search(r"```python\n(# name_function\.py\n.*?)```", page, flags=re.DOTALL)[1], space)
    assert [row["word"] for row in space["found"].collect()] == ["odor", "honor"]


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


def written(folder, count, files=2):
    """A folder of TSV files, with a header, an id and an empty line; links to files whose endings lie."""
    folder.mkdir()
    for file, rows in enumerate(np.array_split(np.arange(count), files)):
        lines = [f"{ROWS[row % 300][1]}\t{ROWS[row % 300][2]}\t{row}" for row in rows]
        text = "\n".join(["source\ttarget\tid", *lines[:2], "", *lines[2:]]) + "\n"
        content = folder.with_name(f"{folder.name}-{file}.csv")
        content.write_text(text, encoding="utf-8")
        (folder / f"{file}.tsv").symlink_to(content)
    return folder


SIZES = {"batch_rows": 16, "shard_rows": 32}


@pytest.mark.parametrize(
    ("verb", "name", "output"), [("score", "matcher-rnn", "a.parquet"), ("match", "levenshtein", "a.tsv")]
)
def test_job_writes_what_one_process_writes(spark, tmp_path, verb, name, output):
    model, inputs = nsed.load(GOLDEN / name), written(tmp_path / "in", 257)
    found = []
    for where, engine in (("here", {}), ("there", {"engine": SparkEngine(session=spark)})):
        (tmp_path / where).mkdir()
        job = TableJob(inputs, tmp_path / where / output, ids=["id"], **SIZES, **engine)
        assert getattr(job, verb)(model).written == 257
        assert [path.name for path in (tmp_path / where).iterdir()] == [output]
        found.append((tmp_path / where / output).read_bytes())
    if output.endswith("tsv"):
        assert found[0] == found[1]
    else:
        tables = [nsed.read_pairs(tmp_path / where / output, keep_others=True).others for where in ("here", "there")]
        assert tables[0].equals(tables[1])


def test_transduced_folder_has_the_rows_of_one_process(spark, tmp_path):
    model, inputs = nsed.load(GOLDEN / "transducer-exact"), written(tmp_path / "in", 40, files=1)
    for where, engine in (("here", {}), ("there", {"engine": SparkEngine(session=spark)})):
        job = TableJob(
            inputs, f"{tmp_path}/{where}/", format="tsv", header=False, batch_rows=8, shard_rows=16, **engine
        )
        job.transduce(model)
    texts = ["".join(map(Path.read_text, sorted((tmp_path / where).glob("*.tsv")))) for where in ("here", "there")]
    assert texts[0] == texts[1]
    assert (tmp_path / "there" / "manifest.json").exists()


def test_row_that_cannot_be_used_is_told_with_its_file_and_line(spark, tmp_path):
    inputs = written(tmp_path / "in", 100)
    with (inputs / "1.tsv").open("a") as file:
        file.write("alone\n")
    job = TableJob(inputs, tmp_path / "out.tsv", engine=SparkEngine(session=spark), **SIZES)
    with pytest.raises(nsed.NsedError, match=r"1\.tsv:53.*columns"):
        job.score(nsed.load(GOLDEN / "levenshtein"))


def executors():
    """Processes of executors that this one has started, by way of Spark's driver."""
    found = subprocess.run(["ps", "-eww", "-o", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in found.splitlines()[1:]]
    processes = {int(pid): (int(parent), args) for pid, parent, args in rows}

    def is_ours(pid):
        return pid == os.getpid() or (pid in processes and pid > 1 and is_ours(processes[pid][0]))

    return [pid for pid, (_, args) in processes.items() if "CoarseGrainedExecutorBackend" in args and is_ours(pid)]


@pytest.mark.skipif(sys.platform != "linux", reason="ps shows processes otherwise")
def test_killed_executor_changes_nothing(spark, tmp_path):
    model, inputs = nsed.load(GOLDEN / "matcher-rnn"), written(tmp_path / "in", 400)
    TableJob(inputs, tmp_path / "here.tsv", **SIZES).score(model)
    before = executors()
    assert len(before) == 2

    def kill_one():
        while not any((tmp_path / "there.tsv.parts").glob("part-*.tsv")):
            time.sleep(0.01)
        os.kill(before[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    TableJob(inputs, tmp_path / "there.tsv", engine=SparkEngine(session=spark), **SIZES).score(model)
    killer.join(1)
    assert not killer.is_alive(), "nothing was killed while the job ran"
    assert (tmp_path / "there.tsv").read_bytes() == (tmp_path / "here.tsv").read_bytes()
    assert before[0] not in executors()


def test_stream_and_errors_that_teach(spark, monkeypatch):
    with pytest.raises(nsed.NsedError, match="expected files, and --output FILE or FOLDER/, for spark"):
        TableJob(nsed.Pairs(["a"], ["b"]), engine=SparkEngine(session=spark)).score(nsed.load(GOLDEN / "levenshtein"))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(nsed.NsedError, match="spark, without Java, expected Java 17 or later"):
        new_session("local[1]")


def test_errors_can_be_pickled():
    error = nsed.errors.DataError("a.tsv", "too few columns", line=3)
    again = pickle.loads(pickle.dumps(error))  # our own
    assert (str(again), again.line, type(again)) == (str(error), 3, type(error))


@pytest.fixture(scope="module")
def spelling():
    words = ["".join(word) for word in np.random.default_rng(1).choice(list("abc"), size=(40, 4))]
    pairs = [(w, w.replace("a", "b", 1)) for w in words] + [(w, w[::-1] + "c") for w in words]
    return nsed.OddsMatcher.fit(pairs, [1] * 40 + [0] * 40, train__steps=10)


@pytest.fixture
def people(tmp_path):
    """Two tables of 60 records, the second one of the same people; the first is a link to a file whose ending lies."""
    names = ["".join(one) for one in np.random.default_rng(2).choice(list("abc"), size=(60, 5))]
    towns = [["cab", "bac", "acb", "bca"][row % 4] for row in range(60)]
    lines = [f"a{row}\t{name}\t{towns[row]}\t{row % 7}\n" for row, name in enumerate(names)]
    (tmp_path / "content.csv").write_text("id\tname\ttown\tborn\n" + "".join(lines), encoding="utf-8")
    (tmp_path / "a.tsv").symlink_to(tmp_path / "content.csv")
    lines = [f"b{row}\t{name.replace('a', 'b', 1)}\t{towns[row]}\t{row % 7}\n" for row, name in enumerate(names)]
    (tmp_path / "b.tsv").write_text("id\tname\ttown\tborn\n" + "".join(reversed(lines)), encoding="utf-8")
    known = "".join(f"a{row}\tb{row}\n" for row in range(0, 60, 2))
    (tmp_path / "known.tsv").write_text("source\ttarget\n" + known, encoding="utf-8")
    return tmp_path


def link_job(people, where, *, second="b.tsv", engine=None, **settings):
    """A job whose links, and clusters if there are any, go into a folder of their own."""
    (people / where).mkdir(exist_ok=True)
    if settings.pop("clusters", False):
        settings["clusters"] = people / where / "clusters.tsv"
    right = None if second is None else people / second
    return LinkJob(
        people / "a.tsv", right, people / where / "links.tsv", id="id", engine=engine, shard_rows=7, **settings
    )


def what_is_in(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


JOBS = {
    "two text columns and others": lambda model: {
        "on": [TextColumn("name", model), TextColumn("town", model, 0.5)],
        "exact": ["town"],
        "numeric": [NumericColumn("born", 1.0)],
        "threshold": 0.2,
    },
    "clusters": lambda model: {
        "second": None,
        "on": [TextColumn("name", model)],
        "assign": "all",
        "clusters": True,
        "threshold": 0.6,
    },
    "rules": lambda model: {
        "on": [TextColumn("name", model)],
        "rules": ["a.town = b.town", "a.born = b.born"],
        "threshold": 0.3,
    },
    "ranker and weights": lambda model: {
        "on": [TextColumn("name", model)],
        "ranker": nsed.load(GOLDEN / "matcher-rnn"),
        "k": 3,
        "labels": "known.tsv",
        "learn": True,
        "labels_complete": True,
    },
    "network, redacted": lambda model: {
        "on": [TextColumn("name", nsed.load(GOLDEN / "matcher-rnn"))],
        "redact": True,
        "threshold": 0.1,
    },
}


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning", "ignore::nsed.errors.DoubtfulLinksWarning")
@pytest.mark.parametrize("name", JOBS)
def test_links_are_those_of_one_process(spark, people, spelling, monkeypatch, name):
    if name == "rules":
        pytest.importorskip("duckdb")
    monkeypatch.chdir(people)
    here = link_job(people, "here", **JOBS[name](spelling)).run()
    there = link_job(people, "there", **JOBS[name](spelling), engine=SparkEngine(session=spark)).run()
    assert here == there
    assert here.links > 5
    assert what_is_in(people / "here") == what_is_in(people / "there")


def test_tables_of_relative_names_are_found_by_executors(spark, people, spelling, monkeypatch):
    monkeypatch.chdir(people)
    on, engine = [TextColumn("name", spelling)], SparkEngine(session=spark)
    assert LinkJob("a.tsv", "b.tsv", "links.tsv", on=on, engine=engine, threshold=0.1).run().links


@pytest.mark.skipif(sys.platform != "linux", reason="ps shows processes otherwise")
@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_executor_killed_while_it_links_changes_nothing(spark, people, spelling):
    settings = {**JOBS["two text columns and others"](spelling), "engine": SparkEngine(session=spark)}
    link_job(people, "here", **settings | {"engine": None}).run()
    before, parts = executors(), people / "there" / "links.tsv.parts"
    assert before

    def kill_one():
        while not any(parts.glob("part-*.arrow")):
            time.sleep(0.01)
        os.kill(before[0], signal.SIGKILL)

    killer = threading.Thread(target=kill_one, daemon=True)
    killer.start()
    link_job(people, "there", **settings).run()
    killer.join(1)
    assert not killer.is_alive(), "nothing was killed while the job ran"
    assert what_is_in(people / "here") == what_is_in(people / "there")
    assert before[0] not in executors()


class Stopped:
    """An engine that is interrupted when so many shards are done."""

    device = "cpu"

    def __init__(self, session, after):
        self.engine, self.after = SparkEngine(session=session), after

    def compare(self, job, folder, plans):
        self.engine.compare(job, folder, plans[: self.after])
        raise KeyboardInterrupt


@pytest.mark.parametrize("second", ["b.tsv", None])
def test_linkage_begun_on_a_cluster_goes_on_here_and_the_other_way_round(spark, people, spelling, monkeypatch, second):
    settings = {"second": second, "on": [TextColumn("name", spelling)], "assign": "all", "threshold": 0.3}
    link_job(people, "whole", **settings).run()
    with pytest.raises(KeyboardInterrupt) as stopped:
        link_job(people, "cluster", **settings, engine=Stopped(spark, 3)).run()
    assert "21 rows are finished and kept" in stopped.value.__notes__[0]
    assert link_job(people, "cluster", **settings, resume=True).run().links
    write, count = LinkRun.write, iter(range(100))
    stop = lambda self, *given: write(self, *given) if next(count) < 3 else 1 / 0  # noqa: E731
    with monkeypatch.context() as patched:
        patched.setattr(LinkRun, "write", stop)
        with pytest.raises(ZeroDivisionError):
            link_job(people, "local", **settings).run()
    link_job(people, "local", **settings, resume=True, engine=SparkEngine(session=spark)).run()
    assert what_is_in(people / "whole") == what_is_in(people / "cluster") == what_is_in(people / "local")


def test_what_executors_warn_of_is_told_once_here_and_no_string_of_a_redacted_job(spark, people, spelling, recwarn):
    with (people / "a.tsv").open("a", encoding="utf-8") as file:
        file.writelines(f"x{row}\tabcabé\tcab\t1\n" for row in range(30))
    settings = {"on": [TextColumn("name", spelling)], "threshold": 0.3}
    link_job(people, "here", **settings).run()
    told = [(one.category, str(one.message)) for one in recwarn if one.category is UnknownSymbolWarning]
    assert told
    recwarn.clear()
    link_job(people, "there", **settings, engine=SparkEngine(session=spark)).run()
    assert [(one.category, str(one.message)) for one in recwarn] == told
    recwarn.clear()
    link_job(people, "redacted", **settings, redact=True, engine=SparkEngine(session=spark)).run()
    assert not recwarn.list
    assert all("é" not in content.decode() for content in what_is_in(people / "redacted").values())


def test_what_an_executor_complains_of_is_an_error_here(spark, people, spelling):
    class Gone(Stopped):
        def compare(self, job, folder, plans):
            (people / "b.tsv").unlink()
            self.engine.compare(job, folder, plans)

    with pytest.raises(DataError, match=r"b\.tsv.*No such file"):
        link_job(people, "there", on=[TextColumn("name", spelling)], engine=Gone(spark, 0)).run()
    assert not list((people / "there").iterdir())


def test_a_folder_that_executors_do_not_see_is_named(spark, people, spelling):
    class Elsewhere(Stopped):
        def compare(self, job, folder, plans):
            shutil.rmtree(folder.path)
            self.engine.compare(job, folder, plans)

    message = r"links\.tsv: an executor cannot use the folder .*links\.tsv\.parts: No such file .*executors see"
    with pytest.raises(DataError, match=message):
        link_job(people, "there", on=[TextColumn("name", spelling)], engine=Elsewhere(spark, 0)).run()


def finished(*arguments):
    """Exit status, output and errors of a command in a process of its own, which has a session of its own."""
    with nsed_process(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        told = process.communicate()
    return process.returncode, *told


def test_command_links_on_a_cluster_and_a_master_that_nobody_knows_is_named(people, spelling):
    spelling.save(people / "model")
    options = ["--on", "name", "--model", people / "model", "--id", "id", "--threshold", 0.6, "--shard-rows", 7]
    given = ["dedupe", people / "a.tsv", *options, "--clusters", people / "clusters.tsv", "-o", people / "pairs.tsv"]
    found = []
    for engine in ([], ["--engine", "spark", "--master", MASTER]):
        status, told, errors = finished(*given, *engine)
        assert status == 0, errors
        names = ("pairs.tsv", "pairs.tsv.manifest.json", "pairs.tsv.html", "clusters.tsv")
        found.append((told, [(people / name).read_bytes() for name in names]))
        for name in names:
            (people / name).unlink()
    assert found[0] == found[1]
    status, _, errors = finished(*given, "--engine", "spark", "--master", "mars")
    message = " ".join(errors.split())
    assert status == 2
    assert "--master: got mars" in message
    assert "expected local[N], local-cluster[EXECUTORS,CORES,MB], spark://HOST:PORT" in message
    assert not (people / "pairs.tsv.parts").exists()
