"""Lookup index: whatever is added and removed, in whatever steps, it answers as one that was built at once."""

import errno
import os
import random

import numpy as np
import pytest

import nsed
from nsed.errors import ArgumentError, DataError, NsedError
from nsed.jobs import Candidates, LookupIndex, lookup


def words(count, seed):
    stream = random.Random(seed)
    return ["".join(stream.choices("abcdeghi", k=stream.randint(3, 9))) for _ in range(count)]


def test_steps_end_where_one_build_does(tmp_path):
    texts = words(60, 1)
    ids = [str(row) for row in range(60)]
    steps = LookupIndex.build(tmp_path / "steps", ids[:10], texts[:10])
    for start in range(10, 60, 5):  # more segments than there may be: they are merged
        steps.add(ids[start : start + 5], texts[start : start + 5])
    steps.remove(ids[::7])
    steps.add(["59"], ["completely else"])
    left = [(id_, text) for id_, text in zip(ids, texts, strict=True) if int(id_) % 7 and id_ != "59"]
    left.append(("59", "completely else"))
    again = LookupIndex(tmp_path / "steps")
    assert len(again) == len(steps) == len(left)
    for text in [*words(10, 2), "completely else"]:
        assert [hit.id for hit in again.query([text])[0]] == [hit.id for hit in steps.query([text])[0]]
    for id_, text in left:
        assert id_ in [hit.id for hit in again.query([text], k=3)[0]]
    gone = set(ids[::7])
    assert not [hit for hits in again.query(words(30, 3), k=20) for hit in hits if hit.id in gone]


def test_one_segment_answers_as_candidates_do(tmp_path):
    index = LookupIndex.build(tmp_path / "index", ["a", "b", "c", "d"], ["grey", "gray", "grey", "lay"])
    assert [hit.id for hit in index.query(["grey"], k=2)[0]] == ["a", "c"]
    index.remove(["a", "c"])
    assert index.query(["grey"], k=1)[0][0].id == "b"


def test_texts_may_be_a_generator(tmp_path):
    assert len(LookupIndex.build(tmp_path / "index", iter(["a", "b"]), (text for text in ["grey", "lay"]))) == 2


def test_an_index_can_be_opened_while_somebody_merges_its_segments(tmp_path, monkeypatch):
    writer = LookupIndex.build(tmp_path / "index", ["0"], ["grey"])
    for number in range(1, lookup.MOST_SEGMENTS - 1):
        writer.add([str(number)], [f"name {number}"])
    load, waiting = lookup.Segment.load, [["new"]]

    def merged_first(path):
        if waiting:
            writer.add(waiting.pop(), ["merged"])
        return load(path)

    monkeypatch.setattr(lookup.Segment, "load", merged_first)
    assert len(LookupIndex(tmp_path / "index")) == len(writer) == lookup.MOST_SEGMENTS
    (tmp_path / "index" / writer.segments[0].path.name / lookup.IDS).unlink()
    with pytest.raises(DataError):
        LookupIndex(tmp_path / "index")


def test_what_is_not_there_changes_nothing(tmp_path):
    index = LookupIndex.build(tmp_path / "index", ["a"], ["grey"])
    with pytest.raises(ArgumentError, match="got z, expected ids that the index has"):
        index.remove(["a", "z"])
    assert len(index) == 1
    with pytest.raises(ArgumentError, match="a different id for each text"):
        index.add(["x", "x"], ["lay", "ray"])
    with pytest.raises(DataError, match="something is here already"):
        LookupIndex.build(tmp_path / "index", [], [])
    with pytest.raises(DataError, match="no lookup index"):
        LookupIndex(tmp_path / "nothing")


def entries(index):
    return sorted(pair for segment in index.segments for pair in segment.rows())


