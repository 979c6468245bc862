"""Linkage: links, assignment, evidence of several columns, duplicates, and a kill between any two shards."""

import copy
import errno
import json
import math
import tracemalloc
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import nsed
from nsed.errors import ArgumentError, DataError, DoubtfulLinksWarning, MissingExtraError, UnknownIdWarning
from nsed.evaluate.calibration import Calibration
from nsed.evaluate.matching import threshold_at_precision, threshold_curve
from nsed.jobs import LinkJob, NumericColumn, TextColumn, table_files
from nsed.jobs.assignment import DecidedPairs, KnownLinks, ScoredPairs, ScoredShards, assigned
from nsed.jobs.blocking import PairFinder, equal_keys, write_rule_pairs
from nsed.jobs.candidates import Candidates
from nsed.jobs.linking import LinkRun
from nsed.jobs.records import LinkEvidence, Records, model_odds, prior_of, read_table, with_missing
from nsed.text.batch import MAX_CELLS

NAMES = ["gray", "gala", "lay", "ray", "yard", "drag", "garland", "dally", "radar", "lard"]


@pytest.fixture(scope="module")
def model():
    words = NAMES * 3
    pairs = [(w, w.replace("a", "e")) for w in words] + [(w, w[::-1] + "o") for w in words]
    return nsed.OddsMatcher.fit(pairs, [1] * len(words) + [0] * len(words), train__steps=10)


@pytest.fixture
def tables(tmp_path):
    left = ["id\tname\ttown", *(f"a{row}\t{name}\t{'ray' if row % 2 else 'lay'}" for row, name in enumerate(NAMES))]
    other = [(f"b{row}", name.replace("a", "e"), "ray" if row % 2 else "lay") for row, name in enumerate(NAMES)]
    right = ["id\tname\ttown", *("\t".join(row) for row in reversed(other))]
    (tmp_path / "a.tsv").write_text("\n".join(left) + "\n", encoding="utf-8")
    (tmp_path / "b.tsv").write_text("\n".join(right) + "\n", encoding="utf-8")
    known = ["source\ttarget", *(f"a{row}\tb{row}" for row in range(len(NAMES)))]
    (tmp_path / "known.tsv").write_text("\n".join(known) + "\n", encoding="utf-8")
    return tmp_path


def job(tables, model, **settings):
    on, output = settings.pop("on", [TextColumn("name", model)]), settings.pop("output", tables / "links.tsv")
    return LinkJob(tables / "a.tsv", tables / "b.tsv", output, on=on, id="id", **settings)


def rows(path):
    head, *lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [dict(zip(head, line, strict=True)) for line in lines]


def test_a_pair_whose_score_is_the_threshold_matches_and_is_a_link(tables, model):
    for number, name in enumerate(NAMES):
        pair, strict = (name, name.replace("a", "e")), copy.copy(model)
        strict.criterion = model.criterion._replace(threshold=float(model.score([pair])[0]))
        assert strict.match([pair]).all()
        found = job(tables, strict, overwrite=True, labels=tables / "known.tsv").run()
        assert found.at_threshold.precision > 0
        assert (f"a{number}", f"b{number}") in {(one["id_a"], one["id_b"]) for one in rows(tables / "links.tsv")}


def test_what_rounding_takes_of_a_probability_costs_no_link():
    odds = np.log(0.7 / 0.3) + np.array([0.0, -1e-11, -1e-6])
    scored = ScoredPairs(np.arange(3), np.arange(3), odds, np.arange(3))
    assert DecidedPairs(scored, [], 0.7, None, 0.7).between(0.7).left.tolist() == [0, 1]


def pairs_found(left, right, k):
    """Pairs of rows that a search for k candidates finds, of two columns, or of one with itself."""
    first = Records.of(pa.table({"name": left}), ["name"], None)
    second = first if right is None else Records.of(pa.table({"name": right}), ["name"], None)
    found = PairFinder(first, second, Candidates(["ngrams"], k=k), joined=False, rules=None).of(range(len(left)))
    return sorted(set(zip(found.left.tolist(), found.right.tolist(), strict=True)))


def test_records_of_one_table_have_candidates_beside_themselves():
    assert pairs_found(["gray", "lorda", "graya", "lord"], None, 1) == [(0, 2), (1, 3)]


def test_equal_strings_are_one_candidate_but_ten_pairs_at_most():
    assert pairs_found(["gray"], ["lord", *["graya"] * 3], 1) == [(0, 1), (0, 2), (0, 3)]
    assert pairs_found(["gray"], ["lord", *["graya"] * 30], 1) == [(0, row) for row in range(1, 11)]


def test_pairs_that_are_impossible_say_no_more_than_a_model_without_a_slope(model):
    sure = copy.copy(model)
    sure.criterion = model.criterion._replace(calibration=Calibration(0.0, 0.5))
    sure.score = lambda pairs: np.array([-np.inf, 1.0])
    left, right = with_missing(["gray", "lay"]), with_missing(["grey", "ley"])
    found = model_odds(sure, left, right, (np.array([0, 1]), np.array([0, 1])))
    assert found.tolist() == pytest.approx([0.5 - (prior_of(sure) or 0.0)] * 2)


@pytest.mark.filterwarnings("ignore::nsed.errors.DoubtfulLinksWarning")  # labels of linked records alone
def test_a_record_is_no_duplicate_of_itself_though_labels_say_so(tables):
    people = Records.of(read_table(tables / "a.tsv", "name"), ["name"], "id", path="a.tsv")
    (tables / "self.tsv").write_text("source\ttarget\na1\ta1\na1\ta2\n", encoding="utf-8")
    assert KnownLinks(tables / "self.tsv", people, people).total == 1


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_wrong_links_of_records_without_any_count_where_labels_are_complete_or_say_so(tables, model):
    """Half of the records of either table have no counterpart, and every record is linked to something."""
    left, right = [(tables / name).read_text(encoding="utf-8").splitlines() for name in ("a.tsv", "b.tsv")]
    others = [name[::-1] + "u" for name in NAMES]
    for file, lines, prefix in (("a.tsv", left, "x"), ("b.tsv", right, "y")):
        more = [f"{prefix}{row}\t{name}{'' if prefix == 'x' else 'e'}\tlay" for row, name in enumerate(others)]
        (tables / file).write_text("\n".join([*lines, *more]) + "\n", encoding="utf-8")
    settings = dict(labels=tables / "known.tsv", threshold=0, overwrite=True)
    with pytest.warns(DoubtfulLinksWarning, match="every record in it has a link, so wrong links of 10 other"):
        assert job(tables, model, **settings).run().at_threshold.precision == 1
    complete = job(tables, model, labels_complete=True, **settings).run()
    links = {(one["id_a"], one["id_b"]) for one in rows(tables / "links.tsv")}
    right_ones = sum((f"a{row}", f"b{row}") in links for row in range(len(NAMES)))
    assert complete.at_threshold.precision == right_ones / len(links) < 0.8
    strangers = "".join(f"x{row}\tnobody\t0\n" for row in range(len(NAMES)))
    known = "".join(f"a{row}\tb{row}\t1\n" for row in range(len(NAMES)))
    (tables / "known.tsv").write_text("source\ttarget\tlabel\n" + known + strangers, encoding="utf-8")
    assert job(tables, model, **settings).run().at_threshold == complete.at_threshold
    with pytest.raises(ArgumentError, match="--labels-complete: got no labels"):
        job(tables, model, labels_complete=True).check()


