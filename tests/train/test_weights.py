"""A network for more symbols that has learned what a smaller one has."""

import pytest
import torch
from torch.testing import assert_close

from nsed.encoders import EncoderConfig
from nsed.networks.transducer import TransducerNetwork
from nsed.train.saved_model import grow_into
from nsed.types import UNKNOWN

SOURCES, TARGETS = 7, 6


def network(sources, targets, seed):
    torch.manual_seed(seed)
    config = EncoderConfig(kind="cnn", dim=8, layers=1, dropout=0.0)
    return TransducerNetwork(config, source_symbols=sources, target_symbols=targets).eval()


@pytest.fixture(scope="module")
def both():
    small, large = network(SOURCES, TARGETS, 0), network(SOURCES + 2, TARGETS + 3, 1)
    grow_into(large, small)
    return small, large


def scores(model, source, target):
    lengths = torch.tensor([len(source)]), torch.tensor([len(target)])
    return model(model.encode(torch.tensor([source]), lengths[0]), torch.tensor([target]), lengths[1])


def test_every_operation_keeps_its_score(both):
    of_small, of_large = (scores(model, [4, 5, 6], [5, 4]) for model in both)
    assert_close(of_large.delete, of_small.delete)
    assert_close(of_large.insert[..., :TARGETS], of_small.insert)
    assert_close(of_large.substitute[..., :TARGETS], of_small.substitute)


def test_new_symbols_are_read_and_written_as_unknown_ones(both):
    small, large = both
    of_small, of_large = scores(small, [4, UNKNOWN], [UNKNOWN]), scores(large, [4, SOURCES + 1], [TARGETS])
    assert_close(of_large.delete, of_small.delete)
    for new in range(TARGETS, TARGETS + 3):
        assert_close(of_large.insert[..., new], of_small.insert[..., UNKNOWN])
        assert_close(of_large.substitute[..., new], of_small.substitute[..., UNKNOWN])


def test_without_new_symbols_it_is_a_copy():
    small, same = network(SOURCES, TARGETS, 0), network(SOURCES, TARGETS, 1)
    grow_into(same, small)
    assert all(torch.equal(same.state_dict()[name], value) for name, value in small.state_dict().items())
