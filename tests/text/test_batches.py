"""Files in batches: the same rows as when they are read at once, whatever the batches, and wherever reading begins."""

import csv
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import nsed
from nsed.errors import ArgumentError, DataError
from nsed.text.pairs import Pairs
from nsed.text.readers import batches, read_sources
from nsed.text.readers.batches import BatchOptions, chosen_rows, input_files, pair_batches, source_batches, split_batch

LETTERS = ["a", "ß", "語", "é", '"', " ", "", "👩‍🚀", "\ufeff"]


def table(rows, seed=0):
    """Rows of random text, some of it empty, with a label and two further columns."""
    draw = random.Random(seed)
    texts = [["".join(draw.choices(LETTERS, k=draw.randrange(5))) for _ in range(rows)] for _ in range(3)]
    labels = [draw.choice(["1", "0", "yes"]) for _ in range(rows)]
    return dict(
        zip(
            ["source", "target", "label", "id", "note"],
            [*texts[:2], labels, list(map(str, range(rows))), texts[2]],
            strict=True,
        )
    )


def write(path, columns):
    """A table in the format of the file's ending."""
    made = pa.table(columns)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(made, path, row_group_size=7)
    elif path.suffix == ".arrow":
        pyarrow.feather.write_feather(made, path, chunksize=5)
    else:
        with path.open("w", newline="", encoding="utf-8") as stream:
            if path.suffix == ".csv":
                csv.writer(stream).writerows([columns, *zip(*columns.values(), strict=True)])
            else:
                stream.writelines("\t".join(row) + "\n" for row in [columns, *zip(*columns.values(), strict=True)])
    return path


def together(found):
    """All rows of batches: both strings, the label, and the further columns."""
    parts = [(batch.content, batch.content.others.to_pylist()) for batch in found]
    return [
        (*pair, *more.values())
        for pairs, others in parts
        for pair, label, more in zip(pairs, pairs.labels, others, strict=True)
    ]


@pytest.mark.parametrize("ending", ["tsv", "csv", "parquet", "arrow"])
@pytest.mark.parametrize("rows", [1, 6, 64])
def test_batches_have_the_rows_of_the_whole_file_whatever_their_size_and_beginning(ending, rows, tmp_path):
    path = write(tmp_path / f"table.{ending}", table(50, seed=rows))
    whole = nsed.read_pairs(path, keep_others=True)
    expected = [(*pair, *more.values()) for pair, more in zip(whole, whole.others.to_pylist(), strict=True)]
    options = BatchOptions(rows=rows)
    found = list(pair_batches(path, options))
    assert together(found) == expected
    assert [label for batch in found for label in batch.content.labels] == whole.labels
    assert {batch.rows for batch in found[:-1]} <= {rows}
    for done in range(1, len(found), 5):
        start = sum(batch.rows for batch in found[:done])
        again = list(pair_batches(path, options, start=start))
        assert together(again) == together(found[done:])
        assert [list(batch.numbers) for batch in again] == [list(batch.numbers) for batch in found[done:]]


def test_the_fast_parser_of_tsv_reads_what_the_readable_one_reads(tmp_path, monkeypatch):
    """Arrow parses most blocks of lines; odd ones, with carriage returns or empty lines, go row by row."""
    path = write(tmp_path / "table.tsv", table(300))
    fast = list(pair_batches(path, BatchOptions(rows=32)))
    monkeypatch.setattr(batches, "_column_batch", lambda *_: None)
    slow = list(pair_batches(path, BatchOptions(rows=32)))
    assert together(fast) == together(slow)
    assert [list(one.numbers) for one in fast] == [list(one.numbers) for one in slow]
    assert [one.content.labels for one in fast] == [one.content.labels for one in slow]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("header", [True, False])
