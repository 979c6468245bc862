"""Clusters of tables of links in DuckDB: those of the links in memory, whatever order, batches, threads and memory."""

import gzip
import json
import warnings
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from pyarrow.csv import ConvertOptions, ParseOptions, read_csv

from nsed.duckdb import TableClusters, cluster_files, cluster_table
from nsed.errors import ArgumentError, DataError, DoubtfulLinksWarning, MissingExtraError, UnknownIdWarning
from nsed.jobs import keep_ids
from nsed.jobs.blocking import interruptible
from nsed.jobs.clustering import cluster_links, linked_records
from nsed.jobs.table_files import row_format, table_writer

SMALL = "SELECT * FROM (VALUES ('b', 'd', 0.9), ('d', 'e', 0.8), ('a', 'c', 0.2)) t(id_a, id_b, probability)"


@pytest.fixture
def connection():
    with duckdb.connect(config={"threads": 4}) as opened:
        yield opened


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr("nsed.duckdb.ROWS", 7)


def drawn(seed, records=60, links=50):
    """Some links with probabilities, none twice, and the number of each record as DuckDB has it."""
    stream = np.random.default_rng(seed)
    pairs = np.unique(np.sort(stream.integers(0, records, (links, 2)), axis=1), axis=0)
    return pairs, stream.random(len(pairs)).round(3)


def table_of(pairs, probabilities, name, seed=0):
    """The links as a table, in another order, some of them turned round."""
    stream = np.random.default_rng(seed)
    turned = np.where(stream.random((len(pairs), 1)) < 0.5, pairs[:, ::-1], pairs)
    order = stream.permutation(len(pairs))
    one, other = ([name(record) for record in side] for side in turned[order].T.tolist())
    return pa.table({"id_a": one, "id_b": other, "probability": probabilities[order]})


def clusters(connection, table="clusters"):
    return dict(connection.execute(f"SELECT id, cluster FROM {table}").fetchall())


NAMES = [lambda record: f"é {record:03}", lambda record: record * 10**10 - 5]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("name", NAMES, ids=["text", "numbers"])
@pytest.mark.parametrize("seed", range(5))
def test_clusters_are_those_of_the_links_in_memory(connection, name, seed):
    pairs, probabilities = drawn(seed)
    connection.register("pairs", table_of(pairs, probabilities, name, seed))
    connection.register("people", pa.table({"key": [name(record) for record in (*range(59, -1, -1), 3)]}))
    connection.execute(f"SET preserve_insertion_order = {'false' if seed % 2 else 'true'}")
    made = cluster_table(connection, "pairs", threshold=0.4, records="people", id_column="key")
    kept = pairs[probabilities >= 0.4]
    expected = linked_records(*kept.T, 60)
    rows = connection.execute("SELECT id, cluster FROM clusters").fetchall()
    assert rows == [(name(record), number) for record, number in enumerate(expected.tolist())]
    assert made == TableClusters(60, len(kept), int(expected.max()), int(np.bincount(expected).max()))


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("method", ["average", "infomap"])
@pytest.mark.parametrize("seed", range(3))
def test_methods_divide_components_as_they_do_in_memory(connection, method, seed):
    if method == "infomap":
        pytest.importorskip("infomap")
    pairs, probabilities = drawn(seed, links=80)
    connection.register("pairs", table_of(pairs, probabilities, lambda record: f"{record:03}", seed))
    connection.register("again", table_of(pairs, probabilities / 2, lambda record: f"{record:03}", seed + 1))
    both = "SELECT * FROM pairs UNION ALL SELECT * FROM again"  # the higher one counts
    connection.register("people", pa.table({"id": [f"{record:03}" for record in range(60)]}))
    cluster_table(connection, both, threshold=0.4, method=method, records="people")
    apart = pairs[:, 0] != pairs[:, 1]
    connected = linked_records(*pairs[(probabilities >= 0.4) & apart].T, 60)
    expected = cluster_links(connected, pairs[apart], probabilities[apart], threshold=0.4, method=method)
    assert list(clusters(connection).values()) == expected.tolist()
    assert expected.max() > connected.max()


