"""`nsed link`, `dedupe`, `cluster links` and `threshold`: what they write and say, and what they refuse."""

import random
import subprocess
import sys
import time
from xml.etree import ElementTree

import pytest

import nsed
from nsed.errors import ArgumentError, DataError, MissingExtraError
from support.commands import nsed_process, run

WORDS = ["gray", "gala", "lay", "ray", "yard", "drag"]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("link")
    pairs = [(w, w.replace("a", "e"), 1) for w in WORDS * 3] + [(w, w[::-1] + "o", 0) for w in WORDS * 3]
    rows = "".join(f"{source}\t{target}\t{label}\n" for source, target, label in pairs)
    (folder / "labelled.tsv").write_text(f"source\ttarget\tlabel\n{rows}", encoding="utf-8")
    nsed.OddsMatcher.fit(nsed.read_pairs(folder / "labelled.tsv"), train__steps=10).save(folder / "model")
    (folder / "a.tsv").write_text("id\tword\n1\tgray\n2\tdrag\n", encoding="utf-8")
    (folder / "b.tsv").write_text("id\tword\n7\tdreg\n8\tgrey\n", encoding="utf-8")
    (folder / "known.tsv").write_text("source\ttarget\n1\t8\n2\t7\n", encoding="utf-8")
    return folder


def test_link_says_precision_and_recall_and_writes_links(files):
    options = ["--on", "word", "--model", files / "model", "--id", "id", "-o", files / "links.tsv"]
    told = run("link", files / "a.tsv", files / "b.tsv", *options, "--labels", files / "known.tsv", "--precision", 0.9)
    assert "2 links of 2 and 2 records" in told
    assert "known links among the candidates: 100.00%" in told
    assert "precision 100.00%" in told
    assert "parts of them held out: judged by what the others have chosen" in told
    rows = [line.split("\t")[:4] for line in (files / "links.tsv").read_text(encoding="utf-8").splitlines()]
    assert rows == [["id_a", "id_b", "word_a", "word_b"], ["1", "8", "gray", "grey"], ["2", "7", "drag", "dreg"]]


def test_ranker_of_candidates_and_links(files):
    (files / "words.txt").write_text("grey\ndreg\nrey\n", encoding="utf-8")
    (files / "queries.txt").write_text("gray\n", encoding="utf-8")
    chosen = ["--model", files / "model", "--by", "operations", "--ranker", files / "model", "--k", 1]
    one = run("candidates", files / "words.txt", files / "queries.txt", *chosen).splitlines()
    assert [line.split("\t")[:3] for line in one[1:]] == [["gray", "grey", "1"]]
    alone = run("candidates", files / "words.txt", files / "queries.txt", *chosen[:4], "--k", 1).splitlines()
    assert alone[1].split("\t")[3] != one[1].split("\t")[3]
    options = ["--on", "word", "--id", "id", "-o", files / "ranked.tsv", *chosen]
    assert "2 links" in run("link", files / "a.tsv", files / "b.tsv", *options)


@pytest.mark.parametrize("verb", ["link", "dedupe"])
def test_a_cluster_without_its_extra_is_said_before_anything_is_read(files, monkeypatch, verb):
    monkeypatch.setattr("nsed.spark.find_spec", lambda name: None)
    tables = ["no.tsv", "none.tsv"][: 2 if verb == "link" else 1]
    options = ["--on", "word", "--model", files / "no-model", "-o", files / "none.tsv", "--engine", "spark"]
    with pytest.raises(MissingExtraError, match=r"pyspark is not installed: pip install .*\[spark\]"):
        run(verb, *tables, *options)


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")  # the model's sources have no e
def test_dedupe_numbers_clusters(files):
    (files / "both.tsv").write_text("word\ngray\ngrey\ndrag\ndreg\n", encoding="utf-8")
    options = "--on", f"word={files / 'model'}", "-o", files / "pairs.csv", "--threshold", 0.5
    assert "links among 4 records, " in run("dedupe", files / "both.tsv", *options)
    head, *rows = [line.split(",") for line in (files / "pairs.csv").read_text(encoding="utf-8").splitlines()]
    clusters = {(row[0], row[1]): row[head.index("cluster")] for row in rows}
    assert clusters["1", "2"] == "1"
    assert clusters["3", "4"] != "1"


def cells(path):
    head, *rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [dict(zip(head, row, strict=True)) for row in rows]


def numbers(path):
    return {row["id"]: row["cluster"] for row in cells(path)}