def test_an_add_that_fails_loses_no_entry_here_nor_on_disk(tmp_path, monkeypatch):
    index = LookupIndex.build(tmp_path / "index", ["1", "2"], ["Vienna", "Venice"])
    for ids, texts, wrong in ((["1"], ["\ud800"], "texts"), (["\ud800"], ["Verona"], "ids")):
        with pytest.raises(ArgumentError, match=rf"{wrong}: got '\\ud800' at place 0, expected whole characters"):
            index.add(ids, texts)
    with monkeypatch.context() as patched:
        patched.setattr(lookup, "replace_file", lambda *given: (_ for _ in ()).throw(OSError("the disk is full")))
        with pytest.raises(
            DataError, match=r"lookup\.json: cannot be written: the disk is full; the index is as it was"
        ):
            index.add(["1"], ["Wien"])
    assert entries(index) == [("1", "Vienna"), ("2", "Venice")]
    index.add(["3"], ["Verona"])
    assert entries(LookupIndex(tmp_path / "index")) == [("1", "Vienna"), ("2", "Venice"), ("3", "Verona")]


def test_half_a_character_makes_no_folder(tmp_path):
    with pytest.raises(ArgumentError, match="no lone surrogate"):
        LookupIndex.build(tmp_path / "index", ["1"], ["\ud800"])
    with pytest.raises(ArgumentError, match="no lone surrogate"):
        Candidates("ngrams").fit(["\ud800"]).save(tmp_path / "index")
    assert not (tmp_path / "index").exists()


def test_a_build_that_fails_leaves_nothing_that_answers_nothing(tmp_path, monkeypatch):
    for folder in (tmp_path / "new", tmp_path / "empty"):
        if folder.name == "empty":
            folder.mkdir()
        with monkeypatch.context() as patched:
            patched.setattr(lookup, "write_texts", lambda *given: (_ for _ in ()).throw(OSError("the disk is full")))
            with pytest.raises(DataError, match="cannot be written: the disk is full"):
                LookupIndex.build(folder, ["1"], ["Vienna"])
        with pytest.raises(DataError, match="no lookup index"):
            LookupIndex(folder)
        assert entries(LookupIndex.build(folder, ["1"], ["Vienna"])) == [("1", "Vienna")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "new"]
    assert not list((tmp_path / "empty").glob(".*"))


