"""Every encoder: padding, order, causality, the cached step against the whole string, looking at another string."""

import pytest
import torch

from nsed.encoders import ENCODERS, Attended, EncoderConfig, StringEncoder
from nsed.encoders.base import CrossAttention
from nsed.encoders.string_encoder import with_end, with_start
from nsed.errors import ConfigError, TooLongError
from nsed.types import END, START

KINDS = sorted(ENCODERS)
OPTIONS = {
    **{kind: {"kind": kind} for kind in KINDS},
    "transformer-post": {"kind": "transformer", "norm": "post"},
    "rnn-attends": {"kind": "rnn", "attends": True},
    "transformer-attends": {"kind": "transformer", "attends": True},
    "transformer-post-attends": {"kind": "transformer", "norm": "post", "attends": True},
}
ATTENDING = [name for name in OPTIONS if name.endswith("-attends")]
BOTH_WAYS = [(name, causal) for name in OPTIONS for causal in (False, True) if causal or name not in ATTENDING]


def make(kind, norm="pre", *, causal, layers=2, categories=0, attends=False):
    torch.manual_seed(0)
    config = EncoderConfig(kind=kind, dim=8, layers=layers, heads=2, norm=norm, max_length=12)
    made = StringEncoder(config, symbols=9, causal=causal, categories=categories, attends=attends)
    return made.double().eval()


def another(batch=5, width=6, seed=2):
    """Vectors of other strings to look at; encoders that do not attend take no notice of them."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor([1, width, *torch.randint(1, width, (batch - 2,), generator=generator).tolist()])
    vectors = torch.randn(batch, width, 8, dtype=torch.float64, generator=generator)
    return Attended(vectors, torch.arange(width) >= lengths[:, None])


def strings(batch=5, width=7, seed=1):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor([0, 1, width, *torch.randint(1, width, (batch - 3,), generator=generator).tolist()])
    symbols = torch.randint(4, 9, (batch, width), generator=generator)
    return symbols * (torch.arange(width) < lengths[:, None]), lengths


def padded(symbols, attended):
    pad = torch.nn.functional.pad
    vectors, padding = pad(attended.vectors, (0, 0, 0, 3), value=7.0), pad(attended.padding, (0, 3), value=True)
    return pad(symbols, (0, 4), value=7), Attended(vectors, padding)


def chosen(attended, rows):
    return Attended(*(part[rows] for part in attended))


@pytest.mark.parametrize(("name", "causal"), BOTH_WAYS)
def test_padding_and_order_change_nothing(name, causal):
    encoder, (symbols, lengths), attended = make(**OPTIONS[name], causal=causal), strings(), another()
    encoded = encoder(symbols, lengths, attended=attended)
    wider, wider_attended = padded(symbols, attended)
    order = torch.tensor([3, 0, 4, 2, 1])
    for row, length in enumerate(lengths.tolist()):
        unpadded = encoder(wider, lengths, attended=wider_attended)[row, :length]
        torch.testing.assert_close(unpadded, encoded[row, :length])
        shuffled = encoder(symbols[order], lengths[order], attended=chosen(attended, order))
        torch.testing.assert_close(shuffled[order.tolist().index(row), :length], encoded[row, :length])


@pytest.mark.parametrize("name", OPTIONS)
def test_steps_give_the_vectors_of_the_whole_string(name):
    encoder, (symbols, lengths), attended = make(**OPTIONS[name], causal=True), strings(), another()
    whole, prefix = encoder(symbols, torch.full_like(lengths, 7), attended=attended), encoder.begin(5)
    for position in range(7):
        vector, prefix = encoder.step(symbols[:, position], prefix, attended)
        torch.testing.assert_close(vector, whole[:, position])


@pytest.mark.parametrize("name", OPTIONS)
def test_states_follow_their_strings(name):
    encoder, (symbols, _), attended = make(**OPTIONS[name], causal=True), strings(), another()
    rows = torch.tensor([4, 4, 0])
    _, prefix = encoder.step(symbols[:, 0], encoder.begin(5), attended)
    there, _ = encoder.step(symbols[rows, 1], prefix.reordered(rows), chosen(attended, rows))
    here, _ = encoder.step(symbols[:, 1], prefix, attended)
    torch.testing.assert_close(there, here[rows])


@pytest.mark.parametrize("name", OPTIONS)
def test_only_those_that_attend_look_at_the_other_string_and_at_all_of_it(name):
    encoder, (symbols, lengths), attended = make(**OPTIONS[name], causal=True), strings(), another()
    encoded = encoder(symbols, lengths, attended=attended)
    for place in range(6):
        vectors = attended.vectors.clone()
        vectors[:, place] += 1.0
        changed = encoder(symbols, lengths, attended=attended._replace(vectors=vectors))
        differs = (changed != encoded).any(-1)
        assert (differs == (encoder.attends & ~attended.padding[:, place, None])).all()


@pytest.mark.parametrize("name", ATTENDING)
def test_shares_of_attention_sum_to_one_and_show_what_is_looked_at(name):
    encoder, (symbols, lengths), attended = make(**OPTIONS[name], causal=True, layers=1), strings(), another()
    shares = encoder.attention(symbols, lengths, attended)
    torch.testing.assert_close(shares.sum(-1), torch.ones(5, 7, dtype=torch.float64))
    assert not shares[attended.padding[:, None].expand_as(shares)].any()
    wider, wider_attended = padded(symbols, attended)
    torch.testing.assert_close(encoder.attention(wider, lengths, wider_attended)[:, :7, :6], shares)


def test_attention_without_keys_and_values_is_multi_head_attention():
    torch.manual_seed(0)
    ours = CrossAttention(EncoderConfig(dim=8, heads=2)).double().eval()
    theirs = torch.nn.MultiheadAttention(8, 2, batch_first=True).double().eval()
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, ours.value.weight]))
        theirs.in_proj_bias.copy_(torch.cat([ours.query.bias, torch.randn(8), torch.zeros(8)]))
        theirs.out_proj.load_state_dict(ours.merge.state_dict())
    asking, (vectors, padding) = torch.randn(5, 7, 8, dtype=torch.float64), another()
    found, shares = theirs(asking, vectors, vectors, key_padding_mask=padding)
    torch.testing.assert_close(ours(asking, Attended(vectors, padding)), ours.norm(asking + found))
    torch.testing.assert_close(ours.weights(asking, Attended(vectors, padding)), shares)


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


@pytest.mark.parametrize("kind", ["unigram", "cnn"])
def test_without_positions_there_is_no_limit_and_a_place_does_not_matter(kind):
    config = EncoderConfig(kind=kind, dim=8, layers=1, positions=False, max_length=3, dropout=0.0)
    encoder = StringEncoder(config, 9, causal=False).eval()
    vectors = encoder(torch.full((1, 20), 4), torch.tensor([20]))
    torch.testing.assert_close(vectors[:, 5], vectors[:, 9])
    assert encoder.longest is None


def test_a_transformer_needs_positions():
    with pytest.raises(ConfigError, match="positions: got False, expected True with kind transformer"):
        EncoderConfig(kind="transformer", positions=False)


def test_the_end_stands_right_after_each_string_and_the_start_before_it():
    symbols, lengths = torch.tensor([[4, 5, 6], [4, 0, 0], [0, 0, 0]]), torch.tensor([3, 1, 0])
    assert with_end(symbols, lengths).tolist() == [[4, 5, 6, END], [4, END, 0, 0], [END, 0, 0, 0]]
    assert with_start(symbols).tolist() == [[START, 4, 5, 6], [START, 4, 0, 0], [START, 0, 0, 0]]
