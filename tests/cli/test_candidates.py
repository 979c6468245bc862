"""`nsed candidates`: rows, recall, a saved index, errors."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather
from typer.testing import CliRunner

from nsed.__main__ import app
from nsed.errors import ArgumentError, DataError
from support.commands import run


@pytest.fixture
def files(tmp_path):
    (tmp_path / "cities.tsv").write_text("id\tname\n1\tVienna\n2\tVenice\n3\tVerona\n", encoding="utf-8")
    (tmp_path / "queries.tsv").write_text("name\nvenezia\nVIENNA\n", encoding="utf-8")
    (tmp_path / "known.tsv").write_text("Venezia\tVenice\nVienna\tVerona\nelsewhere\tRome\n", encoding="utf-8")
    return tmp_path


def test_candidates_recall_and_a_saved_index(files):
    shown = run("candidates", files / "cities.tsv", files / "queries.tsv", "--on", "name", "--k", 1)
    assert [line.split("\t")[:3] for line in shown.splitlines()] == [
        ["query", "reference", "rank"],
        ["venezia", "Venice", "1"],
        ["VIENNA", "Vienna", "1"],
    ]
    options = ["--on", "name", "--k", "1", "--recall", files / "known.tsv", "--save", files / "index"]
    told = CliRunner().invoke(app, ["candidates", *map(str, [files / "cities.tsv", *options])]).output
    assert "3 references, 2 matches: recall@1 50.00%" in told
    assert "1 more matches have no string among the references" in told
    assert "not found: Vienna - Verona" in told
    assert run("candidates", files / "index", files / "queries.tsv", "--on", "name", "--k", 1) == shown


def test_rules_and_blocks_are_candidates_too(files):
    pytest.importorskip("duckdb")
    (files / "towns.tsv").write_text("name\tland\nVienna\tAT\nVenice\tIT\nVerona\tIT\n", encoding="utf-8")
    (files / "asked.tsv").write_text("name\tland\nWien\tAT\nVenezia\tIT\n", encoding="utf-8")
    (files / "known.tsv").write_text("Wien\tVienna\nVenezia\tVienna\n", encoding="utf-8")
    given = ["candidates", files / "towns.tsv", files / "asked.tsv", "--on", "name"]
    measured = CliRunner().invoke(app, [*map(str, given), "--block", "land", "--recall", str(files / "known.tsv")])
    assert "1 rules, 3 references, 2 matches: recall@2 50.00%" in measured.stderr
    run(*given, "--block", "land", "-o", files / "found.tsv")
    rows = [line.split("\t") for line in (files / "found.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    assert [row[:3] for row in rows] == [
        ["Wien", "Vienna", "1"],
        ["Venezia", "Venice", "1"],
        ["Venezia", "Verona", "2"],
    ]
    assert {float(row[3]) for row in rows} == {1.0}
    both = ["--rule", "a.name[1] = b.name[1]", "--by", "ngrams", "--k", 1, "-o", files / "found.tsv"]
    run(*given, *both)
    rows = [line.split("\t") for line in (files / "found.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    assert [row[:3] for row in rows] == [
        ["Wien", "Vienna", "1"],
        ["Venezia", "Venice", "1"],
        ["Venezia", "Vienna", "2"],
        ["Venezia", "Verona", "3"],
    ]
    with pytest.raises(ArgumentError, match="--save: got --rule or --block too"):
        run(*given, "--block", "land", "--save", files / "index")
    with pytest.raises(ArgumentError, match="expected two tables, and --on COLUMN"):
        run("candidates", files / "towns.tsv", files / "asked.tsv", "--block", "land")


def test_errors_say_what_to_do(files):
    with pytest.raises(ArgumentError, match="expected queries, --recall LABELLED or --save FOLDER"):
        run("candidates", files / "cities.tsv")
    with pytest.raises(ArgumentError, match="model: got none, expected a model, for operations"):
        run("candidates", files / "cities.tsv", files / "queries.tsv", "--on", "name", "--by", "operations")
    with pytest.raises(ArgumentError, match="--format: got parquet, expected tsv, csv or json without --output FILE"):
        run("candidates", files / "cities.tsv", files / "queries.tsv", "--on", "name", "--format", "parquet")


def test_lookup_builds_adds_removes_and_answers(files):
    index = files / "lookup"
    assert "3 strings" in run("lookup", "build", index, files / "cities.tsv", "--on", "name", "--id", "id")
    (files / "more.tsv").write_text("id\tname\n9\tVenezuela\n", encoding="utf-8")
    assert "4 strings" in run("lookup", "add", index, files / "more.tsv", "--on", "name", "--id", "id")
    assert run("lookup", "query", index, "--text", "venezuela", "--k", 1).split("\t")[4] == "9"
    (files / "gone.txt").write_text("9\n", encoding="utf-8")
    assert "3 strings" in run("lookup", "remove", index, files / "gone.txt")
    assert "Venezuela" not in run("lookup", "query", index, "--text", "venezuela")
    with pytest.raises(ArgumentError, match="ROWS or --text: got neither"):
        run("lookup", "query", index)


def test_lookup_refuses_a_row_without_an_id_and_knows_a_number_that_is_a_float(files):
    index, add = files / "lookup", ["--on", "name", "--id", "id"]
    run("lookup", "build", index, files / "cities.tsv", *add)
    (files / "none.tsv").write_text("id\tname\n4\tOslo\n\tBonn\n", encoding="utf-8")
    pq.write_table(pa.table({"id": [1.0, None], "name": ["Oslo", "Bonn"]}), files / "none.parquet")
    for name in ("none.tsv", "none.parquet"):
        with pytest.raises(DataError, match=f"{name}: id of row 2 is missing; expected one for each string"):
            run("lookup", "add", index, files / name, *add)
    pq.write_table(pa.table({"id": [1.0], "name": ["Wien"]}), files / "float.parquet")
    assert "3 strings" in run("lookup", "add", index, files / "float.parquet", *add)


def test_lookup_of_an_id_that_is_there_twice_names_it_and_makes_no_index(files):
    index = files / "lookup"
    (files / "twice.tsv").write_text("id\tname\n1\tVienna\n2\tVenice\n1\tVerona\n", encoding="utf-8")
    with pytest.raises(ArgumentError, match="ids: got '1' in row 1 and again in row 3, expected a different id"):
        run("lookup", "build", index, files / "twice.tsv", "--on", "name", "--id", "id")
    assert not index.exists()
    with pytest.raises(DataError, match="no lookup index"):
        run("lookup", "query", index, "--text", "Wien")
    assert "3 strings" in run("lookup", "build", index, files / "cities.tsv", "--on", "name", "--id", "id")


def test_lookup_remove_of_a_file_that_cannot_be_read_is_no_traceback(files):
    index = files / "lookup"
    run("lookup", "build", index, files / "cities.tsv", "--on", "name", "--id", "id")
    (files / "latin1.txt").write_bytes("1\nMünchen\n".encode("latin-1"))
    wrong = {"no.txt": "No such file", "lookup": "Is a directory", "latin1.txt": "not UTF-8 text"}
    for name, message in wrong.items():
        with pytest.raises(DataError, match=message):
            run("lookup", "remove", index, files / name)
    (files / "gone.txt").write_bytes("\ufeff1\r\n\r\n2\r\n".encode())
    assert "1 strings" in run("lookup", "remove", index, files / "gone.txt")


@pytest.mark.parametrize("name", ["gone.tsv", "gone.csv", "gone.parquet", "gone.arrow", "floats.parquet"])
def test_lookup_remove_takes_the_tables_that_add_takes(files, name):
    index, gone = files / "lookup", files / name
    run("lookup", "build", index, files / "cities.tsv", "--on", "name", "--id", "id")
    table = pa.table({"name": ["Venice", "Verona"], "id": [2.0, 3.0] if name.startswith("floats") else [2, 3]})
    if gone.suffix == ".parquet":
        pq.write_table(table, gone)
    elif gone.suffix == ".arrow":
        feather.write_feather(table, gone)
    else:
        between = "\t" if gone.suffix == ".tsv" else ","
        rows = [("name", "id"), ("Venice", "2"), ("Verona", "3")]
        gone.write_text("".join(between.join(row) + "\n" for row in rows), encoding="utf-8")
    assert "1 strings" in run("lookup", "remove", index, gone, "--id", "id")
    assert "Vienna" in run("lookup", "query", index, "--text", "Venice", "--k", 1)


def test_lookup_remove_of_strings_that_are_ids_takes_their_column(files):
    index = files / "lookup"
    run("lookup", "build", index, files / "cities.tsv", "--on", "name")
    pq.write_table(pa.table({"name": ["Venice"]}), files / "gone.parquet")
    assert "2 strings" in run("lookup", "remove", index, files / "gone.parquet")
    (files / "gone.tsv").write_text("number\tname\n1\tVerona\n", encoding="utf-8")
    assert "1 strings" in run("lookup", "remove", index, files / "gone.tsv", "--on", "name")


def test_lookup_remove_of_a_table_without_an_id_in_a_row_names_the_row(files):
    index = files / "lookup"
    run("lookup", "build", index, files / "cities.tsv", "--on", "name", "--id", "id")
    pq.write_table(pa.table({"id": [1, None]}), files / "none.parquet")
    with pytest.raises(DataError, match=r"none\.parquet:2: column 'id': expected text, found None"):
        run("lookup", "remove", index, files / "none.parquet", "--id", "id")
    with pytest.raises(DataError, match="no column named 'key'; the file has: id"):
        run("lookup", "remove", index, files / "none.parquet", "--id", "key")


@pytest.mark.parametrize(
    ("given", "advice"),
    [
        ("names.csv", r"Perhaps: nsed lookup build INDEX names\.csv --on COLUMN"),
        ("cities.index", r"Perhaps: nsed lookup query cities\.index --text TEXT"),
        ("biuld", "Did you mean 'build'"),
    ],
)
def test_an_action_that_is_none_is_answered_with_the_command_that_was_meant(tmp_path, monkeypatch, given, advice):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "names.csv").write_text("name\nParis\n")
    with pytest.raises(ArgumentError, match=f"ACTION: got {given}, expected one of build, .*{advice}"):
        run("lookup", given, *([] if given.endswith(".csv") else ["more"]))