def test_one_cluster_of_nearly_all_records_is_told(tables, model):
    names = [f"{a}{b}{c}" for a in "gald" for b in "ary" for c in "gdlyra"]
    (tables / "a.tsv").write_text("id\tname\n" + "".join(f"{n}\t{n}\n" for n in names), encoding="utf-8")
    loose = LinkJob(
        tables / "a.tsv", None, tables / "same.tsv", on=[TextColumn("name", model)], id="id", threshold=0, assign="all"
    )
    with pytest.warns(DoubtfulLinksWarning, match="one cluster has 72 of 72 records"):
        loose.run()


def test_every_record_has_a_cluster_also_without_a_duplicate(tables, model):
    both = ["id\tname", "1\tgray", "2\tlay", "3\tgrey", "4\tdrag"]
    (tables / "a.tsv").write_text("\n".join(both) + "\n", encoding="utf-8")
    settings = dict(on=[TextColumn("name", model)], id="id", assign="all", threshold=0.5)
    LinkJob(tables / "a.tsv", None, tables / "same.tsv", clusters=tables / "all.tsv", **settings).run()
    links = [(one["id_a"], one["id_b"], one["cluster"]) for one in rows(tables / "same.tsv")]
    assert links == [("1", "3", "1")]
    assert [tuple(one.values()) for one in rows(tables / "all.tsv")] == [("1", "1"), ("2", "2"), ("3", "1"), ("4", "3")]
    before = (tables / "a.tsv").read_bytes()
    for file in ("a.tsv", "same.tsv", "same.review.tsv"):
        given = {"clusters": tables / file, "review": 0.1, "overwrite": True, **settings}
        with pytest.raises(DataError, match=r"this output is an input too|two outputs have this name"):
            LinkJob(tables / "a.tsv", None, tables / "same.tsv", **given).run()
    assert (tables / "a.tsv").read_bytes() == before
    with pytest.raises(ArgumentError, match="--clusters: got two tables"):
        job(tables, model, clusters=tables / "all.tsv").check()


def test_a_pair_too_long_is_no_evidence_and_told_instead_of_the_end(tables, model, monkeypatch):
    monkeypatch.setattr("nsed.jobs.records.MAX_CELLS", 60)
    with pytest.warns(DoubtfulLinksWarning, match="too long to be compared: 1, one has 7 and 7 symbols"):
        summary = job(tables, model).run()
    assert {one["name_a"] for one in rows(tables / "links.tsv")} == {name for name in NAMES if name != "garland"}
    assert summary.links == len(NAMES) - 1


def test_recall_does_not_hold_the_pairs_of_all_shards_in_memory(tables):
    class Shards(ScoredShards):
        def __iter__(self):
            for _ in range(50):
                yield LinkEvidence(np.zeros(20_000, np.int32), np.zeros(20_000, np.int32), np.zeros((20_000, 0)))

    left, right = (Records.of(read_table(tables / f"{one}.tsv", "id"), ["name"], "id") for one in "ab")
    known = KnownLinks(tables / "known.tsv", left, right)
    tracemalloc.start()
    try:
        assert Shards([], []).recall(known) == 0.0
        assert tracemalloc.get_traced_memory()[1] < 50 * 20_000 * 8 / 2
    finally:
        tracemalloc.stop()


def test_a_link_by_other_evidence_whose_strings_are_too_long_has_a_report(tables, model):
    for table in (tables / "a.tsv", tables / "b.tsv"):
        head, *lines = (line.split("\t") for line in table.read_text(encoding="utf-8").splitlines())
        coded = [[own, name if own[1:] != "0" else "a" * 3000, town, own[1:]] for own, name, town in lines]
        table.write_text("".join("\t".join(row) + "\n" for row in ([*head, "code"], *coded)), encoding="utf-8")
    with pytest.warns(DoubtfulLinksWarning, match="too long to be compared: 1, one has 3,000 and 3,000 symbols"):
        summary = job(tables, model, exact=["code"], rules=["a.code = b.code"], threshold=0.1).run()
    assert summary.links == len(NAMES)
    assert "a" * 3000 in (tables / "links.tsv.html").read_text(encoding="utf-8")


def test_long_strings_of_few_symbols_are_compared(tables):
    pairs = [(f"{a} {b}", f"{a} {b}") for a in ("house", "street") for b in ("north", "south")] * 8
    tokens = nsed.LearnableEditDistance.fit(
        pairs,
        validation=nsed.Pairs.of([*pairs, *((a, b[::-1]) for a, b in pairs)], [1] * 32 + [0] * 32),
        source_symbols="tokens",
        target_symbols="tokens",
    )
    long = with_missing([" ".join(["house", "north"] * 250)])
    (odds,) = model_odds(tokens, long, long, (np.array([0]), np.array([0])))
    assert len(long.different[1]) ** 2 > MAX_CELLS
    assert odds > 0


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_nulls_are_missing_values_in_the_first_column_too(tables, model, kind):
    texts = pa.array([None, *NAMES[1:]], pa.string()).cast(kind)
    pq.write_table(pa.table({"id": [f"a{row}" for row in range(len(NAMES))], "name": texts}), tables / "a.parquet")
    found = LinkJob(
        tables / "a.parquet", tables / "b.tsv", tables / "links.tsv", on=[TextColumn("name", model)], id="id"
    ).run()
    assert found.links == len(NAMES) - 1


def test_links_manifest_and_report(tables, model):
    summary = job(tables, model, labels=tables / "known.tsv").run()
    links = rows(tables / "links.tsv")
    assert {(one["id_a"], one["id_b"]) for one in links} == {(f"a{row}", f"b{row}") for row in range(len(NAMES))}
    assert summary.records == (10, 10)
    assert summary.candidate_recall == 1
    assert (summary.at_threshold.precision, summary.at_threshold.recall) == (1, 1)
    manifest = json.loads((tables / "links.tsv.manifest.json").read_bytes())
    assert manifest["links"] == 10
    assert [len(one["sha256"]) for one in manifest["job"]["inputs"]] == [64] * 3
    page = (tables / "links.tsv.html").read_text(encoding="utf-8")
    assert "Around the threshold" in page
    assert "Links per record" in page
    assert not (tables / "links.tsv.parts").exists()


