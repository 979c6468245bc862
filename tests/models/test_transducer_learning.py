"""What Transducers learn of the rule language, and what they cannot; each of these trains for seconds."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import harmony_pairs, transduction_pairs
from nsed.errors import ModelFileError
from nsed.models.transducer import Transducer, TransducerConfig

pytestmark = pytest.mark.slow
PAIRS = list(transduction_pairs(2600, seed=1))
TRAINING, TEST = PAIRS[:2300], PAIRS[2300:]


def settings(kind="cnn", steps=150, **others):
    train = {
        "steps": steps,
        "batch_pairs": 64,
        "validate_every": 50,
        "warmup": 20,
        "learning_rate": 5e-3,
        "device": "cpu",
    }
    encoder = {"kind": kind, "dim": 32, "layers": 1, "dropout": 0.0, "heads": 2, "max_length": 32}
    return from_mapping(TransducerConfig, {"encoder": encoder, "train": train, **others})


@pytest.fixture(scope="module")
def model():
    return Transducer.fit(TRAINING, config=settings())


@pytest.fixture(scope="module")
def attending():
    return Transducer.fit(TRAINING, config=settings("rnn", steps=200, target_attention=True))


def right(model, pairs):
    outputs = model.transduce([source for source, _ in pairs])
    return np.mean(["".join(best[0].symbols) == target for best, (_, target) in zip(outputs, pairs, strict=True)])


def test_held_out_strings_of_the_rule_language_are_right(model):
    assert right(model, TEST) >= 0.995


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_other_encoders_learn_it_too(kind):
    assert right(Transducer.fit(TRAINING, config=settings(kind, steps=200)), TEST) >= 0.995


def test_a_target_that_looks_at_the_source_learns_it_too(attending):
    assert right(attending, TEST) >= 0.995
    assert [len(found) for found in attending.sample(["BAAC", ""], count=3)] == [3, 3]


def test_the_papers_mode_learns_it_too():
    paper = settings("rnn", 300, normalisation="incoming", attention=True, em=1.0, next_symbol=1.0, likelihood=0.0)
    assert right(Transducer.fit(TRAINING, config=paper), TEST) >= 0.9


def test_symbols_alone_miss_what_needs_context():
    """Of BB, the first is deleted and the second is not: nothing that a cell without positions sees tells which."""
    alone = settings("unigram", 200)
    model = Transducer.fit(TRAINING, config=replace(alone, encoder=replace(alone.encoder, positions=False)))
    assert right(model, TEST) < 0.95
    assert right(model, [pair for pair in TEST if pair[0].startswith("BB")]) < 0.2


def test_in_the_papers_mode_positions_do_not_help_a_unigram_model():
    """In exact mode they do: position and last target symbol are all that the rules need."""
    losses = {"normalisation": "incoming", "em": 1.0, "next_symbol": 1.0, "likelihood": 0.0}
    assert right(Transducer.fit(TRAINING, config=settings("unigram", 200, **losses)), TEST) < 0.9
    assert right(Transducer.fit(TRAINING, config=settings("unigram", 200)), TEST) >= 0.95


def test_half_precision_weights_load_and_answer(model, tmp_path):
    model.save(tmp_path, half=True)
    again = nsed.load(tmp_path)
    np.testing.assert_allclose(again.score(TEST[:50]), model.score(TEST[:50]), atol=0.05)
    assert right(again, TEST) >= 0.99


def test_interrupted_training_goes_on_to_the_same_weights(tmp_path):
    config = settings(steps=120)

    def interrupt(step):
        if step == 70:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Transducer.fit(TRAINING, config=config, folder=tmp_path, on_step=interrupt)
    with pytest.raises(ModelFileError, match=r"of another training: interaction: was 0, is 2; training pairs: was "):
        Transducer.fit(TRAINING[:100], config=settings(steps=130, interaction=2), folder=tmp_path)
    resumed, whole = Transducer.fit(TRAINING, config=config, folder=tmp_path), Transducer.fit(TRAINING, config=config)
    for one, other in zip(resumed.network.state_dict().values(), whole.network.state_dict().values(), strict=True):
        assert torch.equal(one, other)
    assert not (tmp_path / "checkpoint").exists()
    assert nsed.load(tmp_path).score(TEST[:9]) == pytest.approx(whole.score(TEST[:9]))


def test_rules_of_harmony_are_learned_without_a_setting():
    pairs = list(harmony_pairs(3000))
    model = Transducer.fit(pairs[:2500])
    found = model.transduce([source for source, _ in pairs[2500:]])
    right = sum(best[0].text == target for best, (_, target) in zip(found, pairs[2500:], strict=True))
    assert right >= 0.97 * 500
    assert model.record["steps"] < model.config.train.steps  # all was right long before: it stopped early
