"""The Transducer as users have it: fit, transduce, score, align, explain, save, load, resume."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch

import nsed
from nsed.config import from_mapping
from nsed.datasets.rule_language import transduction_pairs
from nsed.errors import ArgumentError, ConfigError, CutOutputWarning, ModelFileError, TooLongError, UnknownSymbolWarning
from nsed.models.transducer import Transducer, TransducerConfig

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


@pytest.mark.parametrize("which", ["model", "attending"])
def test_scores_are_those_of_the_search_and_best_first(which, request):
    model = request.getfixturevalue(which)
    sources = [source for source, _ in TEST[:20]]
    found = model.transduce(sources, nbest=3)
    for source, best in zip(sources, found, strict=True):
        scores = model.score([(source, "".join(one.symbols)) for one in best])
        np.testing.assert_allclose(scores, [one.log_prob for one in best], rtol=1e-3, atol=1e-4)
        assert sorted(scores, reverse=True) == list(scores)


def test_scripts_explain_the_answers(model):
    assert str(model.align("BAAC", "ac")) in ("-B A→a -A C→c", "-B -A A→a C→c")
    explanation = model.explain("BCC", "cc")
    assert explanation.log_prob == pytest.approx(model.score([("BCC", "cc")])[0], rel=1e-6)
    assert explanation.script == model.align("BCC", "cc")


def test_empty_strings_and_unknown_symbols(model):
    assert model.transduce([]) == []
    assert np.isfinite(model.score([("", ""), ("A", ""), ("", "a")])).all()
    with pytest.warns(UnknownSymbolWarning, match="1 source symbol is unknown to the model, which reads <unk>: X"):
        assert len(model.transduce(["AX"])[0]) == 1


@pytest.mark.parametrize("which", ["model", "attending"])
def test_saved_model_is_the_same_model(which, request, tmp_path):
    model = request.getfixturevalue(which)
    model.save(tmp_path)
    for again in (nsed.load(tmp_path), Transducer.load(tmp_path)):
        assert (again.score(TEST[:50]) == model.score(TEST[:50])).all()
        assert again.config == model.config
        assert again.record == model.record


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


def test_validation_words_are_not_trained_on():
    seen = Transducer.fit(TRAINING, validation=TEST, config=settings(steps=50))
    assert 0 <= seen.record["wer"] <= 1


def test_what_is_wrong_is_named(model):
    with pytest.raises(ArgumentError, match="pairs: got no positive pair"):
        Transducer.fit([], config=settings())
    with pytest.raises(TooLongError, match=r"length: got 40 symbols, expected at most 32\. Train with a larger"):
        model.transduce(["A" * 40])
    with pytest.raises(ConfigError, match=r"encoder\.dm: no such key; did you mean 'dim'"):
        settings(encoder={"dm": 3})
    with pytest.raises(ArgumentError, match="nbest: got 0, expected at least 1"):
        model.transduce(["A"], nbest=0)


def test_settings_that_cannot_work_are_named(model):
    with pytest.raises(ArgumentError, match=r"train\.device: got 'gpu', expected auto, cpu"):
        Transducer.fit(TRAINING, config=settings(train={"device": "gpu"}))
    with pytest.raises(ConfigError, match=r"heads: got 3, expected a divisor of dim \(16\)"):
        settings(encoder={"kind": "transformer", "dim": 16, "heads": 3})
    with pytest.raises(ConfigError, match="likelihood, em, next_symbol: got 0"):
        settings(likelihood=0.0)
    with pytest.raises(ConfigError) as several:
        settings("cnn", target_attention=True, likelihood=0.0)
    assert several.value.faults == (
        "target_attention: got True, expected False with encoder.kind cnn; rnn, transformer can",
        "likelihood, em, next_symbol: got 0, expected one above 0",
    )
    with pytest.raises(ArgumentError, match="beam: got 0, expected at least 1"):
        model.transduce(["A"], beam=0)
    with pytest.raises(ArgumentError, match="validation: got no pairs, expected at least one"):
        Transducer.fit(TRAINING, validation=[], config=settings())


@pytest.mark.parametrize("kind", ["attention", "target_attention"])
def test_heads_of_any_attention_divide_the_vectors(kind):
    with pytest.raises(ConfigError, match=r"encoder\.heads: got 3, expected a divisor of encoder\.dim \(16\)"):
        settings(**{kind: True}, encoder={"kind": "rnn", "dim": 16, "heads": 3})


def test_outputs_stop_where_positions_end():
    short = [(source, target) for source, target in TRAINING if len(source) <= 6]
    encoder = {"kind": "cnn", "dim": 16, "layers": 1, "max_length": 6}
    train = {"steps": 4, "batch_pairs": 32, "validate_every": 2, "warmup": 0, "device": "cpu"}
    model = Transducer.fit(short, config=settings(encoder=encoder, train=train))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CutOutputWarning)  # after four steps anything may happen
        assert len(model.transduce(["CCC"])[0][0].symbols) <= 6


def test_targets_that_were_cut_are_counted(model):
    short = Transducer(model.network, model.coders, replace(model.config, longest_output=4))
    with pytest.warns(CutOutputWarning, match="1 of the targets reach 4 symbols, the most allowed"):
        assert short.transduce(["CCCCCC", "C"])[1][0].text == "c"


def test_greedy_outputs_that_are_cut_are_answers_too(model):
    short = Transducer(model.network, model.coders, replace(model.config, longest_output=2))
    with pytest.warns(CutOutputWarning):
        (best,) = short.transduce(["CCCC"], beam=1)
    assert best[0].text == "cc"
    assert best[0].log_prob == pytest.approx(short.score([("CCCC", "cc")])[0], rel=1e-4)