def groups(path):
    """Clusters as sets of ids, whatever their numbers."""
    found = {}
    for name, cluster in numbers(path).items():
        found.setdefault(cluster, set()).add(name)
    return set(map(frozenset, found.values()))


@pytest.fixture
def deduped(files, tmp_path):
    """Links and clusters that nsed dedupe wrote, of records whose ids are in no order."""
    pytest.importorskip("duckdb")
    forms = [*WORDS, *(word.replace("a", "e") for word in WORDS), "xxxx", *WORDS[:3]]
    order = random.Random(0).sample(range(len(forms)), len(forms))
    rows = "".join(f"n{row}\t{forms[row]}\n" for row in order)
    (tmp_path / "people.tsv").write_text(f"id\tword\n{rows}", encoding="utf-8")
    options = ["--on", "word", "--model", files / "model", "--id", "id", "--assign", "all", "--threshold", 0.5]
    outputs = ["-o", tmp_path / "pairs.parquet", "--clusters", tmp_path / "all.tsv"]
    run("dedupe", tmp_path / "people.tsv", *options, *outputs)
    return tmp_path


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")  # the model's sources have no e
def test_cluster_links_of_what_dedupe_wrote_are_its_own_clusters(deduped):
    made = ["cluster", "links", deduped / "pairs.parquet", "--records", deduped / "people.tsv"]
    told = run(*made, "-o", deduped / "again.tsv")
    expected = groups(deduped / "all.tsv")
    assert len(expected) < 16
    assert groups(deduped / "again.tsv") == expected
    assert f"{len(expected)} clusters of 16 records by " in told
    told = run(*made, "-o", deduped / "kept.tsv", "--previous", deduped / "all.tsv")
    assert f"since --previous: {len(expected)} ids kept, 0 new; 0 clusters split, 0 merged" in told
    assert numbers(deduped / "kept.tsv") == numbers(deduped / "all.tsv")