@pytest.mark.parametrize("seed", range(8))
def test_clusters_keep_their_numbers_as_keep_ids_says(connection, seed):
    stream = np.random.default_rng(seed)
    before = stream.integers(0, 12, 40)
    known = pa.table({"id": [*range(5, 40), 99], "cluster": [*np.maximum(before[5:], 1).tolist(), 30]})
    connection.register("earlier", known)
    pairs, probabilities = drawn(seed, records=40, links=30)
    connection.register("pairs", table_of(pairs, probabilities, int))
    connection.register("people", pa.table({"id": range(40)}))
    made = cluster_table(connection, "pairs", records="people", previous="earlier")
    old = np.r_[np.zeros(5, int), np.maximum(before[5:], 1)]
    expected = keep_ids(linked_records(*pairs.T, 40).tolist(), old, largest=30)
    assert list(clusters(connection).values()) == expected.ids.tolist()
    assert made.since == expected.counts


def test_numbers_stay_when_records_come(connection):
    first = cluster_table(connection, SMALL, threshold=0.5)
    assert (first.clusters, first.since) == (3, {})
    assert clusters(connection) == {"a": 1, "b": 2, "c": 3, "d": 2, "e": 2}
    more = f"{SMALL} UNION ALL SELECT '0', 'c', 1 UNION ALL SELECT '1', '1', 1"
    found = cluster_table(connection, more, threshold=0.5, previous="clusters", overwrite=True)
    assert clusters(connection) == {"0": 3, "1": 4, "a": 1, "b": 2, "c": 3, "d": 2, "e": 2}
    assert found.since == {"kept": 3, "split": 0, "merged": 0, "new": 1}


def test_rows_of_match_that_are_none_are_no_links_unless_a_threshold_says_so(connection):
    rows = "SELECT * FROM (VALUES ('a', 'b', {}, 0.7), ('c', 'd', {}, 0.6)) t(id_a, id_b, match, probability)"
    for kind in ("1, 0", "true, false", "'1', '0'"):
        yes, no = kind.split(", ")
        query = rows.format(yes, no)
        cluster_table(connection, query, overwrite=True)
        assert clusters(connection) == {"a": 1, "b": 1, "c": 2, "d": 3}
        cluster_table(connection, query, threshold=0.6, overwrite=True)
        assert clusters(connection) == {"a": 1, "b": 1, "c": 2, "d": 2}


def test_columns_of_splink_and_names_that_need_quotes(connection):
    connection.execute('CREATE SCHEMA "my own"')
    connection.execute('CREATE TABLE found AS SELECT 1 AS unique_id_l, 2 AS unique_id_r, 0.9 AS "match ""p"')
    options = {"columns": ("unique_id_l", "unique_id_r"), "probability": 'match "p', "threshold": 0.9}
    cluster_table(connection, "found", output="my own.clusters", **options)
    assert clusters(connection, '"my own".clusters') == {1: 1, 2: 1}


def test_ids_of_two_types_are_those_of_one(connection):
    cluster_table(connection, "SELECT 1 AS id_a, 2 AS id_b -- of one type", output="commented")
    connection.execute("CREATE TABLE pairs AS SELECT 7::SMALLINT AS id_a, 8::BIGINT AS id_b")
    connection.execute("CREATE TABLE people AS SELECT unnest(['7', '8', '9']) AS id")
    cluster_table(connection, "pairs")
    assert clusters(connection) == {7: 1, 8: 1}
    cluster_table(connection, "pairs", records="people", overwrite=True)
    assert clusters(connection) == {"7": 1, "8": 1, "9": 2}
    connection.execute("CREATE TABLE numbers AS SELECT 7.0::DOUBLE AS id")
    with pytest.raises(ArgumentError, match=r"ids: got id_a of links is SMALLINT, .* expected ids of one type"):
        cluster_table(connection, "pairs", records="numbers", overwrite=True)
    connection.execute("CREATE TABLE prices AS SELECT 7.00::DECIMAL(9, 2) AS id")
    with pytest.raises(ArgumentError, match=r"id of records is DECIMAL\(9,2\), expected ids of one type"):
        cluster_table(connection, "pairs", records="prices", overwrite=True)
    connection.execute("CREATE TABLE large AS SELECT unnest([7, 8, 9, 10])::UBIGINT::DECIMAL(38, 0) AS id")
    cluster_table(connection, "pairs", records="large", overwrite=True)
    assert clusters(connection) == {7: 1, 8: 1, 9: 2, 10: 3}


