"""The networks of the cross-encoder and of STANCE: padding, batches, gradients and sizes."""

from pathlib import Path

import pytest
import torch

from nsed.baselines.classifier import PairClassifier
from nsed.baselines.pair_networks import Alphabets, CrossEncoder, MatrixScorer, Stance, joined
from nsed.config import from_mapping, read_yaml
from nsed.encoders import EncoderConfig, TransformerConfig
from nsed.errors import TooLongError
from nsed.text import Tokenizers, Vocabulary
from nsed.text.batch import PaddedStrings

CONFIGS = Path(__file__).parents[2] / "configs"
SMALL = {"dim": 8, "layers": 1, "heads": 2, "dropout": 0.0, "max_length": 12}


def network(name, **alphabets):
    torch.manual_seed(3)
    sizes = Alphabets(9, 9 if alphabets.get("shared") else 7, **alphabets)
    if name == "cross-encoder":
        return CrossEncoder(TransformerConfig(**SMALL), sizes).double().eval()
    encoder = EncoderConfig(kind=name, **SMALL)
    made = Stance(encoder, sizes, channels=5, convolutions=2, temperature=1.0, iterations=6)
    return made.double().eval()


NAMES = ["cross-encoder", "unigram", "cnn", "rnn", "transformer"]
LENGTHS = [(5, 3), (0, 0), (2, 6), (0, 4), (3, 0), (1, 1)]


def sides(lengths=LENGTHS, *, wider=0, filling=0, categories=False):
    generator = torch.Generator().manual_seed(1)
    made = []
    for place in range(2):
        sizes = torch.tensor([pair[place] for pair in lengths])
        width = max(pair[place] for pair in LENGTHS)
        symbols = torch.randint(4, 7, (len(LENGTHS), width), generator=generator)[: len(lengths)]
        symbols = torch.nn.functional.pad(symbols, (0, wider))
        symbols = torch.where(torch.arange(width + wider) < sizes[:, None], symbols, filling)
        made.append(PaddedStrings(symbols, sizes, torch.arange(len(lengths)) % 2 if categories else None))
    return made


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("shared", [False, True])
def test_padding_and_what_stands_in_it_change_no_logit(name, shared):
    model = network(name, shared=shared)
    logits = model(*sides())
    assert logits.isfinite().all()
    assert logits.std() > 0
    torch.testing.assert_close(model(*sides(wider=4, filling=5)), logits, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_other_pairs_of_a_batch_change_no_logit(name):
    model = network(name, categories=4)
    source, target = sides(categories=True)
    logits = model(source, target)
    for row, (n, m) in enumerate(LENGTHS):
        alone = [
            PaddedStrings(side.symbols[row : row + 1, :size], side.lengths[row : row + 1], side.category[row : row + 1])
            for side, size in ((source, n), (target, m))
        ]
        torch.testing.assert_close(model(*alone)[0], logits[row], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_every_weight_learns(name):
    """The published STANCE never trains its CNN."""
    model = network(name, categories=2).train()
    model(*sides(categories=True)).square().sum().backward()
    untouched = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert untouched == []


@pytest.mark.parametrize("name", NAMES)
def test_categories_of_strings_matter(name):
    model = network(name, categories=4)
    for embedding in (part for part in model.modules() if getattr(part, "categories", None) is not None):
        torch.nn.init.normal_(embedding.categories.weight)
    source, target = sides(categories=True)
    other = source._replace(category=source.category + 2)
    assert (model(other, target) != model(source, target)).all()


def test_the_second_string_follows_the_first_without_a_gap():
    first, second = torch.arange(6.0).view(2, 3, 1), torch.arange(10.0, 14.0).view(2, 2, 1)
    together = joined(first, second, torch.tensor([3, 1]))[:, :, 0].tolist()
    assert together[0] == [0, 1, 2, 10, 11]
    assert together[1][:3] == [3, 12, 13]


def test_strings_beyond_the_positions_are_named():
    model = network("cross-encoder")
    with pytest.raises(TooLongError, match=r"got 13 symbols, expected at most 12\. Train with a larger encoder"):
        model(*sides(wider=13 - 5))


def test_scores_of_a_table_have_right_gradients():
    torch.manual_seed(0)
    scorer = MatrixScorer(channels=3, layers=2).double()
    real = torch.tensor([[[1, 1, 0], [1, 1, 0]], [[1, 1, 1], [1, 1, 1]]], dtype=torch.bool)
    table = torch.randn(2, 2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda cells: scorer(cells, real), table)


INDO_EUROPEAN, AUSTRO_ASIATIC = 821, 1562
"""Symbols of the sounds of the published pairs, the special ones included."""
PAPER = {"cross-encoder": 2.7e6, "stance-unigram": 0.5e6, "stance-rnn": 1.9e6, "stance-transformer": 2.7e6}


def parameters(folder, name, symbols):
    values = read_yaml(CONFIGS / folder / f"{name}.yaml")
    config = from_mapping(PairClassifier.configs[values["model"]], values)
    vocabulary = Vocabulary.of(f"symbol {number}" for number in range(symbols - 4))
    tokenizers = Tokenizers.of(config, {"source": vocabulary, "target": vocabulary})
    return sum(weight.numel() for weight in PairClassifier._network(config, tokenizers, None).parameters())


@pytest.mark.parametrize("name", PAPER)
def test_baselines_are_as_large_as_those_of_the_paper(name):
    assert parameters("cognates-ie", name, INDO_EUROPEAN) == pytest.approx(PAPER[name], rel=0.15)
    larger = parameters("cognates-aa", name, AUSTRO_ASIATIC) - parameters("cognates-ie", name, INDO_EUROPEAN)
    assert larger == 256 * (AUSTRO_ASIATIC - INDO_EUROPEAN)  # one column for both lists: only the alphabet differs