def test_cluster_links_of_what_match_wrote_leaves_out_pairs_that_do_not_match(files, tmp_path):
    pytest.importorskip("duckdb")
    rows = ["id_a\tid_b\tsource\ttarget", "1\t2\tgray\tgrey", "2\t3\tgray\tyargo", "4\t5\tlay\tley"]
    (tmp_path / "pairs.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    for ending in (".parquet", ".tsv"):
        scored = tmp_path / f"scored{ending}"
        run("match", files / "model", tmp_path / "pairs.tsv", "--id", "id_a,id_b", "-o", scored)
        run("cluster", "links", scored, "-o", tmp_path / "clusters.tsv")
        assert numbers(tmp_path / "clusters.tsv") == {"1": "1", "2": "1", "3": "2", "4": "3", "5": "3"}
        told = run("cluster", "links", scored, "-o", tmp_path / "clusters.tsv", "--threshold", 0)
        assert "2 clusters of 5 records by 3 links, at most 3 records in one" in told


def test_cluster_links_by_average_linkage(tmp_path):
    pytest.importorskip("duckdb")
    rows = [("a", "b", 0.9), ("b", "c", 0.9), ("a", "c", 0.9), ("c", "x", 0.9), ("x", "y", 0.9)]
    text = "".join(f"{one}\t{other}\t{score}\n" for one, other, score in rows)
    (tmp_path / "links.tsv").write_text(f"left\tright\tscore\n{text}", encoding="utf-8")
    made = ["cluster", "links", tmp_path / "links.tsv", "--columns", "left,right", "--probability", "score"]
    run(*made, "--threshold", 0.6, "-o", tmp_path / "chains.tsv")
    assert groups(tmp_path / "chains.tsv") == {frozenset("abcxy")}
    run(*made, "--threshold", 0.6, "--method", "average", "-o", tmp_path / "average.tsv")
    assert groups(tmp_path / "average.tsv") == {frozenset("abc"), frozenset("xy")}


def test_cluster_links_needs_the_extra_link(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    (tmp_path / "links.tsv").write_text("id_a\tid_b\n1\t2\n", encoding="utf-8")
    with pytest.raises(MissingExtraError, match=r"the package duckdb is not installed: .*\[link\]"):
        run("cluster", "links", tmp_path / "links.tsv", "-o", tmp_path / "clusters.tsv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--tune", "x"],
            "--tune: got an option that nsed cluster links does not have, expected one of its own, --col",
        ),
        (["--partial"], "--partial: got an option that .* --partial is one of nsed cluster without the word links"),
        (["--format=cldf"], "--format: got an option that nsed cluster links does not have"),
        (["--columns", "a"], "--columns: got a, expected two names of columns"),
        (["--columns", "a,b"], "links: got no column 'a', 'b', expected columns that are there: id_a, id_b"),
        (["--method", "average"], "threshold: got none, expected a number: average looks at pairs"),
        (["--threshold", 0.5], "links: got no column 'probability'"),
    ],
)
def test_options_that_cannot_be_are_refused_of_links(tmp_path, options, message):
    pytest.importorskip("duckdb")
    (tmp_path / "links.tsv").write_text("id_a\tid_b\n1\t2\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match=message):
        run("cluster", "links", tmp_path / "links.tsv", "-o", tmp_path / "clusters.tsv", *options)
    with pytest.raises(DataError, match="this output is an input too"):
        run("cluster", "links", tmp_path / "links.tsv", "-o", tmp_path / "links.tsv")


def test_threshold_shows_and_writes_the_curve(files):
    told = run("threshold", files / "model", files / "labelled.tsv", "--precision", 0.8, "-o", files / "curve.tsv")
    assert [line.split(":")[0] for line in told.splitlines()[:3]] == ["own", "best F1", "precision 0.8"]
    assert (files / "curve.tsv").read_text(encoding="utf-8").startswith("threshold\tmatches\tprecision\tprecision_low")


@pytest.mark.parametrize("ending", ["svg", "html", "png", "pdf"])
def test_threshold_draws_its_curve(files, ending):
    if ending in ("png", "pdf"):
        pytest.importorskip("matplotlib")
    run("threshold", files / "model", files / "labelled.tsv", "-o", files / f"curve.{ending}")
    drawn = (files / f"curve.{ending}").read_bytes()
    if ending in ("svg", "html"):
        text = drawn.decode()
        assert text.count('class="series') == 3
        assert all(
            name in text for name in ("Precision, recall and F1 by threshold", ">precision<", ">recall<", ">F1<")
        )
    if ending == "svg":
        assert ElementTree.fromstring(text).tag == "{http://www.w3.org/2000/svg}svg"
    assert drawn.startswith({"svg": b"<svg", "html": b"<!DOCTYPE", "png": b"\x89PNG", "pdf": b"%PDF"}[ending])


def test_pictures_that_cannot_be_drawn_are_said_before_any_work(files, monkeypatch):
    with pytest.raises(ArgumentError, match=r"--output: got .*curve\.jpg, expected \.svg, \.html, \.png"):
        run("threshold", files / "model", files / "labelled.tsv", "-o", files / "curve.jpg")
    monkeypatch.setattr("nsed.jobs.link_report.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match="matplotlib is not installed"):
        run("threshold", files / "model", files / "labelled.tsv", "-o", files / "curve.png")


@pytest.mark.parametrize(("label", "matches"), [(0, 0), (1, 2)])
def test_a_threshold_is_not_chosen_on_labels_of_one_kind(files, label, matches):
    (files / "one.tsv").write_text(f"gray\toyarg\t{label}\nlay\toyal\t{label}\n", encoding="utf-8")
    message = rf"LABELLED: got .*one\.tsv, {matches} of whose 2 pairs match, expected pairs that match, label 1, and"
    with pytest.raises(ArgumentError, match=message):
        run("threshold", files / "model", files / "one.tsv", "-o", files / "none.tsv")
    assert not (files / "none.tsv").exists()


def test_the_own_threshold_that_is_shown_is_the_models_and_not_the_nearest_probability(files, monkeypatch):
    own = nsed.load(files / "model").threshold_probability
    told = run("threshold", files / "model", files / "labelled.tsv")
    assert told.startswith(f"own: threshold {own:.6f}: precision ")
    assert own not in nsed.load(files / "model").probability(nsed.read_pairs(files / "labelled.tsv"))
    (files / "far.tsv").write_text("gray\toyarg\t0\nlay\toyal\t1\n", encoding="utf-8")
    monkeypatch.setattr(nsed.OddsMatcher, "probability", lambda *given: [0.1, 0.2])
    assert run("threshold", files / "model", files / "far.tsv").startswith(f"own: no pair reaches {own:.6f}\n")


def test_links_show_one_threshold_with_the_figures_on_labels(files):
    options = ["--on", "word", "--model", files / "model", "--id", "id", "-o", files / "one.tsv"]
    told = run("link", files / "a.tsv", files / "b.tsv", *options, "--labels", files / "known.tsv", "--threshold", 0.4)
    assert "probability of at least 0.400000" in told
    assert "threshold 0.400000: precision 100.00%" in told


def test_threshold_of_a_model_that_makes_no_decisions_is_no_attribute_error(files, transducer):
    with pytest.raises(ArgumentError, match=r"MODEL: got .*, which makes no decisions, expected a matcher"):
        run("threshold", transducer, files / "labelled.tsv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--on", "word"], "word without a model, expected --model MODEL, or --on word=MODEL"),
        (["--on", "word=MODEL", "--weight", "word=much"], "expected COLUMN=NUMBER"),
        (["--on", "word=MODEL", "--weight", "word=nan"], "expected COLUMN=NUMBER"),
        (["--on", "word=MODEL", "--numeric", "id=inf"], "expected COLUMN=SCALE, a number above 0"),
        (["--on", "word=MODEL", "--weight", "town=2"], "expected a column that is compared: word"),
    ],
)
def test_options_that_cannot_be_are_refused(files, options, message):
    given = [option.replace("MODEL", str(files / "model")) for option in options]
    with pytest.raises(ArgumentError, match=message):
        run("link", files / "a.tsv", files / "b.tsv", *given, "-o", files / "none.tsv")


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_evidence_is_learned_and_reviewed_and_nothing_is_said_of_strings(files, tmp_path):
    pytest.importorskip("duckdb")
    run("data", "people", "--count", 120, "--links", tmp_path / "same.tsv", "-o", tmp_path / "people.tsv")
    options = [
        "--on",
        "surname",
        "--model",
        files / "model",
        "--id",
        "id",
        "--exact",
        "suburb",
        "--numeric",
        "postcode=1",
    ]
    rules = ["--block", "given_name", "--rule", "a.postcode = b.postcode", "--learn"]
    rules += ["--labels", tmp_path / "same.tsv", "--labels-complete"]
    more = ["--review", 0.01, "--redact", "--why", "rec-1-org", "-o", tmp_path / "pairs.tsv"]
    told = run("dedupe", tmp_path / "people.tsv", *options, *rules, *more)
    assert f"pairs to review: {tmp_path / 'pairs.review.tsv'}" in told.replace("\n", "")
    head = (tmp_path / "pairs.tsv").read_text(encoding="utf-8").splitlines()[0].split("\t")
    evidence = ["log_odds_surname", "agreement_suburb", "nearness_postcode"]
    assert head == ["id_a", "id_b", "probability", "log_odds", *evidence, "cluster"]
    with pytest.raises(ArgumentError, match="expected COLUMN=SCALE, a number above 0"):
        run("dedupe", tmp_path / "people.tsv", *options, "--numeric", "born=none", "-o", tmp_path / "pairs.tsv")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_process_goes_on_to_the_same_output(files, tmp_path, seed):
    rows = [f"{number}\t{WORDS[number % 6]}{WORDS[number // 6 % 6]}" for number in range(400)]
    (tmp_path / "a.tsv").write_text("id\tword\n" + "\n".join(rows) + "\n", encoding="utf-8")
    command = ["link", tmp_path / "a.tsv", tmp_path / "a.tsv", "--on", f"word={files / 'model'}", "--id", "id"]
    command += ["--shard-rows", 4, "--resume", "-o"]
    run(*command, tmp_path / "whole.tsv")
    process = nsed_process(*command, tmp_path / "killed.tsv", stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while not (tmp_path / "killed.tsv.parts" / "part-00001.arrow").exists():
        assert process.poll() is None
        time.sleep(0.005)
    time.sleep(random.Random(seed).random() / 4)
    process.kill()
    process.wait()
    if (tmp_path / "killed.tsv.parts").exists():  # else it was fast enough
        run(*command, tmp_path / "killed.tsv")
    with pytest.raises(
        DataError, match=r"killed\.tsv: there is no unfinished job of this file: it is finished, or of an"
    ):
        run(*command, tmp_path / "killed.tsv")
    assert (tmp_path / "killed.tsv").read_bytes() == (tmp_path / "whole.tsv").read_bytes()
    assert not (tmp_path / "killed.tsv.parts").exists()


def test_cluster_links_after_an_option_is_told_where_links_belongs(tmp_path):
    (tmp_path / "links.tsv").write_text("id_a\tid_b\n1\t2\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match=r"MODEL: got links, expected .* nsed cluster links TABLE -o FILE"):
        run("cluster", "--threshold", 0.5, "links", tmp_path / "links.tsv")