def test_ranker_chooses_the_candidates_and_counts_as_search(tables, model):
    ranker = nsed.LearnableEditDistance.fit([(name.replace("a", "e"), name) for name in NAMES])
    settings = dict(by=["operations"], learn=True, labels=tables / "known.tsv", k=2, threshold=0)
    job(tables, model, **settings).run()
    plain = rows(tables / "links.tsv")
    summary = job(tables, model, ranker=ranker, overwrite=True, **settings).run()
    assert summary.candidate_recall == 1
    assert len(plain) == len(rows(tables / "links.tsv")) == 10
    assert plain[0]["search"] != rows(tables / "links.tsv")[0]["search"]
    assert "ranker" in json.loads((tables / "links.tsv.manifest.json").read_bytes())["job"]


@pytest.mark.parametrize(
    ("settings", "got"),
    [(dict(rules=["a.name = b.name"]), "rules alone"), (dict(by=["ngrams"]), "candidates of several columns")],
)
def test_ranker_wants_candidates_of_one_column(tables, model, settings, got):
    on = [TextColumn("name", model), TextColumn("town", model)]
    with pytest.raises(ArgumentError, match=got):
        job(tables, model, ranker=model, on=on, **settings).run()


@pytest.mark.parametrize("done", [0, 1, 2, 4])
def test_killed_job_goes_on_to_the_same_output(tables, model, monkeypatch, done):
    whole = job(tables, model, shard_rows=2)
    whole.run()
    expected, manifest = (tables / "links.tsv").read_bytes(), (tables / "links.tsv.manifest.json").read_bytes()
    (tables / "links.tsv").unlink()
    scored, count = LinkRun.write, iter(range(100))

    def killed(self, *given):
        if next(count) == done:
            raise KeyboardInterrupt
        return scored(self, *given)

    monkeypatch.setattr(LinkRun, "write", killed)
    with pytest.raises(KeyboardInterrupt):
        job(tables, model, shard_rows=2).run()
    monkeypatch.setattr(LinkRun, "write", scored)
    assert not (tables / "links.tsv").exists()
    job(tables, model, shard_rows=2, resume=True).run()
    assert (tables / "links.tsv").read_bytes() == expected
    assert (tables / "links.tsv.manifest.json").read_bytes() == manifest


def dedupe_or_link(tables, model, second, **settings):
    right = None if second is None else tables / second
    on = [TextColumn("name", model)]
    return LinkJob(tables / "a.tsv", right, tables / "links.tsv", on=on, id="id", shard_rows=2, **settings)


@pytest.fixture
def unfinished(tables, model, monkeypatch):
    """Two shards of a job are done; a function that makes the same job, with other settings perhaps."""

    def begun(second):
        scored, count = LinkRun.write, iter(range(100))
        stop = lambda self, *given: scored(self, *given) if next(count) < 2 else 1 / 0  # noqa: E731
        with monkeypatch.context() as patched:
            patched.setattr(LinkRun, "write", stop)
            with pytest.raises(ZeroDivisionError):
                dedupe_or_link(tables, model, second).run()

    return begun


SECOND_TABLES = pytest.mark.parametrize("second", ["b.tsv", None])
"""Link, and dedupe."""


@SECOND_TABLES
def test_a_finished_shard_that_vanished_or_changed_is_named(tables, model, unfinished, second):
    dedupe_or_link(tables, model, second).run()
    expected = (tables / "links.tsv").read_bytes()
    unfinished(second)
    part = tables / "links.tsv.parts" / "part-00001.arrow"
    content = part.read_bytes()
    for damage, said in [(part.unlink, "is gone"), (lambda: part.write_bytes(content[:-9]), "bytes, not")]:
        damage()
        with pytest.raises(DataError, match=rf"part-00001\.arrow: the finished shard .*{said}"):
            dedupe_or_link(tables, model, second, resume=True).run()
    part.write_bytes(content)
    dedupe_or_link(tables, model, second, resume=True).run()
    assert (tables / "links.tsv").read_bytes() == expected


@SECOND_TABLES
def test_a_row_with_too_many_fields_is_named_with_its_line(tables, model, second):
    (tables / "b.tsv").write_text("id\tname\n7\tgrey\n", encoding="utf-8")
    (tables / "a.tsv").write_text("id\tname\n1\tgray\n2\tgala\tlay\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.tsv:3: expected 2 columns separated by a tab, found 3"):
        dedupe_or_link(tables, model, second).run()


@SECOND_TABLES
@pytest.mark.parametrize("fails", ["shard", "links"])
def test_a_disk_that_fills_up_is_named_and_what_is_finished_is_kept(tables, model, monkeypatch, second, fails):
    dedupe_or_link(tables, model, second).run()
    expected = (tables / "links.tsv").read_bytes()
    (tables / "links.tsv").unlink()
    writes, full, name = table_files.ArrowWriter.write, OSError(errno.ENOSPC, "No space left"), "part-00003"

    def write(self, table):
        if fails == "shard" and name in self._stream.name:
            raise full
        writes(self, table)

    with monkeypatch.context() as patched:
        patched.setattr(table_files.ArrowWriter, "write", write)
        if fails == "links":
            patched.setattr(LinkJob, "_write", lambda *given: (_ for _ in ()).throw(full))
        with pytest.raises(DataError, match=r"links\.tsv: cannot be written: No space left on device; .* rows") as told:
            dedupe_or_link(tables, model, second).run()
    assert f"{6 if fails == 'shard' else 10} rows are finished and kept in" in str(told.value)
    assert not (tables / "links.tsv").exists()
    dedupe_or_link(tables, model, second, resume=True).run()
    assert (tables / "links.tsv").read_bytes() == expected


@SECOND_TABLES
def test_links_that_are_finished_are_not_made_again_by_resume(tables, model, second):
    dedupe_or_link(tables, model, second, resume=True).run()  # nothing is there: it begins
    before = (tables / "links.tsv").stat()
    with pytest.raises(DataError, match=r"links\.tsv: there is no unfinished job of this file: it is finished, or"):
        dedupe_or_link(tables, model, second, resume=True).run()
    assert (tables / "links.tsv").stat() == before


def test_other_settings_do_not_go_on(tables, model, monkeypatch):
    scored, count = LinkRun.write, iter(range(100))
    stop = lambda self, *given: scored(self, *given) if next(count) < 2 else 1 / 0  # noqa: E731
    monkeypatch.setattr(LinkRun, "write", stop)
    with pytest.raises(ZeroDivisionError):
        job(tables, model, shard_rows=2).run()
    monkeypatch.setattr(LinkRun, "write", scored)
    with pytest.raises(DataError, match="k was 20, is 5"):
        job(tables, model, shard_rows=2, k=5, resume=True).run()


def test_log_odds_of_columns_add_up(tables, model):
    on = [TextColumn("name", model), TextColumn("town", model, weight=0.5)]
    job(tables, model, on=on, exact=["town"], threshold=0, assign="all").run()
    links = rows(tables / "links.tsv")
    for one in links:
        parts = [float(one[name]) for name in ("log_odds_name", "log_odds_town", "agreement_town")]
        assert sum(parts) == pytest.approx(float(one["log_odds"]), abs=1e-5)
        assert (parts[2] > 0) == (one["town_a"] == one["town_b"])
    assert 0 < sum(one["town_a"] == one["town_b"] for one in links) < len(links)