def test_no_links_at_all_are_clusters_of_one(connection):
    made = cluster_table(connection, "SELECT 1 AS id_a, 2 AS id_b WHERE false", records="SELECT 5 AS id")
    assert (made, clusters(connection)) == (TableClusters(1, 0, 1, 1), {5: 1})


FAULTS = {
    "missing ids": (
        f"{SMALL} UNION ALL SELECT NULL, 'x', 1 UNION ALL SELECT 'y', '', 1",
        {},
        "links: got 2 of 5 rows without an id of both records, expected one in each. Fill id_a and id_b",
    ),
    "ids that are no numbers": (
        "SELECT 'nan'::DOUBLE AS id_a, 1::DOUBLE AS id_b",
        {},
        "links: got 1 of 1 rows without",
    ),
    "no probability": (
        f"{SMALL} UNION ALL SELECT 'x', 'y', 'nan'::DOUBLE UNION ALL SELECT 'x', 'y', NULL",
        {"threshold": 0.5},
        "links: got 2 of 5 rows without a probability",
    ),
    "no decision": ("SELECT 1 AS id_a, 2 AS id_b, NULL AS match", {}, "links: got 1 of 1 rows without a match"),
    "no column": (
        SMALL,
        {"columns": ("a", "id_b")},
        "links: got no column 'a', expected columns that are there: id_a, ",
    ),
    "no column of probabilities": (
        "SELECT 1 AS id_a, 2 AS id_b",
        {"threshold": 0.5},
        "links: got no column 'probability'",
    ),
    "no table": ("nowhere", {}, "links: got nowhere: Catalog Error: .*, expected a table, view or query"),
    "no file": (
        "nowhere.parquet",
        {},
        "links: got nowhere.parquet: .* No files found .*, expected a table, view or query",
    ),
    "no SQL": ("SELECT FROM WHERE", {}, "links: got .*Parser Error.*, expected a table, view or query"),
    "records without ids": (SMALL, {"records": "SELECT NULL AS id"}, "records: got 1 of 1 rows without an id"),
    "records of others": (SMALL, {"records": "SELECT 'z' AS id"}, "records: got no record that links name, 'a' say"),
    "method without threshold": (SMALL, {"method": "average"}, "threshold: got none, expected a number: average looks"),
    "no method": (SMALL, {"method": "labels"}, "method: got labels, expected one of components, average, infomap"),
    "no threshold": (SMALL, {"threshold": float("nan")}, "threshold: got nan, expected a finite number"),
    "negative weights": (
        "SELECT * FROM (VALUES (1, 2, 3.0), (2, 3, 1.0), (1, 3, -2.0)) t(id_a, id_b, probability)",
        {"threshold": 0.5, "method": "infomap"},
        "probability: got -2.0, expected no negative one",
    ),
    "earlier run without numbers": (
        SMALL,
        {"previous": "SELECT 'a' AS id, 'x' AS cluster UNION ALL SELECT 'b', '0'"},
        "previous: got 2 rows without an id or a number from 1, expected what an earlier run wrote",
    ),
    "earlier run with an id twice": (
        SMALL,
        {"previous": "SELECT 'a' AS id, 1 AS cluster UNION ALL SELECT 'a', 2"},
        "previous: got 1 ids in two clusters",
    ),
    "earlier run of others": (SMALL, {"previous": "SELECT 'z' AS id, 1 AS cluster"}, "previous: got no id that is in"),
    "earlier run without clusters": (SMALL, {"previous": "SELECT 'z' AS id"}, "previous: got no column 'cluster'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_cannot_be_clustered_is_said_and_nothing_is_left(connection, fault):
    links, options, message = FAULTS[fault]
    if options.get("method") == "infomap":
        pytest.importorskip("infomap")
    with pytest.raises(ArgumentError, match=message):
        cluster_table(connection, links, **options)
    assert connection.execute("SHOW ALL TABLES").fetchall() == []


def test_an_output_that_is_there_is_kept(connection):
    connection.execute("CREATE TABLE clusters AS SELECT 'mine' AS x")
    for name in ("clusters", "Clusters", "main.clusters"):
        with pytest.raises(ArgumentError, match=r"output: got '.*lusters', which is there, .* or overwrite=True"):
            cluster_table(connection, SMALL, output=name)
    assert connection.execute("FROM clusters").fetchall() == [("mine",)]


def test_the_connection_is_as_before_but_for_the_output(connection):
    connection.execute("BEGIN")
    connection.execute(f"CREATE TABLE pairs AS {SMALL}")
    cluster_table(connection, "pairs", threshold=0.5, previous="SELECT 'a' AS id, 9 AS cluster")
    assert [row[2] for row in connection.execute("SHOW ALL TABLES").fetchall()] == ["clusters", "pairs"]
    assert clusters(connection)["a"] == 9
    connection.execute("ROLLBACK")
    assert connection.execute("SHOW ALL TABLES").fetchall() == []


def test_files_leave_nothing_registered_and_dictionaries_are_text(connection, tmp_path):
    coded = {name: pa.array(ids).dictionary_encode() for name, ids in (("id_a", ["b", "a"]), ("id_b", ["c", "a"]))}
    pyarrow.feather.write_feather(pa.table(coded), tmp_path / "links.arrow")
    cluster_table(connection, str(tmp_path / "links.arrow"))
    assert connection.execute("SELECT * FROM clusters").fetchall() == [("a", 1), ("b", 2), ("c", 2)]
    assert [row[2] for row in connection.execute("SHOW ALL TABLES").fetchall()] == ["clusters"]


def test_no_link_that_was_found_is_a_table_of_clusters_of_one(tmp_path):
    for ending in (".parquet", ".tsv", ".csv"):
        path = tmp_path / f"links{ending}"
        with table_writer(path, row_format(path)) as writer:
            writer.write({"id_a": [], "id_b": [], "probability": np.zeros(0)})
        cluster_files(path, tmp_path / "clusters.tsv", records=written(tmp_path / "people.tsv", {"id": ["x", "y"]}))
        assert read(tmp_path / "clusters.tsv") == {"x": 1, "y": 2}


def test_links_of_records_that_nobody_knows_are_warned_of(connection):
    with pytest.warns(
        UnknownIdWarning, match="links name 4 of 5 records that are not in the table of records, 'b' say"
    ):
        cluster_table(connection, SMALL, records="SELECT 'a' AS id UNION ALL SELECT 'z'")
    assert len(clusters(connection)) == 6


def test_a_cluster_of_many_records_is_warned_of(connection):
    with pytest.warns(DoubtfulLinksWarning, match="one cluster has 101 of 101 records"):
        made = cluster_table(connection, "SELECT range AS id_a, range + 1 AS id_b FROM range(100)")
    assert made.largest == 101


def test_infomap_that_is_not_installed_is_said(connection, monkeypatch):
    monkeypatch.setattr("nsed.duckdb.has_infomap", lambda: False)
    with pytest.raises(MissingExtraError, match=r"the package infomap is not installed: .*\[cognates\]"):
        cluster_table(connection, SMALL, threshold=0.5, method="infomap")


# --- Files ------------------------------------------------------------------------------------------------------------

ROWS_OF_FILE = {"id_a": ["007", 'say "d"', "b\\"], "id_b": ["é", "007", "b\\"], "probability": [0.9, 0.7, 0.2]}
EXPECTED = {"007": 1, "b\\": 2, 'say "d"': 1, "é": 1}


def written(path, columns):
    """Table of some columns in a file, by its ending."""
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix in (".arrow", ".feather"):
        pyarrow.feather.write_feather(table, path)
    elif path.suffix == ".jsonl":
        lines = (json.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True))
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    else:
        rows = [list(columns), *zip(*columns.values(), strict=True)]
        if ".csv" in path.suffixes:
            rows = [[f'"{str(one).replace(chr(34), chr(34) * 2)}"' for one in row] for row in rows]
        text = "".join(("," if ".csv" in path.suffixes else "\t").join(map(str, row)) + "\n" for row in rows)
        path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def read_text(path, **options):
    kinds = ConvertOptions(column_types={"id": pa.string()})
    return read_csv(path, parse_options=ParseOptions(**options), convert_options=kinds)


def read(path):
    table = READERS[path.suffix](path)
    assert table.column_names == ["id", "cluster"]
    return dict(zip(table["id"].to_pylist(), map(int, table["cluster"].to_pylist()), strict=True))


READERS = {
    ".parquet": pq.read_table,
    ".arrow": pyarrow.feather.read_table,
    ".tsv": partial(read_text, delimiter="\t", quote_char=False),
    ".csv": read_text,
}


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather", ".tsv", ".csv", ".jsonl", ".tsv.gz", ".csv.gz"])
@pytest.mark.parametrize("output", ["clusters.parquet", "clusters.tsv", "clusters.csv", "clusters.arrow"])
def test_files_of_all_kinds(tmp_path, ending, output):
    path = written(tmp_path / f"links{ending}", ROWS_OF_FILE)
    records = written(tmp_path / f"records{ending}", {"key": [*EXPECTED, "new"]})
    made = cluster_files(path, tmp_path / output, threshold=0.7, records=records, id_column="key")
    assert (made.records, made.clusters, made.links) == (5, 3, 2)
    assert read(tmp_path / output) == {**EXPECTED, "new": 3}


def test_files_of_a_glob_and_an_earlier_run(tmp_path):
    for part, place in enumerate((slice(2), slice(2, 3))):
        columns = {name: column[place] for name, column in ROWS_OF_FILE.items()}
        written(tmp_path / f"part-{part}.arrow", columns)
        written(tmp_path / f"part-{part}.parquet", columns)
    for ending in ("arrow", "parquet"):
        cluster_files(tmp_path / f"part-*.{ending}", tmp_path / "clusters.tsv")
        assert read(tmp_path / "clusters.tsv") == EXPECTED
    (tmp_path / "before.tsv").write_text("id\tcluster\n007\t5\n", encoding="utf-8")
    cluster_files(tmp_path / "part-*.arrow", tmp_path / "clusters.tsv", previous=tmp_path / "before.tsv")
    assert read(tmp_path / "clusters.tsv") == {"007": 5, "b\\": 6, 'say "d"': 5, "é": 5}


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".tsv"])
def test_a_file_whose_name_looks_like_a_glob_is_that_file(tmp_path, ending):
    path = written(tmp_path / f"part's [1]*{ending}", ROWS_OF_FILE)
    cluster_files(path, tmp_path / "clusters.tsv")
    assert read(tmp_path / "clusters.tsv") == EXPECTED


