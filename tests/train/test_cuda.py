"""Training on a GPU: recorded steps give what single operations give."""

import pytest
import torch

from nsed.datasets.rule_language import matching_pairs, transduction_pairs
from nsed.encoders import ENCODERS, EncoderConfig
from nsed.train import Matcher, MatcherConfig, Transducer, TransducerConfig
from nsed.train.config import TrainConfig

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")


ATTENDING = "rnn, looking at the source"


def _config(kind, **others):
    train = TrainConfig(steps=40, batch_pairs=64, validate_every=20, warmup=5, precision="fp32", **others)
    encoder = EncoderConfig(kind=kind.partition(",")[0], dim=32, layers=1, dropout=0.0)
    options = {"target_attention": True} if kind == ATTENDING else {}
    return {"feature_dropout": 0.0, "encoder": encoder, "train": train, **options}


TASKS = {
    "transducer": (Transducer.fit, TransducerConfig, transduction_pairs(600, seed=1)),
    "matcher": (Matcher.fit, MatcherConfig, matching_pairs(600, seed=1)),
}


@pytest.mark.parametrize(
    ("kind", "task"), [*((kind, task) for kind in ENCODERS for task in TASKS), (ATTENDING, "transducer")]
)
def test_recorded_training_is_that_of_single_operations(kind, task):
    recorded, single = (losses(task, _config(kind, cuda_graph=graph)) for graph in (True, False))
    assert recorded == pytest.approx(single, rel=1e-3)


@pytest.mark.parametrize(("kind", "task"), [(kind, task) for kind in ("unigram", "rnn") for task in TASKS])
def test_the_same_training_gives_the_same_bits(kind, task):
    config = _config(kind) | {"feature_dropout": 0.2}
    assert losses(task, config) == losses(task, config)


def losses(task, settings):
    fit, config, pairs = TASKS[task]
    seen = []
    fit(pairs, config=config(**settings), on_validation=lambda validation: seen.append(validation.loss))
    return seen
