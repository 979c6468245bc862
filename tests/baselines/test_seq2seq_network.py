"""The sequence-to-sequence network: its probabilities are exact, and steps equal whole strings."""

import itertools

import pytest
import torch

from nsed.baselines.seq2seq import Seq2SeqNetwork, smoothed_loss, target_log_prob
from nsed.encoders import EncoderConfig, attending_kinds
from nsed.networks.search import beam_search, draw, greedy_search
from nsed.types import END, NEG, PAD, START, UNKNOWN

LETTERS = (4, 5)
KINDS = attending_kinds()


def network(kind="rnn", *, norm="pre", seed=0, sure=1):
    torch.manual_seed(seed)
    config = EncoderConfig(kind=kind, dim=8, layers=2, heads=2, max_length=20, norm=norm)
    made = Seq2SeqNetwork(config, source_symbols=7, target_symbols=6).double().eval().requires_grad_(False)
    for name, parameter in made.named_parameters():
        if "norm" not in name:
            parameter.mul_(2)
    made.output.weight.mul_(sure)
    return made


def batch_of(strings):
    lengths = torch.tensor([len(string) for string in strings])
    symbols = torch.zeros((len(strings), int(lengths.max())), dtype=torch.long)
    for row, string in enumerate(strings):
        symbols[row, : len(string)] = torch.tensor(string, dtype=torch.long)
    return symbols, lengths


def score(made, source, targets):
    encoded = made.encode(*batch_of([source])).reordered(torch.zeros(len(targets), dtype=torch.long))
    target, lengths = batch_of(targets)
    return target_log_prob(made(encoded, target, lengths), target, lengths)


def all_targets(longest, letters=LETTERS):
    return [list(t) for length in range(longest + 1) for t in itertools.product(letters, repeat=length)]


def test_both_kinds_are_there():
    assert KINDS == ["rnn", "transformer"]


@pytest.mark.parametrize("source", [[], [4], [5, 4, 6]])
@pytest.mark.parametrize("kind", KINDS)
def test_probabilities_of_all_targets_sum_to_one(kind, source):
    """Targets up to a length over two letters and <unk>, and the mass of longer ones from prefix probabilities."""
    made, letters = network(kind), (UNKNOWN, *LETTERS)
    longest = all_targets(5, letters)[-(3**5) :]
    encoded = made.encode(*batch_of([source])).reordered(torch.zeros(len(longest), dtype=torch.long))
    following = made(encoded, *batch_of(longest))[:, :5]
    prefixes = following.gather(-1, torch.tensor(longest)[..., None]).sum((1, 2))
    shorter = score(made, source, all_targets(4, letters)).exp().sum()
    assert float(shorter + prefixes.exp().sum()) == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("kind", KINDS)
def test_next_symbol_distributions_sum_to_one_and_multiply_to_the_score(kind, norm):
    made, source, target = network(kind, norm=norm), [4, 6, 5], [5, 5, 4, 5]
    hypotheses, before, total = made.begin(made.encode(*batch_of([source]))), torch.zeros(1), 0.0
    for symbol in [*target, END]:
        expanded = made.expand(hypotheses)
        distribution = expanded.following - before[:, None]
        assert float(distribution.exp().sum()) == pytest.approx(1.0, abs=1e-9)
        assert float(distribution[0, [PAD, START]].exp().sum()) == 0.0
        assert expanded.written[0, UNKNOWN] == NEG
        total += float(distribution[0, symbol])
        before = expanded.following[:, symbol]
        hypotheses = made.continued(expanded, torch.tensor([0]), torch.tensor([symbol]))
    assert total == pytest.approx(float(score(made, source, [target])), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_a_beam_as_wide_as_the_space_finds_the_true_best(kind):
    made, source, longest = network(kind, seed=3), [4, 5], 4
    targets = all_targets(longest)
    log_prob = score(made, source, targets)
    found = beam_search(made, made.encode(*batch_of([source])), beam=2**longest, nbest=5, longest=longest)
    for rank, best in enumerate(log_prob.argsort(descending=True)[:5].tolist()):
        assert found.symbols[0, rank, : found.lengths[0, rank]].tolist() == targets[best]
        assert float(found.log_prob[0, rank]) == pytest.approx(float(log_prob[best]), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["greedy", "beam"])
@pytest.mark.parametrize("kind", KINDS)
def test_batch_size_and_padding_change_no_output(kind, how):
    made = network(kind, seed=2, sure=9)  # so that outputs are of many lengths
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(0, 9, (64,), generator=generator).tolist()
    sources = [torch.randint(4, 7, (length,), generator=generator).tolist() for length in lengths]

    def decode(size, extra):
        outputs = []
        for start in range(0, len(sources), size):
            symbols, some = batch_of(sources[start : start + size])
            encoded = made.encode(torch.nn.functional.pad(symbols, (0, extra)), some)
            if how == "greedy":
                found = greedy_search(made, encoded, longest=10)
            else:
                found = beam_search(made, encoded, beam=5, nbest=2, longest=10)
            outputs += [s[0, : n[0]].tolist() for s, n in zip(found.symbols, found.lengths, strict=True)]
        return outputs

    whole = decode(64, 0)
    assert len(set(map(tuple, whole))) >= 4
    assert decode(64, 5) == decode(7, 0) == decode(7, 3) == decode(1, 0) == whole


@pytest.mark.parametrize("kind", KINDS)
def test_drawn_targets_have_their_probability(kind):
    made, source, draws = network(kind, seed=3), [4, 5], 2000
    encoded = made.encode(*batch_of([source] * draws))
    found = draw(made, encoded, longest=15, generator=torch.Generator().manual_seed(0))
    written = made.expand(made.begin(made.encode(*batch_of([source])))).written.softmax(1)  # no <unk> is drawn
    expected = float(written[0, END])
    assert 0.01 < expected < 0.99
    empty = float((found.lengths == 0).double().mean())
    assert empty == pytest.approx(expected, abs=4 * (expected * (1 - expected) / draws) ** 0.5)


def test_label_smoothing_is_that_of_torch_over_the_possible_symbols():
    torch.manual_seed(0)
    scores = torch.randn(2, 4, 6, dtype=torch.float64)
    scores[..., [PAD, START]] = NEG
    target, lengths = batch_of([[4, 5, 4], [5]])
    smoothed = smoothed_loss(scores.log_softmax(-1), target, lengths, smoothing=0.2)
    possible, renumbered = scores[..., [UNKNOWN, END, 4, 5]], {UNKNOWN: 0, END: 1, 4: 2, 5: 3}
    for row, string in enumerate([[4, 5, 4, END], [5, END]]):
        expected = torch.nn.functional.cross_entropy(
            possible[row, : len(string)],
            torch.tensor([renumbered[symbol] for symbol in string]),
            label_smoothing=0.2,
            reduction="sum",
        )
        torch.testing.assert_close(smoothed[row], expected)
    plain = smoothed_loss(scores.log_softmax(-1), target, lengths, smoothing=0.0)
    torch.testing.assert_close(plain, -target_log_prob(scores.log_softmax(-1), target, lengths))
