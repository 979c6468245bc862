"""Jobs over tables: any input, any output, any size of batches; resumed after a kill, they write the same."""

import hashlib
import json
import os
import random
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import nsed
from golden.answers import FOLDERS
from nsed.baselines.lookup import Lookup
from nsed.errors import ArgumentError, DataError, UnknownSymbolWarning
from nsed.jobs import TableJob
from nsed.jobs.shards import MANIFEST
from nsed.jobs.table_files import RowFormat

MODEL = FOLDERS / "edit-distance"


@pytest.fixture(scope="module")
def model():
    return nsed.load(MODEL)


def write_pairs(path, rows, *, first=0, seed=1):
    draw = random.Random(seed)
    words = ["".join(draw.choices("ABC", k=draw.randrange(1, 8))) for _ in range(rows)]
    columns = {"source": words, "target": [word.lower() for word in words], "id": list(range(first, first + rows))}
    pyarrow.parquet.write_table(pa.table(columns), path)
    return path


@pytest.fixture
def pairs(tmp_path):
    return write_pairs(tmp_path / "pairs.parquet", 100)


class BrokenOffError(Exception):
    pass


class Breaking:
    """A model that breaks off after some batches, as a killed process does, but for what Python tidies up."""

    def __init__(self, model, batches):
        self.model, self.left = model, batches
        self.contents, self.kind, self.config = model.contents, model.kind, model.config

    def score(self, pairs):
        if not self.left:
            raise BrokenOffError
        self.left -= 1
        return self.model.score(pairs)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("ending", ["tsv", "csv", "json", "parquet", "arrow"])
def test_a_job_that_broke_off_goes_on_to_the_same_file(ending, model, pairs, tmp_path):
    small = dict(ids=["id"], batch_rows=8, shard_rows=16)
    TableJob(pairs, tmp_path / f"whole.{ending}", **small).score(model)
    output = tmp_path / f"out.{ending}"
    with pytest.raises(BrokenOffError):
        TableJob(pairs, output, **small).score(Breaking(model, 7))
    assert not output.exists()
    assert json.loads((tmp_path / f"out.{ending}.parts" / MANIFEST).read_bytes())["rows"] == 48
    resumed = Breaking(model, 7)  # 13 batches, 6 of which are finished
    summary = TableJob(pairs, output, **small, resume=True).score(resumed)
    assert (summary.rows, summary.written, resumed.left) == (100, 100, 0)
    assert digest(output) == digest(tmp_path / f"whole.{ending}")
    assert not (tmp_path / f"out.{ending}.parts").exists()


def test_scores_are_those_of_the_model_and_columns_of_the_input_are_kept(model, pairs, tmp_path):
    output = tmp_path / "scores.parquet"
    TableJob(pairs, output, batch_rows=7, shard_rows=20, ids=["id"]).score(model)
    found, expected = pyarrow.parquet.read_table(output), nsed.read_pairs(pairs)
    assert found.column_names == ["id", "source", "target", "score"]
    assert found["id"].to_pylist() == list(range(100))
    np.testing.assert_array_equal(found["score"].to_numpy(), model.score(expected))
    assert found.schema.field("id").type == pa.int64()


def test_a_folder_has_shards_and_a_manifest_and_is_an_input_itself(model, pairs, tmp_path):
    TableJob(pairs, f"{tmp_path}/shards/", batch_rows=10, shard_rows=40).score(model)
    names = sorted(path.name for path in (tmp_path / "shards").iterdir())
    assert names == ["manifest.json", "part-00000.parquet", "part-00001.parquet", "part-00002.parquet"]
    manifest = json.loads((tmp_path / "shards" / MANIFEST).read_bytes())
    assert (manifest["finished"], manifest["written"]) == (True, 100)
    assert manifest["job"]["inputs"][0]["sha256"] == digest(pairs)
    TableJob(tmp_path / "shards", tmp_path / "again.parquet").score(model)
    again = pyarrow.parquet.read_table(tmp_path / "again.parquet")
    assert again["score"].to_pylist() == again["input_score"].to_pylist()
    with pytest.raises(DataError, match="a finished job is here; --overwrite"):
        TableJob(pairs, tmp_path / "shards").score(model)
    TableJob(pairs, tmp_path / "shards", overwrite=True, format=RowFormat.CSV).score(model)
    assert sorted(path.name for path in (tmp_path / "shards").iterdir()) == ["manifest.json", "part-00000.csv"]


