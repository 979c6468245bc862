"""Vectors of symbols: which are hidden in training, what positions and categories add."""

import pytest
import torch

from nsed.encoders.string_encoder import SymbolEmbedding
from nsed.errors import TooLongError
from nsed.types import END, PAD, START, UNKNOWN

SYMBOLS = torch.tensor([[START, 4, 5, 6, 4, 5, 6, END, PAD]]).expand(400, -1)


def seen_as_unknown(embedding):
    """Which symbols have the vector of `<unk>`."""
    return (embedding(SYMBOLS) == embedding.symbols.weight[UNKNOWN]).all(-1)


def test_symbols_are_hidden_as_often_as_wanted_but_neither_start_nor_end_nor_padding():
    torch.manual_seed(0)
    unknown = seen_as_unknown(SymbolEmbedding(7, 8, hidden=0.3).train())
    assert float(unknown[:, 1:7].float().mean()) == pytest.approx(0.3, abs=0.04)
    assert not unknown[:, [0, 7, 8]].any()


def test_nothing_is_hidden_from_a_model_in_use():
    assert not seen_as_unknown(SymbolEmbedding(7, 8, hidden=0.9).eval()).any()


def test_an_unknown_category_adds_nothing_and_a_known_one_does():
    embedding = SymbolEmbedding(7, 8, categories=6).eval()
    bare, unknown, known = (
        embedding(SYMBOLS[:1], category) for category in (None, torch.tensor([UNKNOWN]), torch.tensor([4]))
    )
    assert torch.equal(bare, unknown)
    assert not torch.isclose(bare, known).any(-1).all()


def test_a_symbol_has_the_vector_of_its_position_however_it_is_read():
    embedding = SymbolEmbedding(7, 8, positions=9).eval()
    whole = embedding(SYMBOLS[:1])[0]
    for position, symbol in enumerate(SYMBOLS[0]):
        assert torch.equal(embedding.at(symbol[None], position)[0], whole[position])
    assert torch.equal(embedding.placed(SYMBOLS[0], torch.arange(9)), whole)


def test_as_many_symbols_as_there_are_positions_and_no_more():
    embedding = SymbolEmbedding(7, 8, positions=9).eval()
    assert embedding(SYMBOLS[:1]).shape == (1, 9, 8)
    with pytest.raises(TooLongError, match="length: got 9 symbols, expected at most 8"):
        embedding(torch.nn.functional.pad(SYMBOLS[:1], (0, 1)))
