"""Training on a GPU: recorded steps give what single operations give."""

from dataclasses import asdict

import pytest
import torch

from nsed.baselines.classifier import CrossEncoderConfig, PairClassifier, StanceConfig
from nsed.baselines.seq2seq import Seq2Seq, Seq2SeqConfig
from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.encoders import ENCODERS, EncoderConfig, TransformerConfig
from nsed.models.matcher import Matcher, MatcherConfig
from nsed.models.transducer import Transducer, TransducerConfig
from nsed.train.config import TrainConfig

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


ATTENDING = ["rnn, looking at the source", "transformer, looking at the source"]


def _config(kind, **others):
    train = TrainConfig(steps=40, batch_pairs=64, validate_every=20, warmup=5, precision="fp32", **others)
    encoder = EncoderConfig(kind=kind.partition(",")[0], dim=32, layers=1, dropout=0.0)
    options = {"target_attention": True} if kind in ATTENDING else {}
    return {"feature_dropout": 0.0, "encoder": encoder, "train": train, **options}


def _stance(feature_dropout, **others):
    """The settings of a Matcher, as far as STANCE has them."""
    return StanceConfig(**others, channels=8, iterations=5)


def _cross_encoder(feature_dropout, encoder, **others):
    return CrossEncoderConfig(**others, encoder=TransformerConfig(**{**asdict(encoder), "kind": "transformer"}))


TASKS = {
    "stance": (PairClassifier.fit, _stance, matching_pairs(600, seed=1)),
    "cross-encoder": (PairClassifier.fit, _cross_encoder, matching_pairs(600, seed=1)),
    "transducer": (Transducer.fit, TransducerConfig, transduction_pairs(600, seed=1)),
    "matcher": (Matcher.fit, MatcherConfig, matching_pairs(600, seed=1)),
}


LATTICES = ["transducer", "matcher"]
"""Those whose kernels are all deterministic; convolutions of tables and the cross-encoder's long attention are not."""


@pytest.mark.parametrize(
    ("kind", "task"),
    [
        *((kind, task) for kind in ENCODERS for task in (*LATTICES, "stance")),
        *((kind, "transducer") for kind in ATTENDING),
        ("transformer", "cross-encoder"),
    ],
)
def test_recorded_training_is_that_of_single_operations(kind, task):
    recorded, single = (losses(task, _config(kind, cuda_graph=graph)) for graph in (True, False))
    assert recorded == pytest.approx(single, rel=1e-3)


@pytest.mark.parametrize("kind", ["rnn", "transformer"])
def test_recorded_training_of_a_baseline_is_that_of_single_operations(kind):
    def losses(graph):
        train, seen = _config(kind, cuda_graph=graph), []
        config = Seq2SeqConfig(encoder=train["encoder"], train=train["train"], label_smoothing=0.1)
        Seq2Seq.fit(transduction_pairs(600, seed=1), config=config, on_validation=lambda one: seen.append(one.loss))
        return seen

    assert losses(True) == pytest.approx(losses(False), rel=1e-3)


@pytest.mark.parametrize(("kind", "task"), [(kind, task) for kind in ("unigram", "rnn") for task in LATTICES])
def test_the_same_training_gives_the_same_bits(kind, task):
    config = _config(kind) | {"feature_dropout": 0.2}
    assert losses(task, config) == losses(task, config)


@pytest.mark.parametrize("task", TASKS)
def test_several_batches_of_an_update_are_recorded_too(task):
    recorded, single = (losses(task, _config("cnn", cuda_graph=graph, accumulate=3)) for graph in (True, False))
    assert recorded == pytest.approx(single, rel=1e-3)


@pytest.mark.parametrize("save_seconds", [0.0, 1e-9], ids=["saved at validations", "saved at every step"])
@pytest.mark.parametrize("task", LATTICES)
def test_an_interrupted_training_goes_on_to_the_same_losses(task, save_seconds, tmp_path):
    def interrupt(step):
        if step == 30:
            raise KeyboardInterrupt

    config = _config("rnn", save_seconds=save_seconds) | {"feature_dropout": 0.2}
    with pytest.raises(KeyboardInterrupt):
        losses(task, config, folder=tmp_path, on_step=interrupt)
    assert losses(task, config, folder=tmp_path) == losses(task, config)[1:]


def losses(task, settings, **others):
    fit, config, pairs = TASKS[task]
    seen = []
    fit(pairs, config=config(**settings), on_validation=lambda validation: seen.append(validation.loss), **others)
    return seen
