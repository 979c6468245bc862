"""Batches: every pair once, nothing longer than asked, padding where it belongs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nsed.errors import TooLongError
from nsed.text import EncodedPairs, EncodedStrings
from nsed.types import PAD

numbers = st.lists(st.integers(4, 9), max_size=7)


@settings(deadline=None)
@given(st.lists(st.tuples(numbers, numbers), max_size=20), st.integers(1, 200))
def test_every_pair_comes_once_as_it_was(pairs, batch_cells):
    source, target = (EncodedStrings([pair[side] for pair in pairs]) for side in (0, 1))
    batches = EncodedPairs(source, target).batches(batch_cells=batch_cells, max_cells=64)
    seen = []
    for batch in batches:
        cells = len(batch.rows) * (batch.source.shape[1] + 1) * (batch.target.shape[1] + 1)
        assert cells <= batch_cells or len(batch.rows) == 1
        for place, row in enumerate(batch.rows.tolist()):
            n, m = int(batch.source_lengths[place]), int(batch.target_lengths[place])
            assert (batch.source[place, :n].tolist(), batch.target[place, :m].tolist()) == pairs[row]
            assert (batch.source[place, n:] == PAD).all()
            assert (batch.target[place, m:] == PAD).all()
        seen += batch.rows.tolist()
    assert sorted(seen) == list(range(len(pairs)))


def test_a_pair_that_is_too_long_is_pointed_at():
    strings = EncodedStrings([[4], [4] * 10_000])
    message = (
        r"pairs: got 10,000 x 10,000 symbols at place 1, a table of 100,020,001 cells, expected at most 33,554,432"
    )
    with pytest.raises(TooLongError, match=message):
        EncodedPairs(strings, strings).batches(batch_cells=2**17, max_cells=2**25)


def test_pairs_of_similar_length_come_together():
    strings = EncodedStrings([[4] * length for length in (9, 1, 8, 2, 9, 1, 8, 2)])
    batches = [
        batch.source_lengths.tolist()
        for batch in EncodedPairs(strings, strings).batches(batch_cells=400, max_cells=100)
    ]
    assert batches == [[1, 1, 2, 2], [8, 8, 9, 9]]
