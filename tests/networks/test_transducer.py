"""Exact mode is exact, paper mode is the paper's, and decoding column by column equals the whole lattice."""

import itertools

import pytest
import torch

from nsed.encoders import EncoderConfig
from nsed.lattice import EditLattice
from nsed.networks.operations import Incoming, Outgoing, next_symbol_distribution
from nsed.networks.search import beam_search, draw, greedy_search
from nsed.networks.transducer import LatticeDecoder, TransducerNetwork
from nsed.types import END, NEG, UNKNOWN

LETTERS = (4, 5)
ATTENDING = "rnn, looking at the source"
KINDS = ["unigram", "cnn", "rnn", "transformer", ATTENDING, "transformer, looking at the source"]


def network(kind="rnn", *, attention=False, interaction=0, seed=0):
    torch.manual_seed(seed)
    name, looking, _ = kind.partition(",")
    attends = bool(looking)
    made = TransducerNetwork(
        EncoderConfig(kind=name, dim=8, layers=1 + attends, heads=2, max_length=20),
        source_symbols=7,
        target_symbols=6,
        attention=attention,
        target_attention=attends,
        interaction=interaction,
    )
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return made.double().eval().requires_grad_(False)


def batch_of(strings):
    lengths = torch.tensor([len(string) for string in strings])
    symbols = torch.zeros((len(strings), int(lengths.max())), dtype=torch.long)
    for row, string in enumerate(strings):
        symbols[row, : len(string)] = torch.tensor(string, dtype=torch.long)
    return symbols, lengths


def encode(made, source, padding=0):
    symbols, lengths = batch_of([source])
    return made.encode(torch.nn.functional.pad(symbols, (0, padding)), lengths)


def score(made, normalisation, source, targets, *, padding=0):
    """Log-probabilities of many targets of one source, through whole lattices."""
    encoded = encode(made, source, padding).reordered(torch.zeros(len(targets), dtype=torch.long))
    target, target_lengths = batch_of(targets)
    scores = made(encoded, target, target_lengths)
    arcs, end = normalisation.normalise(scores, target, (encoded.lengths, target_lengths))
    lattice = EditLattice(*arcs, encoded.lengths, target_lengths)
    return lattice.log_prob + end, lattice, scores