@pytest.fixture(scope="module")
def rare():
    """Matcher of pairs of which one in nine matches, as a folder, and as an older version wrote it."""
    pairs = [(w, w.replace("a", "e")) for w in NAMES * 3]
    wrong = [(a, b) for a in NAMES for b in NAMES if a != b for _ in range(3)][:240]
    return nsed.OddsMatcher.fit([*pairs, *wrong], [1] * 30 + [0] * 240, train__steps=10)


def test_the_prior_counts_once_however_many_columns_there_are(tables, rare, tmp_path):
    rare.save(tmp_path / "model")
    saved = nsed.load(tmp_path / "model")
    older = copy.copy(rare)
    older.criterion = rare.criterion._replace(share=None)
    prior = math.log(1 / 8)
    for one, columns, less in ((rare, 1, 0), (saved, 2, prior), (rare, 2, prior), (older, 1, 0), (older, 2, 0)):
        on = [TextColumn(name, one) for name in ("name", "town")[:columns]]
        summary = job(tables, one, on=on, threshold=0, assign="all", overwrite=True).run()
        assert summary.weights["intercept"] == pytest.approx(prior if one is not older else 0)
        for link in rows(tables / "links.tsv")[:20]:
            given = [(link[f"{column.name}_a"], link[f"{column.name}_b"]) for column in on]
            expected = sum(math.log(p / (1 - p)) for p in one.probability(given).tolist()) - less
            assert float(link["log_odds"]) == pytest.approx(expected, abs=1e-4)


def test_exact_column_decides_between_equal_names(tmp_path, model):
    (tmp_path / "a.tsv").write_text("id\tname\ttown\n1\tgray\tx\n", encoding="utf-8")
    (tmp_path / "b.tsv").write_text("id\tname\ttown\n7\tgrey\ty\n8\tgrey\tx\n9\tdrag\tz\n", encoding="utf-8")
    for exact, expected in (([], "7"), (["town"], "8")):
        job(tmp_path, model, exact=exact, threshold=0.01, assign="best", overwrite=True).run()
        assert [one["id_b"] for one in rows(tmp_path / "links.tsv")] == [expected]


def test_duplicates_of_one_table(tmp_path):
    words = [*NAMES, "garlend"]
    pairs = [(w, w) for w in NAMES] + [(w, w[:-1] + "e") for w in NAMES]
    wrong = [(a, b) for a in NAMES for b in NAMES if a < b]
    same = nsed.OddsMatcher.fit([*pairs, *wrong], [1] * len(pairs) + [0] * len(wrong), train__steps=10)
    lines = ["name", *words]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = LinkJob(tmp_path / "a.csv", None, tmp_path / "p.tsv", on=[TextColumn("name", same)], assign="all").run()
    links = rows(tmp_path / "p.tsv")
    assert {"name_a": "garland", "name_b": "garlend"}.items() <= links[
        [one["name_b"] for one in links].index("garlend")
    ].items()
    assert all(int(one["id_a"]) < int(one["id_b"]) for one in links)
    assert found.links == len({(one["id_a"], one["id_b"]) for one in links})
    assert {"cluster"} <= links[0].keys()


@pytest.mark.parametrize("seed", range(5))
def test_greedy_assignment_is_one_to_one_and_leaves_no_free_pair(seed):
    stream = np.random.default_rng(seed)
    pairs = ScoredPairs(stream.integers(0, 8, 30), stream.integers(0, 8, 30), stream.normal(size=30), np.arange(30))
    kept = assigned(pairs, "one-to-one")
    left, right = pairs.left[kept].tolist(), pairs.right[kept].tolist()
    assert len(set(left)) == len(left) == len(set(right))
    assert not [row for row in range(30) if pairs.left[row] not in left and pairs.right[row] not in right]


@pytest.mark.parametrize("seed", range(5))
def test_duplicates_do_not_depend_on_which_record_of_a_pair_comes_first(seed):
    """A record in the middle of a chain had two links, one on either side; the best of a later record was lost."""
    stream = np.random.default_rng(seed)
    different = np.unique(stream.integers(0, 8, (20, 2)), axis=0)
    left, right = different[different[:, 0] < different[:, 1]].T
    log_odds, places = stream.normal(size=len(left)), np.arange(len(left))
    other = np.array([5, 2, 7, 0, 3, 6, 1, 4])  # the same records in another order
    turned = ScoredPairs(np.minimum(other[left], other[right]), np.maximum(other[left], other[right]), log_odds, places)
    for how in ("one-to-one", "best", "all"):
        kept = assigned(ScoredPairs(left, right, log_odds, places), how, alone=True)
        assert set(kept.tolist()) == set(assigned(turned, how, alone=True).tolist())
        records = np.concatenate([left[kept], right[kept]]).tolist()
        assert how != "one-to-one" or len(set(records)) == len(records)
        best = {int(np.argmax(np.where((left == one) | (right == one), log_odds, -np.inf))) for one in {*left, *right}}
        assert how != "best" or set(kept.tolist()) == best


def test_links_of_duplicates_are_one_to_one_where_that_is_asked_for(tmp_path, model):
    path = people(tmp_path, enumerate(["gray", "gray", "gray", "lay"]))
    done = LinkJob(
        path, None, tmp_path / "p.tsv", on=[TextColumn("name", model)], id="id", assign="one-to-one", threshold=0.5
    )
    done.run()
    both = [one[side] for one in rows(tmp_path / "p.tsv") for side in ("id_a", "id_b")]
    assert both
    assert len(set(both)) == len(both)


def test_threshold_keeps_the_precision_that_is_asked_for():
    curve = threshold_curve(np.array([0.9, 0.8, 0.7, 0.6]), np.array([1, 1, 0, 1]), positives=5)
    point = threshold_at_precision(curve, 0.7)
    assert (point.threshold, point.precision, point.recall) == (0.6, 0.75, 0.6)
    assert point.precision_interval.low < 0.75 < point.precision_interval.high
    with pytest.raises(ArgumentError, match="the highest precision of any threshold"):
        threshold_at_precision(threshold_curve(np.array([0.9]), np.array([0])), 0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"precision": 0.9}, "expected --labels with known links"),
        ({"threshold": 2}, "expected a probability"),
        ({"on": []}, "expected at least one text column"),
        ({"exact": ["town", "town"]}, "--exact: got town more than once"),
        ({"numeric": [NumericColumn("town", 1), NumericColumn("town", 2)]}, "--numeric: got town more than once"),
        ({"threshold": 0.5, "review": 0.6}, "--review: got 0.6, expected less than the threshold, 0.5, where it ends"),
    ],
)
def test_settings_that_cannot_be_are_refused(tables, model, settings, message):
    with pytest.raises(ArgumentError, match=message):
        job(tables, model, **settings).run()