def test_shards_are_no_larger_than_wished_for(model, pairs, tmp_path):
    TableJob(pairs, f"{tmp_path}/shards/", shard_rows=30).score(model)
    manifest = json.loads((tmp_path / "shards" / MANIFEST).read_bytes())
    assert [shard["rows"] for shard in manifest["shards"]] == [30, 30, 30, 10]


@pytest.mark.parametrize(("seconds", "expected"), [(0.0, 4), (1e9, 0)])
def test_freed_memory_goes_back_after_shards_but_not_more_often_than_it_is_worth(
    seconds, expected, model, pairs, tmp_path, monkeypatch
):
    returned = []
    monkeypatch.setattr("nsed.progress.SECONDS_BETWEEN_RETURNS", seconds)
    monkeypatch.setattr("nsed.progress.return_freed_memory", lambda: returned.append(1))
    TableJob(pairs, tmp_path / "out", shard_rows=25, batch_rows=25).score(model)
    assert len(returned) == expected


def test_several_files_of_several_formats_are_one_input(model, tmp_path):
    for number, ending in enumerate(["parquet", "tsv", "arrow"]):
        made = pyarrow.parquet.read_table(write_pairs(tmp_path / "some.parquet", 20, first=20 * number, seed=number))
        path = tmp_path / f"in-{number}.{ending}"
        if ending == "tsv":
            rows = [made.column_names, *(map(str, row.values()) for row in made.to_pylist())]
            path.write_text("".join("\t".join(row) + "\n" for row in rows))
        else:
            (pyarrow.parquet.write_table if ending == "parquet" else pyarrow.feather.write_feather)(made, path)
    summary = TableJob(str(tmp_path / "in-*"), tmp_path / "out.parquet", batch_rows=8, shard_rows=16).score(model)
    found = pyarrow.parquet.read_table(tmp_path / "out.parquet")
    assert (summary.rows, found["id"].to_pylist()) == (60, list(range(60)))


def test_other_columns_in_another_file_are_told_with_both_names(model, pairs, tmp_path):
    (tmp_path / "other.tsv").write_text("source\ttarget\tgloss\nA\ta\thand\n")
    with pytest.raises(DataError, match=r"other\.tsv: has the further columns \['gloss'\], but .*pairs\.parquet has"):
        TableJob([pairs, tmp_path / "other.tsv"], tmp_path / "out.tsv").score(model)
    (tmp_path / "other.tsv").write_text("source\ttarget\tid\nA\ta\tseven\n")
    with pytest.raises(DataError, match=r"other\.tsv: columns of other types than those of .*pairs\.parquet"):
        TableJob([pairs, tmp_path / "other.tsv"], tmp_path / "out.tsv").score(model)


def unfinished(model, pairs, output, **options):
    with pytest.raises(BrokenOffError):
        TableJob(pairs, output, batch_rows=10, shard_rows=20, **options).score(Breaking(model, 5))


def test_another_job_is_not_resumed_and_what_differs_is_said(model, pairs, tmp_path):
    output, small = tmp_path / "out.tsv", dict(batch_rows=10, shard_rows=20)
    unfinished(model, pairs, output)
    with pytest.raises(DataError, match="an unfinished job is here, with 40 rows done: go on with --resume"):
        TableJob(pairs, output, **small).score(model)
    for change, said in [
        (dict(ids=["id"]), r"ids was \[\], is \[\"id\"\]"),
        (dict(shard_rows=10), "shard_rows was 20"),
    ]:
        with pytest.raises(DataError, match=f"is another one: {said}.*begin again with --overwrite"):
            TableJob(pairs, output, **{**small, **change}, resume=True).score(model)
    other = nsed.LearnableEditDistance.fit([("A", "a"), ("BC", "bc")], iterations=1)
    with pytest.raises(DataError, match="its model was another"):
        TableJob(pairs, output, **small, resume=True).score(other)
    write_pairs(pairs, 100, seed=2)
    with pytest.raises(DataError, match=r"pairs\.parquet has other content"):
        TableJob(pairs, output, **small, resume=True).score(model)
    TableJob(pairs, output, **small, overwrite=True).score(model)
    with pytest.raises(DataError, match="there is no unfinished job of this file"):
        TableJob(pairs, output, **small, resume=True).score(model)