HASHES = "id_a\tid_b\tprobability\n#1\t2\t0.9\n'3'\t'4'\t0.9\n"


@pytest.mark.parametrize("ending", ["tsv", "csv"])
def test_no_id_of_a_text_is_read_as_a_comment_or_as_quoted(tmp_path, ending):
    path = tmp_path / f"links.{ending}"
    path.write_text(HASHES if ending == "tsv" else HASHES.replace("\t", ","), encoding="utf-8")
    cluster_files(path, tmp_path / "clusters.tsv")
    assert read(tmp_path / "clusters.tsv") == {"#1": 1, "2": 1, "'3'": 2, "'4'": 2}


@pytest.mark.parametrize("many", [1, 30_000])
@pytest.mark.parametrize(
    ("row", "said"), [("9", "number of fields|Found: 1"), ("#9", "number of fields|Found: 1"), ("9\t8\t7", "fields|3")]
)
def test_a_row_with_other_fields_than_the_header_is_said(tmp_path, many, row, said):
    """DuckDB took rows with a # and other fields than the header for comments, and left out all that begin so."""
    path = tmp_path / "links.tsv"
    path.write_text("id_a\tid_b\n" + "#1\t2\n" * many + f"{row}\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match=said):
        cluster_files(path, tmp_path / "clusters.tsv")


def test_files_that_cannot_be_are_refused_before_anything_is_written(tmp_path):
    path = written(tmp_path / "links.tsv", ROWS_OF_FILE)
    with pytest.raises(DataError, match=r"nowhere\.tsv: no such file"):
        cluster_files(tmp_path / "nowhere.tsv", tmp_path / "clusters.tsv")
    with pytest.raises(DataError, match="this output is an input too"):
        cluster_files(tmp_path / "links*.tsv", path)
    with pytest.raises(DataError, match="this output is an input too"):
        cluster_files(path, tmp_path / "before.tsv", previous=written(tmp_path / "before.tsv", ROWS_OF_FILE))
    with pytest.raises(ArgumentError, match=r"--output: got .*clusters\.xml, expected a name .*\.feather$"):
        cluster_files(path, tmp_path / "clusters.xml")
    (tmp_path / "links.xml").touch()
    with pytest.raises(ArgumentError, match=r"links: got .*links\.xml, expected a file that ends in \.parquet, "):
        cluster_files(tmp_path / "links.xml", tmp_path / "clusters.tsv")
    with pytest.raises(ArgumentError, match=r"--memory: got 'much': .*, expected an amount of memory\. Say 500MB"):
        cluster_files(path, tmp_path / "clusters.tsv", memory="much")
    assert not (tmp_path / "clusters.tsv").exists()


def test_many_links_of_few_megabytes_of_memory_are_those_of_much(tmp_path):
    hashed = "lpad((hash(range + {}) % 1500000)::VARCHAR, 40, '0')"
    query = f"SELECT {hashed.format(0)} AS id_a, {hashed.format(10**7)} AS id_b FROM range(1000000)"
    duckdb.execute(f"COPY ({query}) TO '{tmp_path / 'links.parquet'}'")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoubtfulLinksWarning)
        made = [
            cluster_files(tmp_path / "links.parquet", tmp_path / f"{memory}.parquet", memory=memory)
            for memory in ("150MB", "2GB")
        ]
    assert made[0] == made[1]
    assert made[0].records > 1_000_000
    assert pq.read_table(tmp_path / "150MB.parquet").equals(pq.read_table(tmp_path / "2GB.parquet"))


def test_an_interrupted_query_is_an_interruption(tmp_path):
    """DuckDB raises RuntimeError, of which the command showed a traceback."""

    def interrupted(*_):
        raise RuntimeError("Query interrupted")

    path = written(tmp_path / "links.tsv", ROWS_OF_FILE)
    with pytest.raises(KeyboardInterrupt):
        cluster_files(path, tmp_path / "clusters.tsv", progress=interrupted)
    assert [one.name for one in tmp_path.iterdir()] == ["links.tsv"]
    with pytest.raises(KeyboardInterrupt), interruptible():
        interrupted()
    with pytest.raises(RuntimeError, match="out of order"), interruptible():
        raise RuntimeError("out of order")


def test_memory_that_is_too_little_is_said(tmp_path):
    duckdb.execute(f"COPY (SELECT range AS id_a, 0 AS id_b FROM range(1000000)) TO '{tmp_path / 'links.parquet'}'")
    with pytest.raises(DataError, match=r"DuckDB cannot go on: .*; give it more memory \(--memory\)"):
        cluster_files(tmp_path / "links.parquet", tmp_path / "clusters.parquet", memory="1MB")
    assert not (tmp_path / "clusters.parquet").exists()
