"""Links of substitutions against a reference."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsed.errors import ArgumentError, DataError
from nsed.evaluate import alignment_score, links_in_proportion, read_pharaoh
from nsed.text import Edit, EditScript

links = st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6)

SCRIPT = EditScript(
    (
        Edit("substitute", "k", "c", 0, 0),
        Edit("delete", "h", "", 1, 1),
        Edit("insert", "", "u", 2, 1),
        Edit("substitute", "a", "a", 2, 2),
    )
)


def test_links_are_those_that_a_script_writes(tmp_path):
    (tmp_path / "links.txt").write_text(SCRIPT.pharaoh() + "\n\n 3-12 0-0\t0-0\r\n")
    assert read_pharaoh(tmp_path / "links.txt") == [SCRIPT.links, frozenset(), {(3, 12), (0, 0)}]
    assert SCRIPT.links == {(0, 0), (2, 2)}


def test_scores_are_of_all_links_together():
    expected = [frozenset({(0, 0), (1, 1), (2, 2), (3, 2)}), frozenset()]
    score = alignment_score([SCRIPT.links, frozenset({(5, 5)})], expected)
    assert score == pytest.approx((2 / 3, 2 / 4, 4 / 7))


@given(st.lists(st.tuples(links, links), min_size=1, max_size=5).filter(lambda pairs: any(b for _, b in pairs)))
def test_scores_count_links_one_by_one(pairs):
    found = {(n, *link) for n, (ours, _) in enumerate(pairs) for link in ours}
    expected = {(n, *link) for n, (_, theirs) in enumerate(pairs) for link in theirs}
    score = alignment_score([ours for ours, _ in pairs], [theirs for _, theirs in pairs])
    assert score.f1 == pytest.approx(2 * len(found & expected) / (len(found) + len(expected)))


@pytest.mark.parametrize("wrong", ["0:1", "1", "-1-2", "1-", "1-2-3", "a-b", "²-1", "1?2"])
def test_malformed_lines_have_a_place(tmp_path, wrong):
    (tmp_path / "links.txt").write_text(f"0-0 1-1\n2-2 {wrong}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"links\.txt:2: expected links such as 0-0 1-2, found") as caught:
        read_pharaoh(tmp_path / "links.txt")
    assert repr(wrong) in str(caught.value)


def test_of_a_long_malformed_line_the_beginning_is_shown(tmp_path):
    (tmp_path / "links.txt").write_text("x" * 500)
    with pytest.raises(DataError, match=f"found '{'x' * 60}'$"):
        read_pharaoh(tmp_path / "links.txt")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(DataError, match=r"none\.txt: cannot be read: No such file"):
        read_pharaoh(tmp_path / "none.txt")


def test_a_link_of_5000_digits_is_none(tmp_path):
    (tmp_path / "links.txt").write_text(f"0-0 1-{'9' * 5000}\n")
    with pytest.raises(DataError, match=r"links\.txt:1: expected links such as 0-0 1-2, found '1-999"):
        read_pharaoh(tmp_path / "links.txt")


def test_links_in_proportion_need_both_strings_and_end_where_these_end():
    assert links_in_proportion(0, 4) == links_in_proportion(4, 0) == frozenset()
    assert links_in_proportion(3, 1) == {(0, 0)}
    for source, target in product(range(1, 8), range(2, 8)):
        links = links_in_proportion(source, target)
        assert {(0, 0), (source - 1, target - 1)} <= links
        assert sorted(j for _, j in links) == list(range(target))


def test_alignments_of_other_pairs_are_refused():
    with pytest.raises(ArgumentError, match="expected: got 2 alignments, expected 1, one per pair found"):
        alignment_score([frozenset()], [frozenset(), frozenset()])
    with pytest.raises(ArgumentError, match="expected: got 1 alignments without a link, expected at least one link"):
        alignment_score([SCRIPT.links], [frozenset()])