def test_columns_and_ids_that_are_wrong_are_named(tables, model):
    with pytest.raises(DataError, match="no column 'street'; there are name, id, town"):
        job(tables, model, exact=["street"]).run()
    (tables / "a.tsv").write_text("id\tname\n1\tgray\n1\tlay\n", encoding="utf-8")
    with pytest.raises(DataError, match="'1' names 2 records"):
        job(tables, model).run()
    (tables / "a.tsv").write_text("id\tname\n1\tgray\n\tlay\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.tsv: id of record 2 is missing; expected one for each record"):
        job(tables, model).run()


def test_an_infinite_number_is_refused_and_does_not_spoil_the_evidence_of_all_others(tables, model):
    for name in ("a.tsv", "b.tsv"):
        (tables / name).write_text(f"id\tname\tborn\n{name[0]}0\tgray\t1990\n{name[0]}1\tlay\tinf\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"a\.tsv: born of record 2 is infinite"):
        job(tables, model, numeric=[NumericColumn("born", 1)]).run()


def test_threshold_of_one_column_is_that_of_its_model(tables, model):
    moved = copy.copy(model)
    moved.criterion = model.criterion._replace(threshold=model.threshold + 2)
    for one in (model, moved):
        assert job(tables, one, overwrite=True).run().threshold == one.threshold_probability
    assert moved.threshold_probability > model.threshold_probability


def test_records_whose_names_are_missing_are_no_link(tables, model):
    for name in ("a.tsv", "b.tsv"):
        with (tables / name).open("a", encoding="utf-8") as file:
            file.writelines(f"{name[0]}9{row}\t\tray\n" for row in range(3))
    model = nsed.OddsMatcher(
        model.network, model.tokenizers, model.config, criterion=model.criterion._replace(share=None)
    )
    model.criterion = model.criterion._replace(threshold=model.threshold - 20)
    assert model.threshold_probability < 0.5
    job(tables, model).run()
    found = rows(tables / "links.tsv")
    assert len(found) >= 10
    assert not {"a90", "a91", "a92", "b90", "b91", "b92"}.intersection(
        one[side] for one in found for side in ("id_a", "id_b")
    )
    dedupe_or_link(tables, model, None, overwrite=True).run()
    assert "a90" not in (tables / "links.tsv").read_text(encoding="utf-8")


@pytest.mark.filterwarnings("ignore::nsed.errors.DoubtfulLinksWarning")  # labels of linked records alone
def test_labels_of_records_that_are_not_there_are_told_before_anything_is_scored(tables, model):
    known = (tables / "known.tsv").read_text(encoding="utf-8").splitlines()
    (tables / "some.tsv").write_text("\n".join([*known[:5], "a0\tb99"]) + "\n", encoding="utf-8")
    with pytest.warns(UnknownIdWarning, match=r"1 of 5 known links are of records that are not there.*a0 with b99"):
        summary = job(tables, model, labels=tables / "some.tsv").run()
    assert summary.candidate_recall == 1
    (tables / "none.tsv").write_text("x\ty\n", encoding="utf-8")
    (tables / "links.tsv").unlink()
    with pytest.raises(ArgumentError, match=r"--labels: got links of records that are not there: x with y"):
        job(tables, model, labels=tables / "none.tsv", overwrite=True).run()
    assert not list(tables.glob("links.tsv.parts/*"))


def test_links_that_a_job_wrote_are_labels_of_the_next(tables, model):
    first = job(tables, model).run()
    again = job(tables, model, labels=tables / "links.tsv", output=tables / "again.tsv").run()
    assert (again.links, again.candidate_recall, again.at_threshold.matches) == (first.links, 1, first.links)


@pytest.mark.filterwarnings("ignore::nsed.errors.DoubtfulLinksWarning")  # labels of linked records alone
@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("columns", [["id_a", "id_b"], ["source", "target"]])
def test_labels_of_ids_that_are_numbers(tmp_path, model, columns, ending):
    names, path = ["gray", "gala", "lay"], tmp_path / f"known.{ending}"
    for file, ids in (("a.parquet", [1, 2, 3]), ("b.parquet", ["7", "8", "9"])):
        pq.write_table(pa.table({"id": ids, "name": names}), tmp_path / file)
    known = pa.table(dict(zip([*columns, "label"], ([1, 2, 3], [7.0, 8.0, 9.0], [1, 1, 0]), strict=True)))
    if ending == "parquet":
        pq.write_table(known, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, known.schema) as writer:
            writer.write_table(known)
    files = tmp_path / "a.parquet", tmp_path / "b.parquet", tmp_path / "links.tsv"
    done = LinkJob(*files, on=[TextColumn("name", model)], id="id", labels=path, threshold=0.5).run()
    assert (done.candidate_recall, done.at_threshold.recall, done.at_threshold.matches) == (1, 1, 3)


@pytest.mark.filterwarnings("ignore::nsed.errors.DoubtfulLinksWarning")  # labels of linked records alone
def test_records_without_labels_are_not_judged_and_links_that_are_lost_count_in_recall(tables, model):
    known = (tables / "known.tsv").read_text(encoding="utf-8").splitlines()
    (tables / "some.tsv").write_text("\n".join([*known[:7], "a0\tb5"]) + "\n", encoding="utf-8")
    summary = job(tables, model, labels=tables / "some.tsv").run()
    assert (summary.links, summary.at_threshold.matches, summary.at_threshold.precision) == (10, 6, 1)
    assert summary.at_threshold.recall == pytest.approx(6 / 7)
    assert summary.folds == 0


def noise(folder, seed):
    """Sixty records of two tables in blocks of three, whose numbers say nothing; half of their links are labelled."""
    random, letters = np.random.default_rng(seed), "graylnd"
    for side in "ab":
        lines = ["id\tname\t" + "\t".join(f"n{column}" for column in range(6))]
        for row in range(60):
            numbers = "\t".join(f"{number:.3f}" for number in random.normal(size=6))
            lines.append(f"{side}{row}\t{letters[row // 3 % 7]}{letters[row // 21]}ay\t{numbers}")
        (folder / f"{side}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    other = np.concatenate([first + random.permutation(3) for first in range(0, 60, 3)])
    links = [(f"a{row}", f"b{other[row]}") for row in range(60)]
    some = [f"{a}\t{b}" for row, (a, b) in enumerate(links) if row // 3 % 2 == 0]
    (folder / "known.tsv").write_text("\n".join(["source\ttarget", *some]) + "\n", encoding="utf-8")
    return links


@pytest.mark.filterwarnings("ignore::nsed.errors.DoubtfulLinksWarning")  # labels of linked records alone
def test_figures_of_what_was_chosen_on_the_labels_are_not_those_of_the_choice(tmp_path, model):
    numeric = [NumericColumn(f"n{column}", 1) for column in range(6)]
    settings = dict(numeric=numeric, by=["exact"], labels=tmp_path / "known.tsv", assign="all", overwrite=True)
    told, true, precise = [], [], []
    for seed in range(6):
        links = noise(tmp_path, seed)
        summary = job(tmp_path, model, learn=True, **settings).run()
        found = [(one["id_a"], one["id_b"]) for one in rows(tmp_path / "links.tsv")]
        unseen = [pair for pair in found if int(pair[0][1:]) // 3 % 2]
        true.append(2 * len({*unseen} & {*links}) / (len(unseen) + 30))
        told.append(summary.at_threshold.f1)
        precise.append(job(tmp_path, model, precision=0.38, **settings).run().at_threshold)
    assert summary.folds == 5
    assert np.mean(told) == pytest.approx(np.mean(true), abs=0.05)
    assert np.mean([point.precision for point in precise if point]) < 0.37
    page = (tmp_path / "links.tsv.html").read_text(encoding="utf-8")
    assert "each of 5 parts of them held out: judged by what the others have chosen" in page


@pytest.mark.filterwarnings("ignore::nsed.errors.DoubtfulLinksWarning")  # labels of linked records alone
def test_labels_of_one_record_teach_weights_and_give_no_figures(tables, model):
    (tables / "one.tsv").write_text("source\ttarget\na0\tb0\n", encoding="utf-8")
    summary = job(tables, model, labels=tables / "one.tsv", learn=True, exact=["town"], assign="all").run()
    assert (summary.at_threshold, summary.folds, summary.candidate_recall) == (None, 0, 1)


@pytest.mark.parametrize("second", ["b.tsv", None])
def test_pairs_of_one_record_and_of_linked_ones_share_a_fold(tables, model, second):
    left, right = (Records.of(read_table(tables / name, "name"), ["name"], "id") for name in ("a.tsv", "b.tsv"))
    links = [(f"a{row}", f"a{row + 1}" if second is None else f"b{row}") for row in range(0, 10, 2)]
    labels = ["source\ttarget\tlabel", *(f"{a}\t{b}\t1" for a, b in links), *(["a1\tb2\t0"] if second else [])]
    (tables / "known.tsv").write_text("\n".join(labels) + "\n", encoding="utf-8")
    known = KnownLinks(tables / "known.tsv", left, left if second is None else right)
    assert known.fold_count == 5
    named = [row for row in range(10) if second is None or row % 2 == 0]
    assert sorted(known.folds[named[:: 2 if second is None else 1]].tolist()) == [0, 1, 2, 3, 4]
    if second is None:
        assert (known.folds[::2] == known.folds[1::2]).all()
    else:
        assert known.folds[1] >= 0
        assert (known.folds[3::2] == -1).all()


@pytest.mark.filterwarnings("ignore::nsed.errors.DoubtfulLinksWarning")  # labels of linked records alone
def test_weights_are_learned_from_labels(tables, model):
    known = (tables / "known.tsv").read_text(encoding="utf-8").splitlines()
    (tables / "some.tsv").write_text("\n".join(known[:7]) + "\n", encoding="utf-8")
    summary = job(tables, model, labels=tables / "some.tsv", learn=True, exact=["town"]).run()
    assert set(summary.weights) == {"log_odds_name", "agreement_town", "search", "margin", "intercept"}
    assert summary.weights["margin"] > 0
    links = rows(tables / "links.tsv")
    assert {(one["id_a"], one["id_b"]) for one in links} == {(f"a{row}", f"b{row}") for row in range(len(NAMES))}
    names = ("log_odds_name", "agreement_town", "search", "margin")
    for one in links:
        total = sum(float(one[name]) for name in names) + summary.weights["intercept"]
        assert total == pytest.approx(float(one["log_odds"]), abs=1e-4)


def test_numbers_that_are_near_decide_between_equal_names(tmp_path, model):
    (tmp_path / "a.tsv").write_text("id\tname\tborn\n1\tgray\t1950\n2\tlay\t\n", encoding="utf-8")
    (tmp_path / "b.tsv").write_text("id\tname\tborn\n7\tgrey\t1990\n8\tgrey\t1951\n9\tley\t1970\n", encoding="utf-8")
    job(tmp_path, model, numeric=[NumericColumn("born", 2)], threshold=0.001, assign="best").run()
    found = rows(tmp_path / "links.tsv")
    assert [(one["id_a"], one["id_b"]) for one in found] == [("1", "8"), ("2", "9")]
    assert [float(one["nearness_born"]) > 0 for one in found] == [True, False]
    (tmp_path / "b.tsv").write_text("id\tname\tborn\n7\tgrey\tlong ago\n", encoding="utf-8")
    with pytest.raises(DataError, match="born of record 1 is no number"):
        job(tmp_path, model, numeric=[NumericColumn("born", 2)], overwrite=True).run()


def test_review_band_has_its_own_file_and_ends_where_links_begin(tables, model):
    everything = job(tables, model, threshold=0, assign="all").run()
    middle = sorted(float(one["probability"]) for one in rows(tables / "links.tsv"))[-8]
    summary = job(tables, model, threshold=middle + 1e-6, review=0, assign="all").run()
    links, review = rows(tables / "links.tsv"), rows(tables / "links.review.tsv")
    assert (summary.links, summary.review) == (len(links), len(review)) == (7, everything.links - 7)
    assert max(float(one["probability"]) for one in review) <= min(float(one["probability"]) for one in links)
    assert "to review" in (tables / "links.tsv.html").read_text(encoding="utf-8")


def test_the_review_band_of_an_earlier_run_does_not_look_as_if_it_were_of_this_one(tables, model):
    settings = dict(threshold=0.9, overwrite=True)
    job(tables, model, review=0.2, **settings).run()
    before = (tables / "links.review.tsv").read_text()
    with pytest.warns(DoubtfulLinksWarning, match=r"links\.review\.tsv is of an earlier run, and not of these links"):
        job(tables, model, **settings).run()
    assert (tables / "links.review.tsv").read_text() == before  # somebody may have labelled it
    job(tables, model, review=0.2, **settings).run()


def test_redacted_job_writes_no_string_of_the_records(tables, model):
    job(tables, model, labels=tables / "known.tsv", redact=True, why=["a6"], threshold=0.01).run()
    for path in tables.glob("links.tsv*"):
        content = path.read_text(encoding="utf-8")
        assert not [
            name for name in NAMES for word in (name, name.replace("a", "e")) if len(word) > 4 and word in content
        ]
    page = (tables / "links.tsv.html").read_text(encoding="utf-8")
    assert "<h2>Why</h2>" in page
    assert "what adds up to the log-odds of a6 and b6" in page
    with pytest.raises(ArgumentError, match="--why: got nobody, expected a value of id"):
        job(tables, model, why=["nobody"], overwrite=True).run()


def test_redacted_job_quotes_no_string_in_what_it_complains_of(tables, model):
    pytest.importorskip("duckdb")
    for rule in ("a.name::int = b.name::int", "error(a.name)"):
        with pytest.raises(ArgumentError, match="whose text may quote records and is left out") as failed:
            job(tables, model, rules=[rule], redact=True).run()
        assert not [name for name in NAMES if name in str(failed.value)]
    with pytest.raises(ArgumentError, match='have a column named "nothing"'):
        job(tables, model, rules=["a.nothing = b.name"], redact=True, overwrite=True).run()
    with (tables / "b.tsv").open("a", encoding="utf-8") as file:
        file.write("b9\tgarland\n")
    with pytest.raises(
        DataError, match=r"b\.tsv:12: expected 3 columns separated by a tab, found 2; what is"
    ) as failed:
        job(tables, model, redact=True, overwrite=True).run()
    assert "garland" not in str(failed.value)


def test_equal_keys_and_sql_rules_are_united(tables, model):
    pytest.importorskip("duckdb")
    rules = [equal_keys("town"), "a.name[1:2] = b.name[1:2]"]
    job(tables, model, rules=rules, threshold=0, assign="all").run()
    found = {(one["id_a"], one["id_b"]) for one in rows(tables / "links.tsv")}
    names = [name.replace("a", "e") for name in NAMES]
    joined = {(a, b) for a in range(10) for b in range(10) if a % 2 == b % 2 or NAMES[a][:2] == names[b][:2]}
    assert found == {(f"a{a}", f"b{b}") for a, b in joined}
    job(tables, model, rules=rules[1:], by=["exact"], threshold=0, assign="all").run()
    alike = {(a, b) for a, b in joined if NAMES[a][:2] == names[b][:2]}
    assert {(one["id_a"], one["id_b"]) for one in rows(tables / "links.tsv")} == {(f"a{a}", f"b{b}") for a, b in alike}
    with pytest.raises(ArgumentError, match='have a column named "nothing"'):
        job(tables, model, rules=["a.nothing = b.name"], overwrite=True).run()


@pytest.mark.parametrize("left", [[1990, 1991, 1992], [1990.0, None, 1992.0], ["1990", "", "1992"]])
def test_keys_and_exact_columns_that_are_numbers_here_and_text_there_agree(tmp_path, model, left):
    pytest.importorskip("duckdb")
    names = ["gray", "gala", "lay"]
    pq.write_table(pa.table({"name": names, "born": left, "key": left}), tmp_path / "a.parquet")
    right = pa.table({"name": names, "born": ["1990", "1991", "1992"], "key": [1990, 1991, 1992]})
    pq.write_table(right, tmp_path / "b.parquet")
    job = LinkJob(
        *(tmp_path / name for name in ("a.parquet", "b.parquet", "links.tsv")),
        on=[TextColumn("name", model)],
        exact=["born"],
        rules=[equal_keys("key")],
        threshold=0,
        assign="all",
    )
    assert job.run().candidates == sum(one not in (None, "") for one in left)
    assert all(float(one["agreement_born"]) > 0 for one in rows(tmp_path / "links.tsv"))


def test_rules_whose_pairs_cannot_be_written_are_no_wrong_rules(tmp_path):
    pytest.importorskip("duckdb")
    table = pa.table({"name": ["gray", "grey"]})
    with pytest.raises(DataError, match=r"rules\.parquet: cannot be written: .*No such file"):
        write_rule_pairs(table, None, ["a.name < b.name"], tmp_path / "gone")


def test_rules_of_one_table_find_each_pair_once(tables, model):
    pytest.importorskip("duckdb")
    on = [TextColumn("name", model)]
    LinkJob(
        tables / "a.tsv", None, tables / "p.tsv", on=on, id="id", rules=[equal_keys("town")], threshold=0, assign="all"
    ).run()
    found = [(one["id_a"], one["id_b"]) for one in rows(tables / "p.tsv")]
    assert sorted(found) == sorted({(f"a{a}", f"a{b}") for a in range(10) for b in range(a + 1, 10) if a % 2 == b % 2})


@pytest.mark.parametrize("name", ["a.tsv", "known.tsv"])
def test_links_that_would_overwrite_a_table_or_the_labels_are_refused(tables, model, name):
    before = {path: path.read_bytes() for path in tables.iterdir()}
    with pytest.raises(DataError, match=f"{name}: this output is an input too"):
        job(tables, model, labels=tables / "known.tsv", output=tables / name, overwrite=True).run()
    assert {path: path.read_bytes() for path in tables.iterdir()} == before


def test_reviewed_pairs_may_be_labels_unless_others_take_their_place(tables, model):
    reviewed = tables / "links.review.tsv"
    reviewed.write_bytes((tables / "known.tsv").read_bytes())
    with pytest.raises(DataError, match=r"links\.review\.tsv: this output is an input too"):
        job(tables, model, labels=reviewed, review=0.0).run()
    assert job(tables, model, labels=reviewed).run().links


def people(folder, names):
    """A table of people, and the settings of a job that finds who is there twice."""
    path = folder / "people.tsv"
    path.write_text("id\tname\n" + "".join(f"{number}\t{name}\n" for number, name in names), encoding="utf-8")
    return path


class Listed:
    """A matcher by a list of pairs that match."""

    threshold_probability = 0.5

    def __init__(self, model, pairs):
        self.tokenizers, self.calibration, self.criterion = model.tokenizers, model.calibration, model.criterion
        self.threshold, self.pairs = model.threshold, {frozenset(pair) for pair in pairs}

    def score(self, pairs, **given):
        return np.array([3.0 if frozenset(pair) in self.pairs else -3.0 for pair in nsed.Pairs.of(pairs)])

    def probability(self, pairs, **given):
        return self.calibration.probability(self.score(pairs))

    def match(self, pairs, **given):
        return self.score(pairs) >= self.threshold


@pytest.mark.parametrize("file", ["all.tsv", "all.parquet", "same.tsv"])
def test_clusters_keep_their_numbers_when_records_come(tmp_path, model, file):
    known = [(1, "gray"), (2, "lay"), (3, "grey"), (4, "drag"), (5, "ley")]
    listed = Listed(model, [("gray", "grey"), ("lay", "ley"), ("drag", "dreg")])
    settings = dict(on=[TextColumn("name", listed)], id="id", assign="all", threshold=0.5, by=["ngrams"])
    table, before = people(tmp_path, known), tmp_path / file
    first = LinkJob(table, None, tmp_path / "same.tsv", clusters=tmp_path / f"all{before.suffix}", **settings).run()
    assert first.clusters == {"found": 3, "apart": 0}
    table = people(tmp_path, [(9, "yard"), (6, "dreg"), *reversed(known)])
    again = dict(previous=before, clusters=tmp_path / "again.tsv", **settings)
    found = LinkJob(table, None, tmp_path / "again-same.tsv", **again).run()
    ids = {one["id"]: one["cluster"] for one in rows(tmp_path / "again.tsv")}
    alone = {"4": "3", "6": "3", "9": "4"} if file != "same.tsv" else {"4": "4", "6": "4", "9": "3"}
    assert ids == {"1": "1", "3": "1", "2": "2", "5": "2", **alone}
    kept = 3 if file != "same.tsv" else 2
    assert found.clusters == {"found": 4, "apart": 0, "kept": kept, "split": 0, "merged": 0, "new": 4 - kept}
    manifest = json.loads((tmp_path / "again-same.tsv.manifest.json").read_text())
    assert manifest["clusters"] == found.clusters
    assert any(str(before) == one["path"] for one in manifest["job"]["inputs"])


@pytest.mark.parametrize("ending", ["tsv", "csv", "parquet", "arrow"])
def test_an_earlier_run_that_found_no_link_is_no_fault_and_all_numbers_are_new(tmp_path, model, ending):
    settings = dict(on=[TextColumn("name", Listed(model, [("gray", "grey")]))], id="id", threshold=0.5, by=["ngrams"])
    none = tmp_path / f"none.{ending}"
    assert LinkJob(people(tmp_path, [(1, "gray"), (2, "lay")]), None, none, **settings).run().links == 0
    table = people(tmp_path, [(1, "gray"), (2, "lay"), (3, "grey")])
    found = LinkJob(table, None, tmp_path / "links.tsv", previous=none, **settings).run()
    assert found.clusters == {"found": 2, "apart": 0, "kept": 0, "split": 0, "merged": 0, "new": 2}


def test_what_are_no_clusters_of_an_earlier_run_is_said(tables, model):
    settings = dict(on=[TextColumn("name", model)], previous=tables / "before.tsv")
    for text, message in {
        "id\tname\na1\tx\n": "no column cluster beside id, or id_a and id_b: give a file that nsed dedupe wrote",
        "record\tcluster\na1\t1\n": "no column named 'id_a'",
        "id_a\tid_b\n": "there is a header but no source below it",
        "id\tcluster\na1\tx\n": "cluster 'x' is no number from 1",
        "id\tcluster\na1\t1\na1\t2\n": "record 'a1' is in clusters 1 and 2",
        "id\tcluster\nnobody\t1\n": "no record of the table is in it",
    }.items():
        (tables / "before.tsv").write_text(text, encoding="utf-8")
        with pytest.raises(DataError, match=message):
            LinkJob(tables / "a.tsv", None, tables / "same.tsv", id="id", **settings).run()
    with pytest.raises(ArgumentError, match="--previous: got no --id"):
        LinkJob(tables / "a.tsv", None, tables / "same.tsv", **settings).check()
    with pytest.raises(ArgumentError, match="--previous: got two tables"):
        job(tables, model, previous=tables / "before.tsv").check()
    with pytest.raises(ArgumentError, match="--method: got two tables"):
        job(tables, model, method="average").check()
    with pytest.raises(ArgumentError, match="--method: got labels, expected one of components, average, infomap"):
        LinkJob(tables / "a.tsv", None, tables / "same.tsv", on=[TextColumn("name", model)], method="labels").check()


@pytest.mark.parametrize("method", ["components", "average", "infomap"])
def test_a_wrong_link_between_two_groups_has_no_cluster_by_average_and_infomap(tmp_path, model, method):
    groups = [[f"gray{one}" for one in "aelr"], [f"lady{one}" for one in "aelr"]]
    matches = [(a, b) for group in groups for a in group for b in group if a != b]
    wrong = (groups[0][0], groups[1][0])
    table = people(tmp_path, enumerate(groups[0] + groups[1], start=1))
    listed = TextColumn("name", Listed(model, [*matches, wrong]))
    settings = dict(on=[listed], id="id", assign="all", rules=["true"], threshold=0.5, method=method)
    made = LinkJob(table, None, tmp_path / "same.tsv", clusters=tmp_path / "all.tsv", **settings).run()
    assert made.links == 13
    links, records = rows(tmp_path / "same.tsv"), rows(tmp_path / "all.tsv")
    apart = [(one["id_a"], one["id_b"]) for one in links if not one["cluster"]]
    if method == "components":
        assert (made.clusters, apart) == ({"found": 1, "apart": 0}, [])
        return
    assert (made.clusters, apart) == ({"found": 2, "apart": 1}, [("1", "5")])
    assert [one["cluster"] for one in records] == ["1"] * 4 + ["2"] * 4


def test_infomap_that_is_not_installed_is_said_before_anything_is_read(tables, model, monkeypatch):
    monkeypatch.setattr("nsed.jobs.linking.has_infomap", lambda: False)
    settings = dict(on=[TextColumn("name", model)], id="id", method="infomap")
    with pytest.raises(MissingExtraError, match=r"the package infomap is not installed: .*\[cognates\]"):
        LinkJob(tables / "nowhere.tsv", None, tables / "same.tsv", **settings).run()


def test_models_of_a_job_are_changed_each_once_and_the_job_is_the_same_for_the_rest(tables, model):
    other, seen = copy.copy(model), []
    one = job(tables, model, on=[TextColumn("name", model), TextColumn("town", model, 0.5)], ranker=other, k=3)
    sent = one.with_models(lambda own: seen.append(own) or ("packed", len(seen)))
    assert [id(own) for own in seen] == [id(model), id(other)]
    assert sent.on == [TextColumn("name", ("packed", 1)), TextColumn("town", ("packed", 1), 0.5)]
    assert (sent.ranker, sent.k) == (("packed", 2), 3)
    assert sent.with_models(lambda own: (model, other)[own[1] - 1]) == one


class Elsewhere:
    """An engine that knows a job's files only, and is interrupted after the first shard."""

    def __init__(self, device):
        self.device = device

    def compare(self, job, folder, plans):
        run = job.run_from_files(folder)
        with folder.shard() as shard:
            run.write(plans[0], shard)
        raise KeyboardInterrupt


@pytest.mark.filterwarnings("ignore::nsed.errors.UnknownSymbolWarning")
def test_shards_written_elsewhere_are_those_of_here_unless_the_device_is_another(tables, model):
    job(tables, model, shard_rows=4).run()
    expected = (tables / "links.tsv").read_bytes()
    (tables / "links.tsv").unlink()
    with pytest.raises(KeyboardInterrupt):
        job(tables, model, shard_rows=4, engine=Elsewhere("cpu")).run()
    job(tables, model, shard_rows=4, resume=True).run()
    assert (tables / "links.tsv").read_bytes() == expected
    with pytest.raises(KeyboardInterrupt):
        job(tables, model, shard_rows=4, overwrite=True, engine=Elsewhere("cuda")).run()
    with pytest.raises(DataError, match='device was "cuda", is "cpu"'):
        job(tables, model, shard_rows=4, resume=True).run()


@pytest.mark.parametrize("side", ["left", "right"])
def test_standard_input_is_nothing_that_executors_of_a_cluster_see(side, tables, model):
    with pytest.raises(ArgumentError, match="a cluster, and standard input, expected files that executors see"):
        replace(job(tables, model, engine=Elsewhere("cpu")), **{side: "-"}).run()
    assert not (tables / "links.tsv.parts").exists()
