"""One alignment out of two directions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nsed.errors import UnknownNameError
from nsed.evaluate.alignment import HEURISTICS, grow_diag, grow_diag_final_and, intersection, union

links = st.frozensets(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12)


@pytest.mark.parametrize(
    ("forward", "reverse", "grown", "final"),
    [
        # (1, 1) is beside (0, 0), and both its symbols are free
        ({(0, 0), (1, 1)}, {(0, 0)}, {(0, 0), (1, 1)}, {(0, 0), (1, 1)}),
        # (1, 0) is beside (0, 0); its source is free, its target is not: one free symbol is enough to grow
        ({(0, 0)}, {(0, 0), (1, 0)}, {(0, 0), (1, 0)}, {(0, 0), (1, 0)}),
        # (0, 1) is beside (0, 0) and (1, 1), but both of its symbols have a link
        ({(0, 0), (1, 1), (0, 1)}, {(0, 0), (1, 1)}, {(0, 0), (1, 1)}, {(0, 0), (1, 1)}),
        # what was added grows further: (1, 1), then (2, 2); (4, 4) is too far, but free on both sides
        ({(0, 0), (1, 1)}, {(0, 0), (2, 2), (4, 4)}, {(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 1), (2, 2), (4, 4)}),
        # nothing in common: nothing to grow from; in the end, forward links come first
        ({(3, 3)}, {(3, 0), (0, 0)}, set(), {(3, 3), (0, 0)}),
        # (3, 0) is far from (0, 0) and shares its target
        ({(0, 0), (3, 0)}, {(0, 0)}, {(0, 0)}, {(0, 0)}),
    ],
)
def test_by_hand(forward, reverse, grown, final):
    assert grow_diag(frozenset(forward), frozenset(reverse)) == grown
    assert grow_diag_final_and(frozenset(forward), frozenset(reverse)) == final


@given(links, links)
def test_each_heuristic_goes_beyond_the_one_before(forward, reverse):
    both, grown = intersection(forward, reverse), grow_diag(forward, reverse)
    assert both <= grown <= grow_diag_final_and(forward, reverse) <= union(forward, reverse)


@given(links, links)
def test_nothing_is_left_that_could_be_added(forward, reverse):
    grown, final = grow_diag(forward, reverse), grow_diag_final_and(forward, reverse)
    for i, j in union(forward, reverse) - grown:
        beside = any(max(abs(i - a), abs(j - b)) == 1 for a, b in grown)
        assert not beside or (touches(i, 0, grown) and touches(j, 1, grown))
    assert all(touches(i, 0, final) or touches(j, 1, final) for i, j in union(forward, reverse) - final)


def touches(place, side, found):
    return any(link[side] == place for link in found)


@given(links)
def test_two_directions_that_agree_are_left_alone(found):
    assert {HEURISTICS[name](found, found) for name in HEURISTICS} == {found}


def test_an_unknown_heuristic_is_named():
    with pytest.raises(UnknownNameError, match=r"heuristic: got 'grow-dig'.*Did you mean 'grow-diag'"):
        HEURISTICS["grow-dig"]
