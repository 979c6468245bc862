"""Lookup index: whatever is added and removed, in whatever steps, it answers as one that was built at once."""

import random

import numpy as np
import pytest

from nsed.errors import ArgumentError, DataError, NsedError
from nsed.jobs import LookupIndex


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


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("lookup.json", b"[]", "lookup.json is incomplete or altered: format, by, model, next, segments"),
        ("lookup.json", b'{"format": 1, "by": ["ngrams"], "model": 0, "next": 2, "segments": []}', "model, segments"),
        ("lookup.json", b'{"format": 9, "by": [], "model": false, "next": 2, "segments": {}}', "format 9 is newer"),
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