def test_an_index_can_be_built_in_the_folder_that_one_is_in_and_in_a_link_to_an_empty_one(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert len(LookupIndex.build(".", ["1"], ["Vienna"])) == 1
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    LookupIndex.build(tmp_path / "link", ["1"], ["Vienna"])
    assert len(LookupIndex(tmp_path / "there")) == 1


@pytest.mark.parametrize("what", ["write_texts", "replace_file"])
def test_a_full_disk_leaves_the_index_as_it_was_and_is_named(tmp_path, monkeypatch, what):
    ids = [str(row) for row in range(lookup.MOST_SEGMENTS - 1)]
    index = LookupIndex.build(tmp_path / "index", ids[:1], ["Vienna"])
    for id_ in ids[1:]:
        index.add([id_], [f"name {id_}"])  # the next one merges all of them
    before, there = entries(index), sorted((tmp_path / "index").iterdir())
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    changes = [lambda: index.add(["new"], ["Venice"])]
    changes += [lambda: index.remove(["0"])] if what == "replace_file" else []
    with monkeypatch.context() as patched:
        patched.setattr(lookup, what, lambda *given: (_ for _ in ()).throw(full))
        for change in changes:
            with pytest.raises(DataError, match=r"index/.*: cannot be written: No space left on device"):
                change()
            assert entries(index) == entries(LookupIndex(tmp_path / "index")) == before
    assert sorted((tmp_path / "index").iterdir()) == there
    index.add(["new"], ["Venice"])
    assert entries(LookupIndex(tmp_path / "index")) == [*before, ("new", "Venice")]


def test_two_handles_that_both_change_an_index_lose_nothing(tmp_path):
    one = LookupIndex.build(tmp_path / "index", ["1"], ["Vienna"])
    other = LookupIndex(tmp_path / "index")
    one.add(["2"], ["Venice"])
    other.add(["3"], ["Verona"])
    one.remove(["3"])
    other.add(["4"], ["Siena"])
    expected = [("1", "Vienna"), ("2", "Venice"), ("4", "Siena")]
    assert entries(other) == entries(LookupIndex(tmp_path / "index")) == expected


def test_a_change_while_another_one_is_made_says_who_makes_it(tmp_path):
    index = LookupIndex.build(tmp_path / "index", ["1"], ["Vienna"])
    with index._lock():
        for change in (lambda: index.add(["2"], ["Venice"]), lambda: index.remove(["1"])):
            with pytest.raises(DataError, match=r"somebody else is changing this index, process \d+ .*: try again"):
                change()
    assert entries(LookupIndex(tmp_path / "index")) == [("1", "Vienna")]


def test_hits_of_an_earlier_generator_come_before_higher_scores_of_the_next(tmp_path):
    texts = ["gray", "grey", "grex", "lay"]
    model = nsed.LearnableEditDistance.fit([(text, text) for text in texts] + [("gray", "grey")], relative=True)
    by = ["exact", "operations"]
    index = LookupIndex.build(tmp_path / "index", ["0", "1"], texts[:2], by=by, model=model)
    index.add(["2", "3"], texts[2:])
    hits = index.query(["GREX!", "gray"], k=4)
    assert [hits[0][0].id, hits[1][0].id] == ["2", "0"]
    assert [one[0].score for one in hits] == [1, 1]
    assert hits[1][1].score > 1
    found = Candidates(by, model=model).fit(texts).query(["gray"], 4)
    assert [hit.text for hit in hits[1]] == [texts[row] for row in found.references]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("lookup.json", b"[]", "lookup.json is incomplete or altered: format, by, model, next, segments"),
        ("lookup.json", b'{"format": 1, "by": ["ngrams"], "model": 0, "next": 2, "segments": []}', "model, segments"),
        ("lookup.json", b'{"format": 9, "by": [], "model": false, "next": 2, "segments": {}}', "format 9 is newer"),
        ("lookup.json", b'{"format": 1, "by": ["x"], "model": false, "next": 2, "segments": {}}', "altered: by"),
        ("lookup.json", b'{"format": 1, "by": [], "model": false, "next": 2, "segments": {"../a": []}}', "'../a'"),
        ("lookup.json", b"[" * 100_000, "no lookup index: "),
        ("segment-000001/candidates.json", b'{"format": 1, "by": "ngrams", "k": 0, "model": false}', "altered: by"),
        ("segment-000001/candidates.json", b'{"format": 1, "by": ["x"], "k": 2, "model": false}', "by: got x, exp"),
        ("segment-000001/references.arrow", b"ARROW1", "references.arrow: cannot be read"),
        ("segment-000001/ids.arrow", b"", "ids.arrow: cannot be read"),
        ("segment-000001/ngrams-keys.npy", b"\x93NUMPY\x01\x00\x06\x00{'a':(", "no index of n-grams"),
    ],
)  # fmt: skip
def test_a_damaged_index_says_what_is_damaged(name, content, message, tmp_path):
    LookupIndex.build(tmp_path / "index", ["1", "2"], ["Vienna", "Venice"])
    (tmp_path / "index" / name).write_bytes(content)
    with pytest.raises(NsedError, match=message):
        LookupIndex(tmp_path / "index")


def test_arrays_of_n_grams_that_do_not_fit_together_are_damaged(tmp_path):
    LookupIndex.build(tmp_path / "index", ["1", "2"], ["Vienna", "Venice"])
    path = tmp_path / "index" / "segment-000001" / "ngrams-offsets.npy"
    offsets = np.load(path)
    for wrong in (offsets * 1000, offsets[:-1], offsets[::-1], offsets.astype(float)):
        np.save(path, wrong)
        with pytest.raises(DataError, match="the index of n-grams is damaged: make it again"):
            LookupIndex(tmp_path / "index")


def test_references_that_have_become_equal_are_damaged(tmp_path):
    LookupIndex.build(tmp_path / "index", ["1", "2"], ["Vienna", "Verona"])
    path = tmp_path / "index" / "segment-000001" / "references.arrow"
    path.write_bytes(path.read_bytes().replace(b"ViennaVerona", b"VeronaVerona"))
    with pytest.raises(DataError, match="other references than those of the index"):
        LookupIndex(tmp_path / "index")


def test_a_string_instead_of_ids_removes_nothing(tmp_path):
    index = LookupIndex.build(tmp_path / "index", ["1", "2"], ["Vienna", "Siena"])
    for wrong in (lambda: index.remove("12"), lambda: index.add("34", ["Lima", "Rome"])):
        with pytest.raises(ArgumentError, match=r"ids: got '\d\d', expected several ids: a list"):
            wrong()
    assert len(LookupIndex(tmp_path / "index")) == 2