def test_a_finished_shard_that_vanished_or_changed_is_named(model, pairs, tmp_path):
    unfinished(model, pairs, tmp_path / "out.tsv")
    part = tmp_path / "out.tsv.parts" / "part-00001.tsv"
    content = part.read_bytes()
    for damage, said in [(part.unlink, "is gone"), (lambda: part.write_bytes(content[:-9]), "bytes, not")]:
        damage()
        with pytest.raises(DataError, match=rf"part-00001\.tsv: the finished shard .*{said}"):
            TableJob(pairs, tmp_path / "out.tsv", batch_rows=10, shard_rows=20, resume=True).score(model)
    part.write_bytes(content)
    TableJob(pairs, tmp_path / "out.tsv", batch_rows=10, shard_rows=20, resume=True).score(model)


@pytest.mark.parametrize(
    "content", ["{}", "[]", '{"job": 1, "finished": false, "rows": 0, "shards": []}', "[" * 100_000]
)
def test_a_manifest_that_is_none_is_named(content, model, pairs, tmp_path):
    unfinished(model, pairs, tmp_path / "out.tsv")
    (tmp_path / "out.tsv.parts" / MANIFEST).write_text(content)
    with pytest.raises(DataError, match=r"manifest\.json: damaged: begin again with --overwrite"):
        TableJob(pairs, tmp_path / "out.tsv", batch_rows=10, shard_rows=20, resume=True).score(model)


def test_an_input_that_vanished_is_named(model, pairs, tmp_path):
    unfinished(model, pairs, tmp_path / "out.tsv")
    pairs.unlink()
    with pytest.raises(DataError, match=r"pairs\.parquet: cannot be read"):
        TableJob(pairs, tmp_path / "out.tsv", batch_rows=10, shard_rows=20, resume=True).score(model)


