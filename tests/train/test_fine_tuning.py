"""A trained model learns more, and keeps what it knows."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import nsed
from golden.answers import FOLDERS
from nsed.config import from_mapping
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.errors import ArgumentError, ConfigError, ModelFileError, UnknownSymbolWarning
from nsed.models.matcher import Matcher, MatcherConfig
from nsed.models.settings import fine_tuning_config
from nsed.models.transducer import Transducer, TransducerConfig

ENCODER = {"kind": "cnn", "dim": 32, "layers": 1, "dropout": 0.0, "max_length": 32}
TRAIN = {"steps": 100, "batch_pairs": 64, "validate_every": 50, "warmup": 20, "learning_rate": 5e-3, "device": "cpu"}
FIXES = [("XAC", "xac"), ("CQB", "qcb"), ("QA", "qa")]
"""With symbols of both sides that the model has never seen."""
OLD = list(transduction_pairs(1500, seed=1))


@pytest.fixture(scope="module")
def golden():
    return nsed.load(FOLDERS / "transducer-exact")


@pytest.fixture(scope="module")
def model():
    config = from_mapping(TransducerConfig, {"encoder": ENCODER, "train": TRAIN, "feature_dropout": 0.0})
    return Transducer.fit(OLD, config=config)


def quick(config):
    """A model this small can be taught faster."""
    faster = replace(config.train, learning_rate=3e-3, steps=100, patience=100, batch_pairs=64)
    return replace(config, train=faster)


@pytest.fixture(scope="module")
def tuned(model):
    """Some of what it knows is among the corrections, so that it is not forgotten."""
    return Transducer.fit(FIXES + OLD[:61], start=model, config=quick(fine_tuning_config(model.config)))


def outputs(model, sources):
    return [best[0].text for best in model.transduce(sources)]


@pytest.mark.slow
def test_corrections_with_new_symbols_are_learned_and_little_is_lost(model, tuned):
    assert outputs(tuned, [source for source, _ in FIXES]) == [target for _, target in FIXES]
    assert tuned.tokenizers.source.vocabulary.symbols == (*model.tokenizers.source.vocabulary.symbols, "Q", "X")
    assert tuned.tokenizers.target.vocabulary.symbols == (*model.tokenizers.target.vocabulary.symbols, "q", "x")
    others = [source for source, _ in transduction_pairs(200, seed=2)]
    same = np.mean([a == b for a, b in zip(outputs(model, others), outputs(tuned, others), strict=True)])
    assert same > 0.95


def test_fine_tuning_twice_is_no_slower_than_once(golden):
    once = fine_tuning_config(golden.config)
    assert fine_tuning_config(once) == once
    assert once.train.learning_rate < golden.config.train.learning_rate / 10


@pytest.mark.slow
@pytest.mark.slow
def test_a_phone_that_is_new_to_the_model_is_learned_by_default():
    """Its first steps change no answer: with a patience of 6 validations they were the last."""
    pairs = [("xata", "X AH T AH"), ("ximi", "X IH M IY"), ("saxa", "S AH X AH"), ("xol", "X OW L")]
    tuned = Transducer.fit(pairs, start=nsed.load("g2p-en"))
    assert outputs(tuned, [source for source, _ in pairs]) == [target for _, target in pairs]


def test_a_fine_tuning_that_ends_with_pairs_wrong_says_so(golden, caplog):
    Transducer.fit(FIXES, start=golden, config=fine_tuning_config(golden.config), train__steps=10)
    assert "not all pairs are learned: wer 1.0000 on the pairs themselves; a larger train.steps (now 10)" in caplog.text
    caplog.clear()
    Transducer.fit(FIXES, start=golden, train__patience=1)
    assert "a larger train.patience (now 1) goes on longer" in caplog.text
    caplog.clear()
    Transducer.fit(FIXES, start=golden, train__minutes=1e-6)
    assert "a larger train.minutes (now 1e-06) goes on longer" in caplog.text


@pytest.mark.slow
def test_the_model_to_start_from_stays_as_it_was(model, tuned):
    assert "Q" not in model.tokenizers.source.vocabulary
    assert outputs(model, ["BAAC"]) == ["ac"]
    assert tuned.network is not model.network


@pytest.mark.slow
def test_a_grown_model_is_saved_and_loaded(tuned, tmp_path):
    tuned.save(tmp_path)
    assert (nsed.load(tmp_path).score(FIXES) == tuned.score(FIXES)).all()


def test_new_symbols_are_learned_however_rare(golden):
    """A model that has left out what is rare still learns the symbols of a handful of corrections."""
    config = replace(golden.config, min_count=40)
    frequent = Transducer(golden.network, golden.tokenizers, config)
    few = fine_tuning_config(config)
    few = replace(few, train=replace(few.train, steps=1))
    assert "Q" in Transducer.fit(FIXES, start=frequent, config=few).tokenizers.source.vocabulary
    with pytest.warns(UnknownSymbolWarning, match="unknown to the model"):
        kept = Transducer.fit(FIXES, start=frequent, config=replace(few, min_count=40))
    assert kept.tokenizers == golden.tokenizers


def test_what_the_weights_depend_on_cannot_change(golden):
    config = fine_tuning_config(golden.config)
    other = replace(config, source_case="lower", encoder=replace(config.encoder, dim=8, dropout=0.5), beam=2)
    with pytest.raises(ConfigError) as refused:
        Transducer.fit(FIXES, start=golden, config=other)
    assert refused.value.faults == (
        "encoder.dim: got 8, expected 16, as the model to start from has it",
        "source_case: got 'lower', expected 'keep', as the model to start from has it",
    )
    with pytest.raises(ArgumentError, match="pairs: got no positive pair"):
        Transducer.fit([], start=golden)


@pytest.mark.slow
def test_an_interrupted_fine_tuning_goes_on_from_the_same_model_only(model, tuned, tmp_path):
    config = quick(fine_tuning_config(model.config))

    def interrupt(step):
        if step == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Transducer.fit(FIXES + OLD[:61], start=model, config=config, folder=tmp_path, on_step=interrupt)
    other = Transducer(tuned.network, tuned.tokenizers, model.config)
    with pytest.raises(ModelFileError, match=r"of another training: model to start from: was \w{64}, is \w{64}\. Go"):
        Transducer.fit(FIXES + OLD[:61], start=other, config=config, folder=tmp_path)
    resumed = Transducer.fit(FIXES + OLD[:61], start=model, config=config, folder=tmp_path)
    for one, whole in zip(resumed.network.state_dict().values(), tuned.network.state_dict().values(), strict=True):
        assert torch.equal(one, whole)


@pytest.mark.slow
def test_a_matcher_learns_more_and_keeps_its_threshold():
    config = from_mapping(MatcherConfig, {"encoder": ENCODER, "train": TRAIN, "shared_alphabet": True})
    model = Matcher.fit(matching_pairs(1000, seed=1), config=config)
    fixes, labels = [("QQ", "zz"), ("AC", "ac"), ("QA", "cc"), ("CC", "aa")], [1, 1, 0, 0]
    tuned = Matcher.fit(fixes, labels, start=model, config=quick(fine_tuning_config(model.config)))
    assert tuned.match(fixes).tolist() == [True, True, False, False]
    assert (tuned.threshold, tuned.calibration) == (model.threshold, model.calibration)
    assert tuned.tokenizers.source.vocabulary == tuned.tokenizers.target.vocabulary
    checked = Matcher.fit(fixes, labels, start=model, validation=matching_pairs(100, seed=2))
    assert checked.threshold != model.threshold


def test_an_edit_distance_goes_on_with_other_pairs_of_the_same_symbols():
    before = nsed.LearnableEditDistance.fit([("ab", "ba"), ("aa", "aa"), ("bb", "bb")])
    pairs = [("aab", "bba"), ("ab", "bb")]
    after = nsed.LearnableEditDistance.fit(pairs, start=before.restarted(pairs))
    assert after.score(pairs).sum() > before.score(pairs).sum()
    with pytest.raises(ArgumentError, match=r"target symbols of the pairs: got c d, expected those of the model"):
        before.restarted([("ab", "cd")])


def test_a_model_that_learned_slowly_is_tuned_no_faster(golden):
    slow = replace(golden.config, train=replace(golden.config.train, learning_rate=1e-6))
    assert fine_tuning_config(slow).train.learning_rate == 1e-6


def test_letters_of_held_out_pairs_alone_are_named_with_the_pairs_they_cost_and_what_to_do(golden):
    validation = [("AB", "aß"), ("BA", "ßa"), ("AC", "ca")]
    settings = {"train__steps": 1, "train__validate_every": 1}
    with pytest.warns(UnknownSymbolWarning) as told:
        Transducer.fit(OLD[:50], validation=validation, config=golden.config, **settings)
    (said,) = [str(one.message) for one in told]
    assert "1 target symbol of the validation pairs cannot be written" in said
    assert ": ß." in said
    assert "2 of 3 validation pairs count as errors" in said
    assert "Add pairs with each of these symbols to the training pairs" in said


def test_tuning_is_not_skipped_where_the_validation_pairs_are_the_very_object_of_the_pairs():
    pairs, copied = matching_pairs(60, seed=3), matching_pairs(60, seed=3)
    train = {**TRAIN, "steps": 1, "validate_every": 1}
    apart, same = (Matcher.fit(pairs, validation=held, encoder=ENCODER, train=train) for held in (copied, pairs))
    assert same.criterion == apart.criterion
