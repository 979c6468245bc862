"""Every encoder: padding, order, causality, and the cached step against the whole string."""

import pytest
import torch

from nsed.encoders import ENCODERS, EncoderConfig, StringEncoder
from nsed.errors import ConfigError, TooLongError

KINDS = sorted(ENCODERS)
SETTINGS = [(kind, norm) for kind in KINDS for norm in (("pre", "post") if kind == "transformer" else ("pre",))]


def make(kind, norm="pre", *, causal, layers=2, categories=0):
    torch.manual_seed(0)
    config = EncoderConfig(kind=kind, dim=8, layers=layers, heads=2, norm=norm, max_length=12)
    return StringEncoder(config, symbols=9, causal=causal, categories=categories).double().eval()


def strings(batch=5, width=7, seed=1):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor([0, 1, width, *torch.randint(1, width, (batch - 3,), generator=generator).tolist()])
    symbols = torch.randint(4, 9, (batch, width), generator=generator)
    return symbols * (torch.arange(width) < lengths[:, None]), lengths


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("kind", "norm"), SETTINGS)
def test_padding_and_order_change_nothing(kind, norm, causal):
    encoder, (symbols, lengths) = make(kind, norm, causal=causal), strings()
    encoded = encoder(symbols, lengths)
    wider = torch.nn.functional.pad(symbols, (0, 4), value=7)
    order = torch.tensor([3, 0, 4, 2, 1])
    for row, length in enumerate(lengths.tolist()):
        torch.testing.assert_close(encoder(wider, lengths)[row, :length], encoded[row, :length])
        shuffled = encoder(symbols[order], lengths[order])[order.tolist().index(row), :length]
        torch.testing.assert_close(shuffled, encoded[row, :length])


@pytest.mark.parametrize(("kind", "norm"), SETTINGS)
def test_steps_give_the_vectors_of_the_whole_string(kind, norm):
    encoder, (symbols, lengths) = make(kind, norm, causal=True), strings()
    whole, prefix = encoder(symbols, torch.full_like(lengths, 7)), encoder.begin(5)
    for position in range(7):
        vector, prefix = encoder.step(symbols[:, position], prefix)
        torch.testing.assert_close(vector, whole[:, position])


@pytest.mark.parametrize("kind", KINDS)
def test_states_follow_their_strings(kind):
    encoder, (symbols, _) = make(kind, causal=True), strings()
    rows = torch.tensor([4, 4, 0])
    _, prefix = encoder.step(symbols[:, 0], encoder.begin(5))
    there, _ = encoder.step(symbols[rows, 1], prefix.reordered(rows))
    here, _ = encoder.step(symbols[:, 1], prefix)
    torch.testing.assert_close(there, here[rows])


@pytest.mark.parametrize("kind", KINDS)
def test_causal_encoders_do_not_see_the_future_and_others_do(kind):
    symbols, lengths = torch.full((1, 6), 4), torch.tensor([6])
    changed = symbols.clone()
    changed[0, 3] = 8
    for causal in (True, False):
        encoder = make(kind, causal=causal)
        differs = (encoder(symbols, lengths) != encoder(changed, lengths)).any(-1)[0].tolist()
        assert differs[3]
        if causal or kind == "unigram":
            assert not any(differs[:3])
        else:
            assert differs[2]


@pytest.mark.parametrize(("layers", "reach"), [(1, 1), (2, 2), (3, 3)])
def test_a_cnn_sees_as_far_as_its_layers_reach(layers, reach):
    encoder = make("cnn", causal=False, layers=layers)
    symbols, lengths = torch.full((1, 9), 4), torch.tensor([9])
    changed = symbols.clone()
    changed[0, 4] = 8
    differs = (encoder(symbols, lengths) != encoder(changed, lengths)).any(-1)[0].nonzero().flatten().tolist()
    assert differs == list(range(4 - reach, 5 + reach))


@pytest.mark.parametrize("kind", KINDS)
def test_categories_change_the_vectors(kind):
    encoder, (symbols, lengths) = make(kind, causal=False, categories=3), strings()
    one, other = (encoder(symbols, lengths, torch.full((5,), number)) for number in (0, 1))
    assert not torch.allclose(one[2], other[2])


@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_of_positions_is_named(kind):
    encoder = make(kind, causal=True)
    symbols, lengths = torch.full((1, 14), 4), torch.tensor([14])
    if encoder.encoder.needs_positions:
        with pytest.raises(TooLongError, match=r"length: got 13 symbols, expected at most 12\. Train with a larger"):
            encoder(symbols, lengths)
    else:
        encoder(symbols, lengths)


def test_unknown_encoder_is_named():
    with pytest.raises(ConfigError, match="kind: got 'rn', expected one of cnn, rnn, transformer, unigram"):
        EncoderConfig(kind="rn")
