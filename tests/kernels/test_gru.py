"""Recurrent units: every implementation against torch's own, whole strings in any order and one symbol more."""

import itertools

import pytest
import torch
from torch import nn
from torch.autograd import grad

from nsed.encoders import EncoderConfig
from nsed.encoders.rnn import _reversal
from nsed.encoders.string_encoder import StringEncoder
from nsed.kernels.contracts import Kinds
from nsed.kernels.dispatch import GRU
from nsed.kernels.switch import interprets_triton
from nsed.kernels.torch import gru as twin
from support.kernels import LOOSE, TIGHT, every_way, numba_only, shapes


def unit_of(dim, *, scale=1.0, device="cpu"):
    unit = nn.GRU(dim, dim, batch_first=True).to(device)
    with torch.no_grad():
        for part in unit.parameters():
            part.mul_(scale)
    return unit


def units_of(dim, **others):
    return unit_of(dim, **others), unit_of(dim, **others)


@every_way
@pytest.mark.parametrize("scale", [1.0, 4.0])
@shapes((3, 5, 24), (1, 1, 16), (2, 0, 8), (0, 3, 8), (4, 7, 1), large=((130, 9, 40),))
@torch.backends.cudnn.flags(allow_tf32=False)  # torch's own would be less exact than ours
@torch.no_grad()
def test_strings_are_read_as_the_twin_reads_them(shape, scale, way):
    batch, length, dim = shape
    torch.manual_seed(0)
    units, vectors = units_of(dim, scale=scale, device=way.device), torch.randn(*shape).to(way.device)
    back = _reversal(torch.randint(0, length + 1, (batch,)), length).to(way.device)
    if way.refuses(GRU, vectors, units[0]):
        assert 0 in shape
        return
    way.poison()
    ours, *both = (
        way.of(GRU).read_onward(units[0], vectors),
        way.of(GRU).read_both_ways(units, vectors, back),
    )
    assert ours.shape == vectors.shape
    assert both[0].shape == (batch, length, 2 * dim)
    if vectors.numel():  # torch's own refuses nothing at all
        torch.testing.assert_close(ours, twin.read_onward(units[0], vectors), rtol=1e-5, atol=2e-6 * scale)
        torch.testing.assert_close(both[0], twin.read_both_ways(units, vectors, back), rtol=1e-5, atol=2e-6 * scale)


@every_way
@pytest.mark.parametrize("shape", [(3, 5, 24), (4, 1, 16), (1, 7, 40)], ids=str)
@torch.backends.cudnn.flags(allow_tf32=False)
def test_gradients_are_the_twins_where_it_learns(shape, way):
    torch.manual_seed(0)
    units = units_of(shape[2], device=way.device)
    strings = torch.randn(*shape).to(way.device).requires_grad_()
    back = _reversal(torch.randint(0, shape[1] + 1, shape[:1]), shape[1]).to(way.device)
    if way.refuses(GRU, strings, units[0]):
        assert way.backend == "numba"
        assert GRU.choose(strings, units[0]).code is twin
        return
    for name, given in {"read_onward": (units[0], strings), "read_both_ways": (units, strings, back)}.items():
        way.poison()
        ours, theirs = getattr(way.of(GRU), name)(*given), getattr(twin, name)(*given)
        torch.testing.assert_close(ours, theirs, **TIGHT)
        used = units if name == "read_both_ways" else units[:1]
        parts = [*itertools.chain(*(unit.parameters() for unit in used)), strings]
        injection = torch.randn_like(ours)
        for one, other in zip(grad(ours, parts, injection), grad(theirs, parts, injection), strict=True):
            torch.testing.assert_close(one, other, **LOOSE)


@every_way
@torch.backends.cudnn.flags(allow_tf32=False)
@torch.no_grad()
def test_padding_and_permutation_change_nothing(way):
    torch.manual_seed(1)
    units, vectors = units_of(12, device=way.device), torch.randn(5, 6, 12).to(way.device)
    lengths, order = torch.tensor([6, 1, 3, 0, 4]), torch.tensor([3, 0, 4, 1, 2])

    def read(strings, lengths, width):
        return way.of(GRU).read_both_ways(units, strings, _reversal(lengths, width).to(way.device))

    expected = read(vectors, lengths, 6)
    torch.testing.assert_close(read(vectors[order], lengths[order], 6), expected[order], **TIGHT)
    wider = torch.cat([vectors, torch.full((5, 3, 12), torch.nan).to(way.device)], dim=1)
    padded = read(wider, lengths, 9)
    for row, length in enumerate(lengths):
        torch.testing.assert_close(padded[row, :length], expected[row, :length], **TIGHT)