def test_rows_that_cannot_be_used_have_a_file_of_their_own_also_after_a_resume(model, tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("source\ttarget\tid\n" + "AB\tab\t1\n" * 30 + "AB\tab\n" + "C\tc\t2\n" * 30 + "A\ta\t3\tx\n")
    small = dict(batch_rows=10, shard_rows=20)
    with pytest.raises(DataError, match=r"pairs\.tsv:32: expected 3 columns .*, found 2") as stopped:
        TableJob(path, tmp_path / "out.csv", **small).score(model)
    assert "20 rows are finished and kept in" in "".join(stopped.value.__notes__)
    summary = TableJob(path, tmp_path / "out.csv", **small, on_error="skip", resume=True).score(model)
    assert (summary.rows, summary.written, summary.rejected) == (62, 60, 2)
    assert summary.rejects == tmp_path / "out.csv.rejects.tsv"
    header, one, other = (line.split("\t") for line in summary.rejects.read_text().splitlines())
    assert header == ["file", "row", "reason", "cells"]
    assert (one[1], json.loads(one[3]), other[1]) == ("32", ["AB", "ab"], "63")
    TableJob(path, tmp_path / "whole.csv", **small, on_error="skip").score(model)
    assert digest(tmp_path / "out.csv") == digest(tmp_path / "whole.csv")


def test_a_pair_too_long_for_the_model_is_a_reject_and_named_by_its_row(model, tmp_path):
    long = "A" * 9000
    (tmp_path / "pairs.tsv").write_text("AB\tab\n" * 20 + f"{long}\t{long.lower()}\n" + "C\tc\n" * 20)
    with pytest.raises(DataError, match=r"pairs\.tsv:21: .*9,000 x 9,000 symbols, a table"):
        TableJob(tmp_path / "pairs.tsv", tmp_path / "out.tsv").score(model)
    summary = TableJob(tmp_path / "pairs.tsv", tmp_path / "out.tsv", on_error="skip").score(model)
    assert (summary.written, summary.shown[0].reject.row) == (40, 21)


def test_text_that_tsv_cannot_hold_stops_before_the_model_or_is_a_reject(model, tmp_path):
    pyarrow.parquet.write_table(pa.table({"source": ["AB", "A"], "target": ["a\tb", "a"]}), tmp_path / "in.parquet")
    with pytest.raises(DataError, match=r"in\.parquet:1: text with a tab .* Use --format json or csv"):
        TableJob(tmp_path / "in.parquet", tmp_path / "out.tsv").score(Breaking(model, 0))
    assert TableJob(tmp_path / "in.parquet", tmp_path / "out.tsv", on_error="skip").score(model).written == 1


def test_warnings_of_batches_are_given_once(model, tmp_path):
    (tmp_path / "pairs.tsv").write_text("AX\ta\n" * 50)
    with pytest.warns(UnknownSymbolWarning) as given:
        TableJob(tmp_path / "pairs.tsv", tmp_path / "out.tsv", batch_rows=10).score(model)
    assert len(given) == 1


@pytest.mark.slow
def test_sources_are_transduced_and_drawn_the_same_whatever_happens(tmp_path):
    model = nsed.load(FOLDERS / "transducer-exact")
    (tmp_path / "words.txt").write_text("".join(f"{word}\n" for word in ["CCB", "CB", "ABBA", "CAB"] * 5))
    small = dict(batch_rows=4, shard_rows=8)
    TableJob(tmp_path / "words.txt", tmp_path / "best.tsv", **small).transduce(model, nbest=2)
    lines = (tmp_path / "best.tsv").read_text().splitlines()
    assert (lines[0], len(lines)) == ("source\ttarget\tlog_prob", 41)
    for name in ("one.tsv", "two.tsv"):
        TableJob(tmp_path / "words.txt", tmp_path / name, **small).sample(model, count=2, seed=3)
    assert digest(tmp_path / "one.tsv") == digest(tmp_path / "two.tsv")
    rows = (tmp_path / "one.tsv").read_text().splitlines()[1:]
    assert rows[:8] != rows[8:16]  # another seed for each batch


def test_what_cannot_be_is_said_before_the_work(model, pairs, tmp_path):
    with pytest.raises(ArgumentError, match="--resume: got an output that is no file"):
        TableJob(pairs, resume=True).score(model)
    with pytest.raises(ArgumentError, match="--id: got 'key', expected one of id"):
        TableJob(pairs, tmp_path / "out.tsv", ids=["key"]).score(model)
    with pytest.raises(DataError, match=r"out\.tsv: cannot be written: .*nowhere: No such file"):
        TableJob(pairs, tmp_path / "nowhere" / "out.tsv").score(model)
    assert not (tmp_path / "nowhere").exists()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").touch()
    with pytest.raises(ArgumentError, match=r"which has thesis\.tex, expected a new folder"):
        TableJob(pairs, tmp_path / "full").score(model)
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["thesis.tex"]
    with pytest.raises(ArgumentError, match="makes no decisions"):
        TableJob(pairs, tmp_path / "out.tsv").match(model)


def test_two_jobs_do_not_share_an_output(model, pairs, tmp_path):
    class Meanwhile(Breaking):
        def score(self, some):
            with pytest.raises(DataError, match=r"another job is going on here, process \d+"):
                TableJob(pairs, tmp_path / "out.tsv", overwrite=True).score(self.model)
            return self.model.score(some)

    TableJob(pairs, tmp_path / "out.tsv").score(Meanwhile(model, 1))


FULL_DISK = """
import resource, sys, nsed
from nsed.jobs import TableJob
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[4]), resource.RLIM_INFINITY))
TableJob(sys.argv[2], sys.argv[3], batch_rows=500, shard_rows=1000).score(nsed.load(sys.argv[1]))
"""


@pytest.mark.slow
def test_a_disk_that_fills_up_is_named_and_what_is_finished_is_kept(model, tmp_path):
    """No file may be larger than the limit: shards are not, the file that is joined from them would be."""
    path, output = write_pairs(tmp_path / "pairs.parquet", 5000), tmp_path / "out.tsv"
    small = dict(batch_rows=500, shard_rows=1000)
    TableJob(path, tmp_path / "whole.tsv", **small).score(model)
    command = [sys.executable, "-c", FULL_DISK, *map(str, (MODEL, path, output, 60_000))]
    failed = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert "out.tsv: cannot be written: File too large" in failed.stderr
    assert not output.exists()
    TableJob(path, output, **small, resume=True).score(model)
    assert digest(output) == digest(tmp_path / "whole.tsv")


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import nsed
from nsed.jobs import TableJob

model, pairs, output, whole = nsed.load(sys.argv[1]), *map(Path, sys.argv[2:])
parts, draw, kills, done, before = Path(f"{output}.parts"), random.Random(7), 0, 0, []
job = dict(ids=["id"], batch_rows=50, shard_rows=100)
begun = time.monotonic()
TableJob(pairs, whole, **job).score(model)
longest = time.monotonic() - begun

while kills < 20 or not done:
    child = os.fork()
    if not child:
        TableJob(pairs, output, **job, resume=True).score(model)
        os._exit(0)
    time.sleep(draw.uniform(0, 0.6 * longest))
    before.append(len(list(parts.glob("part-*"))) if parts.exists() else 0)
    if kills < 20:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status)
    assert killed or os.WEXITSTATUS(status) == 0
    kills += killed
    if output.exists() and not parts.exists():
        assert output.read_bytes() == whole.read_bytes()
        output.unlink()
        done += 1
