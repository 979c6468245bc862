"""Compiled recurrent units against torch's own: whole strings in any order, and one symbol more."""

import pytest
import torch
from nsed.encoders.compiled_gru import can_read
from nsed.encoders.recurrence import read_both_ways, read_next, read_onward
from torch import nn

from nsed.encoders import EncoderConfig, compiled_gru
from nsed.encoders.base import Kinds
from nsed.encoders.rnn import _reversal
from nsed.encoders.string_encoder import StringEncoder

pytest.importorskip("numba", reason="kernels of the extra cpu")

SHAPES = [(3, 5, 24), (1, 1, 16), (130, 9, 40), (2, 0, 8), (0, 3, 8), (4, 7, 1)]


def unit_of(dim, *, scale=1.0):
    unit = nn.GRU(dim, dim, batch_first=True)
    with torch.no_grad():
        for part in unit.parameters():
            part.mul_(scale)
    return unit


def torch_only(monkeypatch):
    monkeypatch.setattr(compiled_gru, "has_numba", lambda: False)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("scale", [1.0, 4.0])
def test_strings_are_read_as_torch_reads_them(shape, scale, monkeypatch):
    batch, length, dim = shape
    torch.manual_seed(0)
    onward, backward, vectors = unit_of(dim, scale=scale), unit_of(dim, scale=scale), torch.randn(*shape)
    back = _reversal(torch.randint(0, length + 1, (batch,)), length)
    with torch.no_grad():
        assert can_read(onward, vectors)
        ours = read_onward(onward, vectors), read_both_ways(onward, backward, vectors, back)
        torch_only(monkeypatch)
        assert not can_read(onward, vectors)
        if vectors.numel():
            theirs = read_onward(onward, vectors), read_both_ways(onward, backward, vectors, back)
            torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=2e-6)
    assert ours[0].shape == vectors.shape
    assert ours[1].shape == (batch, length, 2 * dim)


def test_padding_and_permutation_change_nothing():
    torch.manual_seed(1)
    onward, backward, vectors = unit_of(12), unit_of(12), torch.randn(5, 6, 12)
    lengths, order = torch.tensor([6, 1, 3, 0, 4]), torch.tensor([3, 0, 4, 1, 2])
    with torch.no_grad():
        read = read_both_ways(onward, backward, vectors, _reversal(lengths, 6))
        other = read_both_ways(onward, backward, vectors[order], _reversal(lengths[order], 6))
        torch.testing.assert_close(other, read[order])
        wider = torch.cat([vectors, torch.full((5, 3, 12), torch.nan)], dim=1)
        padded = read_both_ways(onward, backward, wider, _reversal(lengths, 9))
    for row, length in enumerate(lengths):
        torch.testing.assert_close(padded[row, :length], read[row, :length])


@pytest.mark.parametrize("batch", [1, 7, 300])
def test_symbol_by_symbol_is_the_whole_string_and_leaves_states_alone(batch, monkeypatch):
    torch.manual_seed(2)
    unit, vectors, hidden = unit_of(20), torch.randn(batch, 4, 20), torch.zeros(batch, 20)
    with torch.no_grad():
        whole = read_onward(unit, vectors)
        for place in range(4):
            before = hidden.clone()
            after = read_next(unit, vectors[:, place], hidden)
            assert torch.equal(hidden, before)
            torch.testing.assert_close(after, whole[:, place])
            hidden = after
        torch_only(monkeypatch)
        torch.testing.assert_close(read_next(unit, vectors[:, 0], torch.zeros(batch, 20)), whole[:, 0])


def test_few_kinds_of_symbols_or_many_give_the_same(monkeypatch):
    torch.manual_seed(4)
    onward, backward, table = unit_of(12), unit_of(12), torch.randn(5, 12)
    kinds = Kinds(table, torch.randint(0, 5, (9, 6)))
    vectors, back = table[kinds.symbols], _reversal(torch.randint(0, 7, (9,)), 6)
    with torch.no_grad():
        expected = read_both_ways(onward, backward, vectors, back)
        torch.testing.assert_close(read_both_ways(onward, backward, vectors, back, kinds), expected)
        monkeypatch.setattr(compiled_gru, "AT_ONCE", 0)
        torch.testing.assert_close(read_both_ways(onward, backward, vectors, back, kinds), expected)
        torch.testing.assert_close(read_both_ways(onward, backward, vectors, back), expected)


def test_a_string_encoder_says_which_kinds_there_are_unless_places_or_categories_matter():
    encoder = StringEncoder(EncoderConfig(kind="rnn", dim=8), 7, causal=True).eval().requires_grad_(False)
    symbols, lengths = torch.randint(4, 7, (9, 5)), torch.full((9,), 5)
    assert isinstance(encoder._kinds(symbols)["kinds"], Kinds)
    whole, prefix = encoder(symbols, lengths), encoder.begin(9)
    for place in range(5):
        vector, prefix = encoder.step(symbols[:, place], prefix)
        torch.testing.assert_close(vector, whole[:, place])
    assert encoder._kinds(symbols[:1]) == {}
    assert encoder.train()._kinds(symbols) == {}
    with_languages = StringEncoder(EncoderConfig(kind="rnn", dim=8), 7, causal=False, categories=3).eval()
    assert with_languages._kinds(symbols) == {}
    assert StringEncoder(EncoderConfig(kind="cnn", dim=8), 7, causal=False).eval()._kinds(symbols) == {}


def test_gates_may_be_wide_open_or_closed(monkeypatch):
    torch.manual_seed(3)
    unit, vectors, hidden = unit_of(16, scale=1000.0), torch.randn(50, 16), torch.randn(50, 16)
    with torch.no_grad():
        ours = read_next(unit, vectors, hidden)
        torch_only(monkeypatch)
        torch.testing.assert_close(ours, read_next(unit, vectors, hidden), rtol=1e-5, atol=1e-3)
        assert ours.isfinite().all()


def test_what_is_learned_or_in_other_types_is_torchs():
    unit, vectors = unit_of(8), torch.randn(2, 3, 8)
    assert not can_read(unit, vectors)
    assert read_onward(unit, vectors).requires_grad
    with torch.no_grad():
        assert not can_read(unit.double(), vectors.double())
        with torch.autocast("cpu", torch.bfloat16):
            assert not can_read(unit.float(), vectors)