def all_targets(longest, letters=LETTERS):
    return [list(t) for length in range(longest + 1) for t in itertools.product(letters, repeat=length)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("source", [[], [4], [5, 4, 6]])
def test_probabilities_of_all_targets_sum_to_one(kind, source):
    """Targets up to a length over two letters and <unk>, and the mass of longer ones from prefix probabilities."""
    made, letters, longest = network(kind), (UNKNOWN, *LETTERS), 8
    log_prob, _, _ = score(made, Outgoing(), source, all_targets(longest, letters))
    longer = prefix_mass(made, source, longest + 1, letters)
    assert float(log_prob.exp().sum() + longer) == pytest.approx(1.0, abs=1e-9)


def prefix_mass(made, source, length, letters):
    """Probability that a target has at least `length` symbols, by decoding every prefix column by column."""
    decoder, (symbols, lengths) = LatticeDecoder(made, Outgoing()), batch_of([source])
    hypotheses = decoder.begin(made.encode(symbols, lengths))
    for _ in range(length - 1):
        expanded = decoder.expand(hypotheses)
        rows = torch.arange(len(expanded.written)).repeat_interleave(len(letters))
        hypotheses = decoder.continued(expanded, rows, torch.tensor(letters).repeat(len(expanded.written)))
    return decoder.expand(hypotheses).opened.written[:, list(letters)].exp().sum()


@pytest.mark.parametrize("kind", ["rnn", ATTENDING])
@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("interaction", [0, 2])
def test_options_keep_the_model_exact(kind, attention, interaction):
    made = network(kind, attention=attention, interaction=interaction)
    log_prob, _, _ = score(made, Outgoing(), [4, 6], all_targets(4, (UNKNOWN, *LETTERS)))
    longer = prefix_mass(made, [4, 6], 5, (UNKNOWN, *LETTERS))
    assert float(log_prob.exp().sum() + longer) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_next_symbol_distributions_sum_to_one_and_multiply_to_the_score(kind):
    made, source, target = network(kind), [4, 6, 5], [5, 5, 4, 5]
    decoder, (symbols, lengths) = LatticeDecoder(made, Outgoing()), batch_of([source])
    hypotheses, before, total = decoder.begin(made.encode(symbols, lengths)), torch.zeros(1, dtype=torch.float64), 0.0
    for symbol in [*target, END]:
        expanded = decoder.expand(hypotheses)
        distribution = expanded.opened.written - before[:, None]
        assert float(distribution.exp().sum()) == pytest.approx(1.0, abs=1e-9)
        total += float(distribution[0, symbol])
        before = expanded.opened.written[:, symbol]
        hypotheses = decoder.continued(expanded, torch.tensor([0]), torch.tensor([symbol]))
    assert total == pytest.approx(float(score(made, Outgoing(), source, [target])[0]), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_beam_as_wide_as_the_space_finds_the_true_best(kind):
    made, source, longest = network(kind, seed=3), [4, 5], 4
    targets = all_targets(longest)
    log_prob, _, _ = score(made, Outgoing(), source, targets)
    order = log_prob.argsort(descending=True)[:5].tolist()
    symbols, lengths = batch_of([source])
    encoded = made.encode(symbols, lengths)
    found = beam_search(LatticeDecoder(made, Outgoing()), encoded, beam=2**longest, nbest=5, longest=longest)
    for rank, best in enumerate(order):
        assert found.symbols[0, rank, : found.lengths[0, rank]].tolist() == targets[best]
        assert float(found.log_prob[0, rank]) == pytest.approx(float(log_prob[best]), abs=1e-9)


def random_sources(count, seed=0):
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(0, 9, (count,), generator=generator).tolist()
    return [torch.randint(4, 7, (length,), generator=generator).tolist() for length in lengths]


@pytest.mark.slow
@pytest.mark.parametrize("normalisation", [Outgoing(), Incoming()])
@pytest.mark.parametrize(("how", "penalty"), [("greedy", 0.0), ("beam", 0.0), ("beam", 1.0)])
@pytest.mark.parametrize("kind", ["rnn", ATTENDING])
def test_batch_size_and_padding_change_no_output(kind, normalisation, how, penalty):
    made, sources = network(kind, seed=5), random_sources(512)
    made.projection.linear.bias[[1 + END, 1 + 6 + END]] -= 3  # not every target shall be empty
    decoder = LatticeDecoder(made, normalisation)

    def decode(size, extra, count=512):
        outputs = []
        for start in range(0, count, size):
            symbols, lengths = batch_of(sources[start : start + size])
            encoded = made.encode(torch.nn.functional.pad(symbols, (0, extra)), lengths)
            if how == "greedy":
                found = greedy_search(decoder, encoded, longest=12)
            else:
                found = beam_search(decoder, encoded, beam=5, nbest=2, longest=12, length_penalty=penalty)
            outputs += [s[0, : n[0]].tolist() for s, n in zip(found.symbols, found.lengths, strict=True)]
        return outputs

    whole = decode(512, 0)
    assert any(whole) or penalty == 0.0
    assert decode(512, 5) == whole
    assert decode(7, 0, count=35) == decode(7, 3, count=35) == whole[:35]
    assert decode(1, 0, count=12) == whole[:12]


@pytest.mark.parametrize("normalisation", [Outgoing(), Incoming()])
@pytest.mark.parametrize("kind", ["rnn", ATTENDING])
def test_what_is_made_is_made_where_the_network_is(kind, normalisation, monkeypatch):
    """Elsewhere is, for once, a device whose tensors have no values: none of them fits the network's."""
    made, (symbols, lengths) = network(kind, attention=True, seed=5), batch_of([[4, 5, 6], [], [5]])
    decoder, (target, written) = LatticeDecoder(made, normalisation), batch_of([[5, 4], [4], []])

    def found():
        encoded = made.encode(symbols, lengths)
        arcs, end = normalisation.normalise(made(encoded, target, written), target, (lengths, written))
        lattice = EditLattice(*arcs, lengths, written)
        drawn = draw(decoder, encoded, longest=6, generator=torch.Generator().manual_seed(0))
        searched = beam_search(decoder, encoded, beam=3, nbest=2, longest=6, length_penalty=0.5)
        distribution = next_symbol_distribution(made(encoded, target, written), lattice.log_alpha, lengths)
        return [lattice.log_prob + end, distribution, *greedy_search(decoder, encoded, longest=6), *drawn, *searched]

    expected = found()
    monkeypatch.setattr(torch, "as_tensor", lambda tensor: tensor)  # only says what it is, but would move it
    with torch.device("meta"):
        there = found()
    for one, other in zip(there, expected, strict=True):
        torch.testing.assert_close(one, other)


def test_a_decoder_of_a_category_encodes_all_sources_as_of_it():
    torch.manual_seed(0)
    config = EncoderConfig(kind="unigram", dim=8, layers=1, heads=2, max_length=20)
    made = TransducerNetwork(config, source_symbols=7, target_symbols=6, categories=3).eval().requires_grad_(False)
    symbols, lengths = batch_of([[4, 5], [6]])
    one, other = (
        LatticeDecoder(made, Outgoing(), category).encode(symbols, lengths).factors.projected for category in (1, 2)
    )
    torch.testing.assert_close(one, made.encode(symbols, lengths, torch.tensor([1, 1])).factors.projected)
    assert not torch.allclose(one, other)


def test_log_probabilities_of_a_network_in_half_precision_are_single():
    made, (symbols, lengths) = network("unigram").bfloat16(), batch_of([[4, 5], [6]])
    found = greedy_search(LatticeDecoder(made, Outgoing()), made.encode(symbols, lengths), longest=3)
    assert found.log_prob.dtype == torch.float32
    assert found.log_prob.isfinite().all()


def test_length_penalty_prefers_longer_targets():
    made = network(seed=3)
    symbols, lengths = batch_of([[4, 5, 6]])
    encoded = made.encode(symbols, lengths)
    plain, longer = (
        beam_search(LatticeDecoder(made, Outgoing()), encoded, beam=8, nbest=1, longest=8, length_penalty=penalty)
        for penalty in (0.0, 2.0)
    )
    assert int(longer.lengths) > int(plain.lengths)
    assert float(longer.log_prob) < float(plain.log_prob)


@pytest.mark.parametrize("kind", ["rnn", ATTENDING])
def test_drawn_targets_have_their_probability(kind):
    made, source, draws = network(kind, seed=3), [4, 5], 3000
    symbols, lengths = batch_of([source] * draws)
    found = draw(
        LatticeDecoder(made, Outgoing()),
        made.encode(symbols, lengths),
        longest=30,
        generator=torch.Generator().manual_seed(0),
    )
    empty = float((found.lengths == 0).double().mean())
    expected = float(score(made, Outgoing(), source, [[]])[0].exp())
    assert empty == pytest.approx(expected, abs=4 * (expected / draws) ** 0.5 + 0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_paper_mode_keeps_alpha_between_zero_and_one(kind):
    made = network(kind, attention=True)
    _, lattice, _ = score(made, Incoming(), [4, 6, 5], all_targets(4))
    reachable = lattice.log_alpha[lattice.log_alpha > NEG / 2]
    assert (reachable <= 1e-12).all()


@pytest.mark.parametrize(("whole_padding", "padding"), [(0, 0), (3, 0), (0, 3)])
@pytest.mark.parametrize("kind", KINDS)
def test_paper_mode_decodes_the_alpha_of_the_whole_lattice_whatever_the_padding(kind, whole_padding, padding):
    made, source, target = network(kind), [4, 6, 5], [5, 4, 4]
    _, lattice, scores = score(made, Incoming(), source, [target], padding=whole_padding)
    distribution = next_symbol_distribution(scores, lattice.log_alpha, torch.tensor([3]))
    decoder = LatticeDecoder(made, Incoming())
    hypotheses, history = decoder.begin(encode(made, source, padding)), 0.0
    for place, symbol in enumerate([*target, END]):
        expanded = decoder.expand(hypotheses)
        torch.testing.assert_close(expanded.opened.log_alpha[0, :4], lattice.log_alpha[0, :4, place])
        torch.testing.assert_close(expanded.opened.written[0] - history, distribution[0, place])
        history = expanded.opened.written[0, symbol]
        hypotheses = decoder.continued(expanded, torch.tensor([0]), torch.tensor([symbol]))