print(kills, done, len(set(before)))
"""


@pytest.mark.slow
def test_a_job_killed_twenty_times_at_random_moments_and_resumed_writes_the_same(tmp_path):
    """SIGKILL of processes of their own, which resume one another: nobody tidies up, and the output is the same."""
    path = write_pairs(tmp_path / "pairs.parquet", 4000)
    arguments = (MODEL, path, tmp_path / "out.parquet", tmp_path / "whole.parquet")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NSED_BACKEND": "torch"}  # threads do not survive a fork
    command = [sys.executable, "-c", KILLED, *map(str, arguments)]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert found.returncode == 0, found.stderr
    kills, done, different = map(int, found.stdout.split())
    assert kills >= 20
    assert done >= 1
    assert different > 3  # kills came at different moments


def test_output_that_is_an_input_is_refused_and_the_input_is_as_it_was(model, pairs):
    folder = pairs.parent / "scores"
    TableJob(pairs, f"{folder}/").score(model)
    wrong = [
        TableJob(str(pairs.parent / "*.parquet"), pairs),
        TableJob([pairs], pairs, overwrite=True),
        TableJob(pairs, pairs.parent / "x.tsv", rejects=pairs),
        TableJob(folder, f"{folder}/", overwrite=True),
    ]
    before = {path: path.read_bytes() for path in pairs.parent.rglob("*") if path.is_file()}
    for job in wrong:
        with pytest.raises(DataError, match=r"\.parquet: this output is an input too"):
            job.score(model)
    assert {path: path.read_bytes() for path in pairs.parent.rglob("*") if path.is_file()} == before


def test_a_folder_with_rejected_rows_is_made_again_though_its_file_of_them_is_there(model, tmp_path):
    (tmp_path / "pairs.tsv").write_text("AB\tab\nA\nC\tc\n")
    given = dict(inputs=tmp_path / "pairs.tsv", output=f"{tmp_path}/scores/", on_error="skip")
    first = TableJob(**given).score(model)
    assert first.rejects == tmp_path / "scores" / "_rejects.tsv"
    before = first.rejects.read_bytes()
    assert TableJob(**given, overwrite=True).score(model) == first
    assert first.rejects.read_bytes() == before


def test_rejected_rows_that_are_read_again_are_refused_only_where_rows_are_skipped(model, pairs):
    rejects = pairs.parent / "x.tsv.rejects.tsv"
    rejects.write_text("ABC\tabc\n", encoding="utf-8")
    TableJob(rejects, pairs.parent / "x.tsv").score(model)
    with pytest.raises(DataError, match=r"x\.tsv\.rejects\.tsv: this output is an input too"):
        TableJob(rejects, pairs.parent / "x.tsv", on_error="skip").score(model)


def test_rows_without_an_answer_do_not_overwrite_the_input_that_has_their_files_name(tmp_path):
    words = tmp_path / "x.tsv.rejects.tsv"
    words.write_text("colour\nzzz\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"x\.tsv\.rejects\.tsv: this output is an input too"):
        TableJob(words, tmp_path / "x.tsv").transduce(Lookup.fit([("colour", "color")]))
    assert words.read_text(encoding="utf-8") == "colour\nzzz\n"