def test_line_ends_empty_lines_and_a_byte_order_mark_change_nothing(ends, header, tmp_path):
    lines = (["source\ttarget"] if header else []) + ["AB\tab", "", "C\tc"]
    (tmp_path / "pairs.tsv").write_bytes(ends.join(["", *lines, ""]).encode("utf-8-sig"))
    (batch,) = pair_batches(tmp_path / "pairs.tsv", BatchOptions())
    assert list(batch.content) == [("AB", "ab"), ("C", "c")]
    assert list(batch.numbers) == ([3, 5] if header else [2, 4])


@pytest.mark.parametrize("content", [b"A\ta\nB\tb\rC\tc\n", b"A\ta\r\nB\tb\r\r\nC\tc", b"\r\r\nA\ta\n", b"A\nB\rC\n"])
def test_lone_carriage_returns_end_lines_of_batches_as_they_do_of_whole_files(content, tmp_path):
    path = tmp_path / "words.txt"
    path.write_bytes(content)
    found = [text for batch in source_batches(path, BatchOptions(rows=2)) for text in batch.content.texts]
    assert found == list(read_sources(path).texts)
    if b"\t" in content:
        pairs = [pair for batch in pair_batches(path, BatchOptions(rows=2)) for pair in batch.content]
        assert pairs == list(nsed.read_pairs(path))


@pytest.mark.parametrize("ending", ["tsv", "csv"])
def test_a_row_of_three_fields_among_rows_of_two_is_named_or_left_out(ending, tmp_path):
    path, comma = tmp_path / f"pairs.{ending}", "\t" if ending == "tsv" else ","
    path.write_text(
        "\n".join(comma.join(row) for row in [["A", "a"]] * 5 + [["B", "b", "x"]] + [["C", "c"]] * 3) + "\n"
    )
    with pytest.raises(DataError, match=rf"pairs\.{ending}:6: expected 2 columns .* found 3"):
        list(pair_batches(path, BatchOptions(rows=4)))
    found = list(pair_batches(path, BatchOptions(rows=4, skip=True)))
    assert [len(batch.content) for batch in found] == [4, 3, 1]
    assert [[reject.row for reject in batch.rejects] for batch in found] == [[], [6], []]
    assert found[1].numbers == [5, 7, 8]


def test_nulls_are_rejected_by_their_rows_in_the_file(tmp_path):
    path = tmp_path / "table.parquet"
    pyarrow.parquet.write_table(pa.table({"source": ["a", "b", None, "d"], "target": ["a", None, "c", "d"]}), path)
    with pytest.raises(DataError, match=r"table\.parquet:3: column 'source': expected text, found None"):
        list(pair_batches(path, BatchOptions(rows=2), start=2))
    found = list(pair_batches(path, BatchOptions(rows=2, skip=True)))
    assert [[reject.row for reject in batch.rejects] for batch in found] == [[2], [3]]


def test_text_that_is_no_utf_8_is_named_by_its_line(tmp_path):
    (tmp_path / "pairs.tsv").write_bytes(b"A\ta\n" * 9 + b"B\t\xff\n")
    with pytest.raises(DataError, match=r"pairs\.tsv:10: not UTF-8 text"):
        list(pair_batches(tmp_path / "pairs.tsv", BatchOptions(rows=4)))


