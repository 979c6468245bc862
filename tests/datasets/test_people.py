"""Synthetic people: duplicates are as many as asked for, have few errors, and keep their person."""

import pytest

from nsed.datasets.febrl import FIELDS, people, true_links
from nsed.errors import ArgumentError
from support.commands import run


def test_duplicates_differ_from_their_originals_in_few_fields():
    records = list(people(2000, duplicates=0.25, seed=3))
    originals = {one.person: one for one in records if one.id.endswith("-org")}
    again = [one for one in records if not one.id.endswith("-org")]
    assert (len(originals), len(again)) == (1500, 500)
    differing = [sum(getattr(one, field) != getattr(originals[one.person], field) for field in FIELDS) for one in again]
    assert max(differing) <= 6  # three errors, each of which may exchange two names
    assert 1 < sum(differing) / len(differing) < 3
    assert len({one.id for one in records}) == 2000


def test_links_are_all_pairs_of_a_person():
    records = list(people(500, duplicates=0.5))
    person = {one.id: one.person for one in records}
    expected = {(a.id, b.id) for i, a in enumerate(records) for b in records[i + 1 :] if a.person == b.person}
    assert set(true_links(records)) == expected
    assert all(person[a] == person[b] for a, b in expected)


def test_a_share_that_is_none_is_refused():
    with pytest.raises(ArgumentError, match="expected a share from 0 on, below 1"):
        list(people(10, duplicates=1.0))


def test_command_writes_people_and_links(tmp_path):
    run("data", "people", "--count", 50, "--links", tmp_path / "same.tsv", "-o", tmp_path / "people.tsv")
    head, *rows = (tmp_path / "people.tsv").read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == ["id", "person", *FIELDS]
    assert len(rows) == 50
    ids = {row.split("\t")[0] for row in rows}
    links = [line.split("\t") for line in (tmp_path / "same.tsv").read_text(encoding="utf-8").splitlines()[1:]]
    assert links
    assert all(one in ids for pair in links for one in pair)