@every_way
@pytest.mark.parametrize("batch", [1, 7] if interprets_triton() else [1, 7, 300])
@torch.backends.cudnn.flags(allow_tf32=False)
@torch.no_grad()
def test_symbol_by_symbol_is_the_whole_string_and_leaves_states_alone(batch, way):
    torch.manual_seed(2)
    unit, vectors = unit_of(20, device=way.device), torch.randn(batch, 4, 20).to(way.device)
    hidden, whole = torch.zeros(batch, 20, device=way.device), way.of(GRU).read_onward(unit, vectors)
    torch.testing.assert_close(twin.read_next(unit, vectors[:, 0], hidden), whole[:, 0], **TIGHT)
    for place in range(4):
        before = hidden.clone()
        after = way.of(GRU).read_next(unit, vectors[:, place], hidden)
        assert torch.equal(hidden, before)
        torch.testing.assert_close(after, whole[:, place], **TIGHT)
        hidden = after


@every_way
@pytest.mark.filterwarnings("ignore:overflow encountered in exp")  # of Triton's interpreter: 1 / (1 + inf) is meant
@torch.backends.cudnn.flags(allow_tf32=False)
@torch.no_grad()
def test_gates_may_be_wide_open_or_closed(way):
    torch.manual_seed(3)
    unit, vectors = unit_of(16, scale=1000.0, device=way.device), torch.randn(50, 2, 16).to(way.device)
    ours = way.of(GRU).read_onward(unit, vectors)
    assert ours.isfinite().all()
    torch.testing.assert_close(ours, twin.read_onward(unit, vectors), rtol=1e-5, atol=1e-3)
    hidden = torch.randn(50, 16).to(way.device)
    after = [code.read_next(unit, vectors[:, 0], hidden) for code in (way.of(GRU), twin)]
    torch.testing.assert_close(*after, rtol=1e-5, atol=1e-3)


@numba_only
@torch.no_grad()
def test_few_kinds_of_symbols_or_many_give_the_same(monkeypatch):
    from nsed.kernels.numba import gru

    torch.manual_seed(4)
    units, table = units_of(12), torch.randn(5, 12)
    kinds = Kinds(table, torch.randint(0, 5, (9, 6)))
    vectors, back = table[kinds.symbols], _reversal(torch.randint(0, 7, (9,)), 6)
    expected = gru.read_both_ways(units, vectors, back)
    torch.testing.assert_close(gru.read_both_ways(units, vectors, back, kinds), expected)
    monkeypatch.setattr(gru, "AT_ONCE", 0)
    torch.testing.assert_close(gru.read_both_ways(units, vectors, back, kinds), expected)
    torch.testing.assert_close(gru.read_both_ways(units, vectors, back), expected)


def test_a_string_encoder_says_which_kinds_there_are_unless_places_or_categories_matter():
    encoder = StringEncoder(EncoderConfig(kind="rnn", dim=8), 7, causal=True).eval().requires_grad_(False)
    symbols, lengths = torch.randint(4, 7, (9, 5)), torch.full((9,), 5)
    assert isinstance(encoder._kinds(symbols)["kinds"], Kinds)
    whole, prefix = encoder(symbols, lengths), encoder.begin(9)
    for place in range(5):
        vector, prefix = encoder.step(symbols[:, place], prefix)
        torch.testing.assert_close(vector, whole[:, place], **TIGHT)
    assert encoder._kinds(symbols[:1]) == {}
    assert encoder.train()._kinds(symbols) == {}
    with_languages = StringEncoder(EncoderConfig(kind="rnn", dim=8), 7, causal=False, categories=3).eval()
    assert with_languages._kinds(symbols) == {}
    assert StringEncoder(EncoderConfig(kind="cnn", dim=8), 7, causal=False).eval()._kinds(symbols) == {}


@numba_only
def test_what_is_learned_or_in_other_types_is_torchs():
    from nsed.kernels.numba import gru

    unit, vectors = unit_of(8), torch.randn(2, 3, 8)
    assert GRU.choose(vectors, unit).code is twin
    assert GRU.choose(vectors, unit).code.read_onward(unit, vectors).requires_grad
    with torch.no_grad():
        assert GRU.choose(vectors, unit).code is gru
        assert GRU.choose(vectors.double(), unit.double()).code is twin
        with torch.autocast("cpu", torch.bfloat16):
            assert GRU.choose(vectors, unit.float()).code is twin