@pytest.mark.parametrize("content", ["AB\n\nC\n", "\n\nAB\tx\nC\ty\n", "id\tsource\n1\tAB\n2\tC\n"])
def test_sources_are_those_of_the_whole_file(content, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text(content)
    found = list(source_batches(path, BatchOptions(rows=2)))
    assert [text for batch in found for text in batch.content.texts] == list(read_sources(path).texts)


def test_a_header_alone_and_nothing_at_all_are_errors(tmp_path):
    header = "source\ttarget\n"
    alone = [("a.tsv", header, "a header but no pair"), ("c.tsv", header + "\n" * 9, "a header but no pair")]
    for name, content, expected in [*alone, ("b.tsv", "", "is empty")]:
        (tmp_path / name).write_text(content)
        with pytest.raises(DataError, match=expected):
            list(pair_batches(tmp_path / name, BatchOptions()))
    pyarrow.parquet.write_table(
        pa.table({"source": pa.array([], pa.string()), "target": pa.array([], pa.string())}), tmp_path / "c.parquet"
    )
    with pytest.raises(DataError, match="no row below them"):
        list(pair_batches(tmp_path / "c.parquet", BatchOptions()))


def test_files_globs_and_folders_are_meant_in_the_order_of_their_names(tmp_path):
    for name in ("b.tsv", "a.parquet", "c.xlsx", "_rejects.tsv", ".hidden.tsv"):
        (tmp_path / name).touch()
    named = [tmp_path / "a.parquet", tmp_path / "b.tsv"]
    assert input_files(tmp_path) == input_files(str(tmp_path / "[ab].*")) == named
    assert input_files([tmp_path / "b.tsv", tmp_path]) == [tmp_path / "b.tsv", *named]
    with pytest.raises(DataError, match="no file has a name like this"):
        input_files(tmp_path / "*.csv")
    with pytest.raises(ArgumentError, match="standard input alone"):
        input_files(["-", tmp_path])
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="no table in this folder"):
        input_files(tmp_path / "empty")


def test_one_column_is_too_few_for_pairs(tmp_path):
    with pytest.raises(ArgumentError, match="columns: got source, expected the names of 2, 3 or 5"):
        pair_batches(tmp_path / "any.tsv", BatchOptions(["source"]))


def test_halves_of_a_batch_have_all_of_its_rows(tmp_path):
    (batch,) = pair_batches(write(tmp_path / "table.tsv", table(5)), BatchOptions())
    one, other = split_batch(batch)
    assert list(one.content) + list(other.content) == list(batch.content)
    assert [*one.numbers, *other.numbers] == list(batch.numbers)
    chosen = chosen_rows(batch, [4, 1])
    assert isinstance(chosen.content, Pairs)
    assert chosen.content.others["id"].to_pylist() == ["4", "1"]


READ = """
import resource, sys
from pathlib import Path
from nsed.errors import DataError
from nsed.text.readers.batches import BatchOptions, pair_batches
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
before = peak()
try:
    list(pair_batches(Path(sys.argv[1]), BatchOptions(rows=16)))
except DataError as error:
    print(peak() - before, error)
"""


@pytest.mark.slow
def test_a_page_that_says_it_is_huge_takes_no_memory(tmp_path):
    path = tmp_path / "pairs.parquet"
    write(path, {"source": ["grey"] * 16, "target": ["gray"] * 16})
    head, size, rest = path.read_bytes().partition(b"\x15\x14L")  # after its uncompressed size, the first page's size
    assert size
    path.write_bytes(head + b"\x15\xd8\xd8\xd8\xd8\x05L" + rest)  # 764 million bytes, as a varint
    done = subprocess.run([sys.executable, "-c", READ, path], check=True, capture_output=True, text=True)
    megabytes, _, error = done.stdout.partition(" ")
    assert "cannot be read" in error
    assert int(megabytes) < 100


def test_a_dictionary_of_sources_has_its_words_not_its_lines(tmp_path):
    path = tmp_path / "some.dict"
    path.write_text(";;; comment\nREAD  R IY D\nREAD(2)  R EH D # past\nRED  R EH D\nLEAD  L IY D\n")
    assert read_sources(path).texts == ["READ", "RED", "LEAD"]
    found = list(source_batches(path, BatchOptions(rows=2)))
    assert [batch.content.texts for batch in found] == [["READ", "RED"], ["LEAD"]]
    assert [batch.content.texts for batch in source_batches(path, BatchOptions(rows=2), start=2)] == [["LEAD"]]
    with pytest.raises(ArgumentError, match="a pronouncing dictionary has no header"):
        next(source_batches(path, BatchOptions(["word"])))
